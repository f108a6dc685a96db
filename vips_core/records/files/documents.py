"""Documents from text, CSV or arrays of counts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vips_core import files, validate
from vips_core.records.documents import Documents
from vips_core.records.english import english_words
from vips_core.records.files.identification import (
    array_of_persons,
    column_of_persons,
    csv_rows,
    refuse_person,
)
from vips_core.records.files.npz import load_arrays
from vips_core.records.files.text import csv_chunks, line_chunks, lines, read_lines, read_text

COUNT_ARRAYS = ("indptr", "indices", "counts", "vocabulary")
COMMON_WORDS = 6000  # size of the default vocabulary: the most frequent English words
TEXT_ENDINGS = ("", ".txt", ".text")


def chunks(
    path: Path, vocabulary: str | None, column: str | None, person: str | None, *, whole: bool = False
) -> Iterator[tuple[Documents, Any, int]]:
    """Read documents from `.npz` counts, or from a text or CSV file with one document per line.

    Parameters
    ----------
    path
        The file; its ending decides its format.
    vocabulary
        File of public words, one per line; by default common English words. Counts have their own.
    column
        Column of a CSV with the texts; may be left out if there is only one besides the column of persons.
    person
        Column of a CSV, or array of an `.npz`, that names the author; None if each document is a record of
        its own.
    whole
        Whether to read all documents at once, if they fit in memory; otherwise in chunks.

    Returns
    -------
    iterator of (Documents, persons, int)
        Counts of the public words, not yet summed for each person; the author of each document (None if
        nothing names authors), and the bytes of the file read so far.
    """
    suffix = path.suffix.lower()
    if path.is_dir() or suffix not in (*TEXT_ENDINGS, ".csv", ".npz"):
        raise ValueError(f"documents must be one file, .txt, .csv or .npz, got {path.name!r}")
    if suffix == ".npz":
        yield *_corpus_of_counts(path, person), path.stat().st_size
        return
    words = english_words()[:COMMON_WORDS]
    if vocabulary is not None:
        words = tuple(read_text(Path(vocabulary), files.MOST_VOCABULARY).split())
    if suffix == ".csv":
        frames = csv_chunks(path, whole=whole, dtype=str, keep_default_na=False)
        parts = ((*_column(frame, path, column, person), position) for frame, position in frames)
    else:
        refuse_person(person, path, "which has one document per line")
        some = [(read_lines(path), path.stat().st_size)] if whole else line_chunks(path)
        parts = ((texts, None, position) for texts, position in some)
    for texts, persons, position in parts:
        corpus = Documents.from_texts(texts, words)
        if whole and not corpus.counts.size:  # runs would spend budget on noise alone
            raise ValueError(f"{path.name} holds none of the {len(words):,} words of the vocabulary")
        yield corpus, persons, position


def source_rows(path: Path) -> Iterator[bytes]:
    """Return the bytes that identify each document of a file, whatever the vocabulary."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _rows_of_counts(load_arrays(path))
    return csv_rows(path) if suffix == ".csv" else (line.strip().encode() for line in lines(path))


def _rows_of_counts(arrays: Any) -> Iterator[bytes]:
    """Return each document's words and counts, whatever the order of the vocabulary."""
    import pandas as pd

    words = pd.util.hash_array(np.asarray(arrays["vocabulary"]).astype(object))[arrays["indices"]]
    counts = np.asarray(arrays["counts"]).astype(np.uint64)
    for start, stop in zip(arrays["indptr"][:-1], arrays["indptr"][1:], strict=True):
        order = np.argsort(words[start:stop])
        yield np.column_stack([words[start:stop][order], counts[start:stop][order]]).tobytes()


def _corpus_of_counts(path: Path, person: str | None) -> tuple[Documents, Any]:
    arrays = load_arrays(path)
    missing = [name for name in COUNT_ARRAYS if name not in arrays]
    if missing:
        raise ValueError(
            f"{path.name} must hold indptr, indices, counts and vocabulary; it lacks {validate.few(missing)}"
        )
    words = arrays["vocabulary"]
    if words.ndim != 1 or words.dtype.kind != "U":
        raise ValueError(
            f"the vocabulary in {path.name} must be a list of words, got {words.dtype} of shape {words.shape}"
        )
    corpus = Documents(arrays["indptr"], arrays["indices"], arrays["counts"], tuple(map(str, words)))
    return corpus, array_of_persons(arrays, person, path)


def _column(frame: Any, path: Path, column: str | None, person: str | None) -> tuple[Iterable[str], Any]:
    persons, others = column_of_persons(frame, person, path.name), [name for name in frame if name != person]
    chosen = others[0] if column is None and len(others) == 1 else column
    if chosen not in others:
        raise ValueError(
            f"name the column with the documents: {path.name} has {validate.few(others)}, "
            f"got {validate.shown(column)}"
        )
    return frame[chosen], persons

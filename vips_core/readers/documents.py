"""Documents from text, CSV or arrays of counts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vips_core import files, validate
from vips_core.data import Corpus
from vips_core.data.english import english_words
from vips_core.data.npz import load_arrays
from vips_core.readers.persons import array_of_persons, column_of_persons, refuse_person
from vips_core.readers.text import csv_chunks, line_chunks, read_csv, read_lines, read_text

COUNT_ARRAYS = ("indptr", "indices", "counts", "vocabulary")
COMMON_WORDS = 6000  # of English, where no vocabulary is given
TEXT_ENDINGS = ("", ".txt", ".text")


def read_documents(
    path: Path, vocabulary: Path | None, column: str | None, person: str | None = None
) -> Corpus:
    """Read documents from `.npz` counts, or from a text or CSV file with one document per line.

    Parameters
    ----------
    path
        The file; its ending says what it is.
    vocabulary
        File of public words, one per line; common English words where left out. Counts have their own.
    column
        Of a CSV; may be left out where it has one column besides that of persons.
    person
        Column of a CSV, or array of an `.npz`, that names who wrote a document; None where each document is
        another record.

    Returns
    -------
    Corpus
        Counts of the public words.
    """
    suffix = _ending(path)
    if suffix == ".npz":
        corpus, persons = _corpus_of_counts(path, person)
        return corpus if persons is None else corpus.joined(persons)
    words = _words(vocabulary)
    if suffix == ".csv":
        texts, persons = _column(read_csv(path, dtype=str, keep_default_na=False), path, column, person)
        corpus = Corpus.from_texts(texts, words, persons)
    else:
        refuse_person(person, path, "one line a document")
        corpus = Corpus.from_texts(read_lines(path), words)
    if not corpus.counts.size:  # of another language, perhaps: runs would spend a budget on noise alone
        raise ValueError(f"{path.name} holds none of the {len(words):,} words of the vocabulary")
    return corpus


def document_chunks(
    path: Path, vocabulary: Path | None, column: str | None, person: str | None
) -> Iterator[tuple[Corpus, Any, int]]:
    """Read documents as `read_documents` does, some at a time, not yet added up for each person.

    Parameters
    ----------
    path, vocabulary, column, person
        As in `read_documents`.

    Returns
    -------
    iterator of (Corpus, persons, int)
        Documents, who wrote each, None where nobody says, and how many bytes of the file have been read.
    """
    suffix = _ending(path)
    if suffix == ".npz":
        yield *_corpus_of_counts(path, person), path.stat().st_size
        return
    words = _words(vocabulary)
    if suffix == ".csv":
        for frame, position in csv_chunks(path, dtype=str, keep_default_na=False):
            texts, persons = _column(frame, path, column, person)
            yield Corpus.from_texts(texts, words), persons, position
        return
    refuse_person(person, path, "one line a document")
    for texts, position in line_chunks(path):
        yield Corpus.from_texts(texts, words), None, position


def _ending(path: Path) -> str:
    """Return how a file's name ends: what it is. Others would be counted with their marks and keys."""
    suffix = path.suffix.lower()
    if path.is_dir() or suffix not in (*TEXT_ENDINGS, ".csv", ".npz"):
        raise ValueError(f"documents must be one file, .txt, .csv or .npz, got {path.name!r}")
    return suffix


def _corpus_of_counts(path: Path, person: str | None) -> tuple[Corpus, Any]:
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
    corpus = Corpus(arrays["indptr"], arrays["indices"], arrays["counts"], tuple(map(str, words)))
    return corpus, array_of_persons(arrays, person, path)


def _words(vocabulary: Path | None) -> tuple[str, ...]:
    if vocabulary is None:
        return english_words()[:COMMON_WORDS]
    return tuple(read_text(vocabulary, files.MOST_VOCABULARY).split())


def _column(frame: Any, path: Path, column: str | None, person: str | None) -> tuple[Iterable[str], Any]:
    persons, others = column_of_persons(frame, person, path), [name for name in frame if name != person]
    chosen = others[0] if column is None and len(others) == 1 else column
    if chosen not in others:
        raise ValueError(
            f"name the column with the documents: {path.name} has {validate.few(others)}, "
            f"got {validate.shown(column)}"
        )
    return frame[chosen], persons

"""What a file holds before anything is chosen, cut or scaled: for finding the same people in another file.

Each row of a source becomes bytes that depend on all its values and on nothing else: neither on the order of
rows and columns, nor on target, schema, vocabulary or threshold. Values are compared as tables are read:
numbers as numbers (1 is 1.0 and TRUE), texts without spaces around them, and a gap is one whether it is empty
or NA. The bytes tell of people: they are for keyed digests, never to be kept.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.data import BinaryRows, Corpus
from vips_core.data.identity import identities
from vips_core.data.npz import load_arrays
from vips_core.readers.images import IMAGE_ARRAY, images_of_folder
from vips_core.readers.persons import array_of_persons, column_of_persons
from vips_core.readers.text import csv_chunks, lines

TRUTHS = {"True": "1", "TRUE": "1", "true": "1", "False": "0", "FALSE": "0", "false": "0"}


def source_rows(data_type: type, path: Path) -> Iterator[bytes]:
    r"""Return the bytes of each row, document or image of a file, with all of its columns.

    Parameters
    ----------
    data_type
        What the file is read as: `Corpus`, `LabelledRows` or `BinaryRows`.
    path
        A file, or a folder of images, that `read` takes.

    Returns
    -------
    iterator of bytes
        One for each row, in their order.

    Examples
    --------
    >>> import tempfile
    >>> from vips_core import LabelledRows
    >>> folder = tempfile.TemporaryDirectory()
    >>> one, other = Path(folder.name) / "one.csv", Path(folder.name) / "other.csv"
    >>> _ = one.write_text("age,sex,ill\n50,f,1\n60,m,0\n"), other.write_text("sex,ill,age\nm,0,60.0\n")
    >>> set(source_rows(LabelledRows, other)) < set(source_rows(LabelledRows, one))
    True
    >>> folder.cleanup()
    """
    suffix = path.suffix.lower()
    if data_type is BinaryRows:
        images = images_of_folder(path) if path.is_dir() else load_arrays(path)[IMAGE_ARRAY]
        return (np.asarray(image, np.float64).tobytes() for image in images)
    if suffix == ".npz":
        return _rows_of_counts(load_arrays(path))
    if data_type is Corpus and suffix != ".csv":
        return (line.strip().encode() for line in lines(path))
    frames = zip(_chunks(path, keep_default_na=True), _chunks(path, keep_default_na=False), strict=True)
    return (row for read, written in frames for row in _rows_of_table(read.fillna(""), written))


def source_persons(path: Path, person: str) -> Iterator[bytes]:
    """Return the identifier of each person in a file, once, as bytes: those by which records are grouped.

    Parameters
    ----------
    path
        A CSV or an `.npz`.
    person
        Its column, or array, of identifiers.

    Returns
    -------
    iterator of bytes
        One for each person.
    """
    if path.suffix.lower() == ".npz":
        columns = iter([array_of_persons(load_arrays(path), person, path)])
    else:
        columns = (column_of_persons(frame, person, path) for frame in _chunks(path, keep_default_na=False))
    everyone = {who for column in columns for who in identities(column) if who is not None}
    return (who.encode() for who in everyone)


def _chunks(path: Path, keep_default_na: bool) -> Iterator[Any]:
    return (frame for frame, _ in csv_chunks(path, dtype=str, keep_default_na=keep_default_na))


def _rows_of_table(read: Any, written: Any) -> Iterator[bytes]:
    """Each row's cells in the order of their columns' names, eight bytes each.

    Stores of earlier versions know people by what was written, TRUE and NA included: that comes after it.
    """
    now, before = (
        np.column_stack([_cells(frame[name], truths) for name in sorted(frame.columns)])
        for frame, truths in ((read, TRUTHS), (written, {}))
    )
    for cells in (now, before[(now != before).any(axis=1)]):
        yield from (row.tobytes() for row in cells)


def _cells(column: Any, truths: Mapping[str, str]) -> Any:
    """Return a number as its bits, any other text as a hash."""
    import pandas as pd

    plain = column.str.strip().replace(truths)
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(np.float64) + 0.0  # −0 is 0
    cells = numbers.view(np.uint64).copy()
    texts = np.isnan(numbers)
    if texts.any():
        cells[texts] = pd.util.hash_array(plain[texts].to_numpy(object))
    return cells


def _rows_of_counts(arrays: Any) -> Iterator[bytes]:
    """Each document's words and counts, in an order that does not depend on the vocabulary's."""
    import pandas as pd

    words = pd.util.hash_array(np.asarray(arrays["vocabulary"]).astype(object))[arrays["indices"]]
    counts = np.asarray(arrays["counts"]).astype(np.uint64)
    for start, stop in zip(arrays["indptr"][:-1], arrays["indptr"][1:], strict=True):
        order = np.argsort(words[start:stop])
        yield np.column_stack([words[start:stop][order], counts[start:stop][order]]).tobytes()

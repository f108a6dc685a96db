"""Who is in a file: the column or array that names persons, and bytes that identify rows and persons.

The bytes of a row depend on all its values and on nothing else: not on the order of rows or columns, nor on
target, schema, vocabulary or threshold. They are for keyed digests and are never stored.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vips_core import validate
from vips_core.records.files.npz import load_arrays
from vips_core.records.files.text import csv_chunks
from vips_core.records.identity import GAPS, identities

_TRUTHS = {"True": "1", "TRUE": "1", "true": "1", "False": "0", "FALSE": "0", "false": "0"}


def column_of_persons(frame: Any, person: str | None, table: str) -> Any:
    """Return the person of each row of a table, None if no column names persons.

    Parameters
    ----------
    frame
        The table; read from a file, with the column of persons as text.
    person
        The column; None if each row is a record of its own.
    table
        Name of the table in errors.
    """
    if person is None:
        return None
    if person not in frame.columns:
        raise ValueError(
            f"{table} has no column {validate.shown(person)} that names the person, only "
            f"{validate.few(frame)}"
        )
    return frame[person]


def array_of_persons(arrays: Mapping[str, Any], person: str | None, path: Path) -> Any:
    """Return the person of each record of an `.npz`, None if no array names persons.

    Parameters
    ----------
    arrays
        All arrays of the file.
    person
        The array; None if each record is another person's.
    path
        The file, for errors.
    """
    if person is None:
        return None
    identifiers = arrays.get(person)
    if identifiers is None or identifiers.ndim != 1 or identifiers.dtype.kind not in "Uiuf":
        raise ValueError(
            f"{path.name} must hold a list {validate.shown(person)} of text or whole numbers that names the "
            f"person of each record, got {len(arrays):,} other arrays"
        )
    return identifiers


def refuse_person(person: str | None, path: Path, why: str) -> None:
    """Refuse a person column of a file that has none."""
    if person is not None:
        raise ValueError(
            f"{path.name}, {why}, cannot name persons: use a CSV or an .npz, or leave person out"
        )


def source_persons(path: Path, person: str) -> Iterator[bytes]:
    """Return each person in a file once, as bytes, by the identity that groups records.

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
        columns = (
            column_of_persons(frame, person, path.name)
            for frame, _ in csv_chunks(path, dtype=str, keep_default_na=False)
        )
    everyone = {who for column in columns for who in identities(column) if who is not None}
    return (who.encode() for who in everyone)


def csv_rows(path: Path) -> Iterator[bytes]:
    r"""Return the bytes that identify each row of a CSV: its cells in the order of their columns' names.

    Values are compared as tables are read: numbers as numbers (1 is 1.0 and TRUE), texts without spaces
    around them, and all gaps as one value, whether empty or NA.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> one, other = Path(folder.name) / "one.csv", Path(folder.name) / "other.csv"
    >>> _ = one.write_text("age,sex,ill\n50,f,1\n60,m,0\n"), other.write_text("sex,ill,age\nm,0,60.0\n")
    >>> set(csv_rows(other)) < set(csv_rows(one))
    True
    >>> folder.cleanup()
    """
    for frame, _ in csv_chunks(path, dtype=str, keep_default_na=False):
        cells = np.column_stack([_cells(frame[name]) for name in sorted(frame.columns)])
        yield from (row.tobytes() for row in cells)


def _cells(column: Any) -> NDArray[np.uint64]:
    """Return a number as its bits, any other text as a hash."""
    import pandas as pd

    plain = column.str.strip().replace(_TRUTHS)
    plain = plain.mask(plain.isin(GAPS), "")  # after stripping, because pandas takes " NA" for a text
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(np.float64) + 0.0  # −0 is 0
    cells = numbers.view(np.uint64).copy()
    texts = np.isnan(numbers)
    if texts.any():
        cells[texts] = pd.util.hash_array(plain[texts].to_numpy(object))
    return np.asarray(cells)

"""Whose records they are: the column of a CSV, or array of an `.npz`, that names the person of each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vips_core import validate


def column_of_persons(frame: Any, person: str | None, path: Path) -> Any:
    """Return the person of each row of a table, None where no column names it.

    Parameters
    ----------
    frame
        The table, whose column of persons was read as text.
    person
        The column; None where each row is another record.
    path
        The file, for the sentence where it lacks the column.
    """
    if person is None:
        return None
    if person not in frame.columns:
        raise ValueError(
            f"{path.name} has no column {validate.shown(person)} that names the person, only "
            f"{validate.few(frame)}"
        )
    return frame[person]


def array_of_persons(arrays: Mapping[str, Any], person: str | None, path: Path) -> Any:
    """Return the person of each record of an `.npz`, None where no array names it.

    Parameters
    ----------
    arrays
        Of the file.
    person
        The array; None where each record is another person's.
    path
        The file, for the sentence where it lacks the array.
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
        raise ValueError(f"{path.name} cannot name persons, {why}: use a CSV or an .npz, or leave person out")

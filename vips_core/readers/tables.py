"""Labelled rows from a CSV."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vips_core import validate
from vips_core.data import LabelledRows
from vips_core.readers.persons import column_of_persons
from vips_core.readers.schema import read_schema
from vips_core.readers.text import csv_chunks, read_csv, read_header


def read_table(path: Path, target: str, schema: Path, person: str | None = None) -> LabelledRows:
    """Read labelled rows from a CSV with a schema of public ranges.

    Parameters
    ----------
    path
        The CSV, with a header.
    target
        The column of 0/1 labels.
    schema
        The TOML file that `read_schema` describes.
    person
        The column that names whose row it is; None where each row is another record.

    Returns
    -------
    LabelledRows
        One record for each row, or each person.
    """
    public = read_schema(schema)
    _check_header(path, [target, *public["ranges"]], person)
    frame = read_csv(path, dtype=None if person is None else {person: str})
    column_of_persons(frame, person, path)  # refuses a table without it
    return LabelledRows.from_frame(frame, target, **public, person=person)


def table_chunks(
    path: Path, target: str, schema: Path, person: str | None
) -> Iterator[tuple[LabelledRows, Any, int]]:
    """Read labelled rows as `read_table` does, some at a time, each row still on its own.

    Parameters
    ----------
    path, target, schema, person
        As in `read_table`.

    Returns
    -------
    iterator of (LabelledRows, persons, int)
        Rows, whose each is, None where nobody says, and how many bytes of the file have been read.
    """
    public = read_schema(schema)
    if person in (target, *public["ranges"]):
        named = validate.shown(person)
        raise ValueError(f"the column {named} names persons: it can be neither the target nor a predictor")
    _check_header(path, [target, *public["ranges"]], person)
    for frame, position in csv_chunks(path, dtype=None if person is None else {person: str}):
        rows = LabelledRows.from_frame(frame, target, **public)
        yield rows, column_of_persons(frame, person, path), position


def _check_header(path: Path, needed: Sequence[str], person: str | None) -> None:
    """Refuse a table that lacks a column, or has two of one name."""
    names = read_header(path)
    absent = [name for name in needed if name not in names]
    if absent:
        raise ValueError(
            f"{path.name} lacks the columns {validate.few(absent)}: with commas between columns, it has "
            f"{validate.few(names)}"
        )
    for name, times in Counter(names).items():
        if times > 1 and name in (*needed, person):
            raise ValueError(f"{path.name} must have one column {validate.shown(name)}, got {times}")

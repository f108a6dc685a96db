"""A table from a CSV and its schema, a TOML file with the public facts about the columns."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vips_core import toml, validate
from vips_core.records.files.identification import column_of_persons, csv_rows
from vips_core.records.files.text import csv_chunks, read_header
from vips_core.records.table import Table, check_columns, checked_range

source_rows = csv_rows  # bytes that identify each row, with all of its columns


def chunks(
    path: Path, target: str | None, schema: str | None, person: str | None, *, whole: bool = False
) -> Iterator[tuple[Table, Any, int]]:
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
        The column that names the person; None if each row is a record of its own.
    whole
        Whether to read all rows at once, if they fit in memory; otherwise in chunks.

    Returns
    -------
    iterator of (Table, persons, int)
        Rows, not yet grouped by person; the person of each (None if no column names persons), and the bytes
        of the file read so far.
    """
    if target is None or schema is None:
        raise ValueError(
            "a CSV needs target, the column with the label, and schema, the file with the public ranges"
        )
    public = read_schema(Path(schema))
    it_has = "with commas between columns, it has"
    check_columns(path.name, read_header(path), target, person, public["ranges"], it_has)
    for frame, position in csv_chunks(path, whole=whole, dtype=None if person is None else {person: str}):
        persons = column_of_persons(frame, person, path.name)
        yield Table.from_frame(frame, target, **public), persons, position


def read_schema(path: Path) -> dict[str, Any]:
    """Read a schema: a table `ranges` of column = [low, high], optionally `may_be_missing`, `norm_bound`."""
    name = f"the schema {path.name}"
    return checked_schema(toml.read_toml_file(path, name), name)


def checked_schema(table: Mapping[str, Any], name: str = "the schema") -> dict[str, Any]:
    """Return a schema as `Table.from_frame` takes it; `ValueError` with one sentence for a mistake.

    Examples
    --------
    >>> checked_schema({"ranges": {"age": [20, 90]}, "may_be_missing": True})
    Traceback (most recent call last):
    ...
    ValueError: may_be_missing in the schema must be a list of columns, got True
    """
    unknown = set(table) - {"ranges", "may_be_missing", "norm_bound"}
    if unknown or not isinstance(table.get("ranges"), dict):
        raise ValueError(
            f"{name} must have a table ranges, and may have may_be_missing and norm_bound; "
            f"got {validate.few(sorted(table))}"
        )
    missing = table.get("may_be_missing", [])
    if not isinstance(missing, list) or not all(isinstance(column, str) for column in missing):
        raise ValueError(f"may_be_missing in {name} must be a list of columns, got {validate.shown(missing)}")
    bound = table.get("norm_bound")
    return {
        "ranges": {column: checked_range(column, value) for column, value in table["ranges"].items()},
        "may_be_missing": tuple(missing),
        "norm_bound": None if bound is None else validate.positive(f"norm_bound in {name}", bound),
    }

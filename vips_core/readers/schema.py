"""What is public about the columns of a table: the schema, a TOML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vips_core import toml, validate


def read_schema(path: Path) -> dict[str, Any]:
    """Read a schema: a table `ranges` of column = [low, high], optionally `may_be_missing`, `norm_bound`."""
    name = f"the schema {path.name}"
    return checked_schema(toml.read_toml_file(path, name), name)


def checked_schema(table: Mapping[str, Any], name: str = "the schema") -> dict[str, Any]:
    """Return a schema as `LabelledRows.from_frame` takes it; `ValueError` with one sentence for a mistake.

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
        "ranges": {column: _range(column, value) for column, value in table["ranges"].items()},
        "may_be_missing": tuple(missing),
        "norm_bound": None if bound is None else validate.positive(f"norm_bound in {name}", bound),
    }


def _range(column: str, value: Any) -> tuple[float, float]:
    name = validate.shown(column)
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"the range of {name} must be [low, high], got {validate.shown(value)}")
    low, high = (validate.number(f"each end of the range of {name}", end) for end in value)
    return low, high

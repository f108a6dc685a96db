"""Reading and writing TOML."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from vips_core import files

_MOST_DOTS = 300  # dots in one line of TOML: `tomllib` needs memory in proportion to their square


def to_toml(table: Mapping[str, Any]) -> str:
    """Write a table as TOML text.

    Examples
    --------
    >>> print(to_toml({"model": "topics", "epsilon": 1.0}), end="")
    model = "topics"
    epsilon = 1.0
    """
    return tomli_w.dumps(table)


def read_toml(text: str, name: str = "the config") -> dict[str, Any]:
    """Parse TOML; `ValueError` with one sentence that names the line of an error.

    Examples
    --------
    >>> read_toml("epsilon = 1.0")
    {'epsilon': 1.0}
    """
    for number, line in enumerate(text.split("\n"), 1):
        if (dots := line.count(".")) > _MOST_DOTS:
            raise ValueError(f"line {number} of {name} must have at most {_MOST_DOTS} dots, got {dots:,}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is not TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{name} is not readable TOML: it is nested too deeply") from None


def read_toml_file(path: Path, name: str | None = None) -> dict[str, Any]:
    """Parse a TOML file; `ValueError` with one sentence if it cannot be read."""
    name = name or f"the config {path.name}"
    try:
        text = files.read_bytes(path, files.MOST_SETTINGS).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None
    return read_toml(text, name)

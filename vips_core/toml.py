"""TOML, read and written in one way."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

__all__ = ["read_toml", "read_toml_file", "to_toml"]


def to_toml(table: Mapping[str, Any]) -> str:
    """Return a table as TOML.

    Examples
    --------
    >>> print(to_toml({"model": "topics", "epsilon": 1.0}), end="")
    model = "topics"
    epsilon = 1.0
    """
    return tomli_w.dumps(table)


def read_toml(text: str, name: str = "the config") -> dict[str, Any]:
    """Parse TOML; `ValueError` with one sentence that names the line where it is none.

    Examples
    --------
    >>> read_toml("epsilon = 1.0")
    {'epsilon': 1.0}
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is not TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{name} is not TOML that can be read: it is nested too deeply") from None


def read_toml_file(path: Path, name: str | None = None) -> dict[str, Any]:
    """Parse a TOML file; `ValueError` with one sentence where it cannot be read."""
    name = name or f"the config {path.name}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None
    return read_toml(text, name)

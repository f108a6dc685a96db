"""Rows of the store as the rest of the project sees them."""

import importlib.metadata
import json
import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vips_core.runs.budget import Cap

QUEUED, RUNNING, DONE, CANCELLED, FAILED = STATUSES = ("queued", "running", "done", "cancelled", "failed")
_PACKAGES = ("vips-explorer", "numpy", "scipy", "numba", "dp-accounting")


@dataclass(frozen=True)
class DataRow:
    """A data set that the store knows.

    Attributes
    ----------
    kind
        Name of the model that it suits.
    cap
        Of a private data set.
    fingerprint
        Of the records, whatever their name; "" for those that come with the project.
    unit
        What one record is of, and so what is protected, e.g. "one patient".
    """

    name: str
    kind: str
    records: int
    private: bool
    cap: Cap | None
    fingerprint: str
    unit: str
    has_test: bool
    created: float | None


@dataclass(frozen=True)
class RunRow:
    """A run as it stands; `epsilon` is that of its releases so far, None where it is infinite."""

    id: str
    kind: str
    request: Mapping[str, Any]
    data: str
    status: str
    step: int
    steps: int
    epsilon: float | None
    error: str | None
    scores: list[tuple[int, float]]
    created: float
    started: float | None
    ended: float | None
    versions: Mapping[str, str]
    seed: int | None
    pinned: bool


def run_row(row: sqlite3.Row, scores: list[tuple[int, float]]) -> RunRow:
    """Return a row of the table of runs."""
    fields = {name: row[name] for name in RunRow.__dataclass_fields__ if name != "scores"}
    fields |= {name: json.loads(row[name]) for name in ("request", "versions")}
    return RunRow(**fields | {"pinned": bool(row["pinned"]), "scores": scores})


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # run from a checkout that is not installed
            found[name] = "unknown"
    return found

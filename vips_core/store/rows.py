"""Data sets and runs as the rest of the project sees them, read from their tables."""

import functools
import importlib.metadata
import json
import platform
import sqlite3
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from vips_core import validate
from vips_core.models.task import TASKS
from vips_core.privacy.plan import PrivacyPlan, PurePlan
from vips_core.records import KINDS
from vips_core.store.budget import Cap
from vips_core.store.database import StoreError

FIT, SWEEP, AUDIT = RUN_KINDS = ("fit", "sweep", "audit")
QUEUED, RUNNING, DONE, CANCELLED, FAILED = STATUSES = ("queued", "running", "done", "cancelled", "failed")
_PACKAGES = ("vips-explorer", "numpy", "scipy", "numba")
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class DataRow:
    """A data set of the store.

    Attributes
    ----------
    kind
        Kind of records: documents, table or images.
    cap
        Cap of a private data set.
    fingerprint
        Identifies the records whatever their name; "" for data sets that come with the project.
    unit
        Unit of privacy: what one record stands for, e.g. "one patient".
    person_column
        Column that names each row's person, None if each row is a record of its own.
    person_namespace
        Study that assigned the identifiers: equal identifiers of other studies are other people.
    """

    name: str
    kind: str
    records: int
    private: bool
    cap: Cap | None = None
    fingerprint: str = ""
    unit: str = "one record"
    has_test: bool = False
    created: float | None = None
    person_column: str | None = None
    person_namespace: str | None = None


@dataclass(frozen=True)
class RunRow:
    """A run and its present state.

    Attributes
    ----------
    fingerprint
        Identifies the private records that it uses; None on public ones.
    epsilon
        ε of its releases so far, None if infinite.
    plan
        Plan of a fit; None for sweeps and audits.
    """

    id: str
    kind: str
    request: Mapping[str, Any]
    data: str
    fingerprint: str | None
    status: str
    step: int
    steps: int
    epsilon: float | None
    error: str | None
    validation_scores: list[tuple[int, float]]
    created: float
    started: float | None
    ended: float | None
    versions: Mapping[str, str]
    seed: int | None
    pinned: bool
    plan: PrivacyPlan | PurePlan | None


def run_row(row: sqlite3.Row, scores: list[tuple[int, float]]) -> RunRow:
    """Return a row of the table of runs; `StoreError` if it is damaged."""
    try:
        tables = {name: dict(json.loads(row[name])) for name in ("request", "versions")}
        plan = None if row["plan"] is None else _plan(json.loads(row["plan"]))
        run = _read(RunRow, row, validation_scores=scores, plan=plan, **tables)
        methods = TASKS[run.request["model"]].methods
        if (run.kind != SWEEP and run.request["method"] not in methods) or run.kind not in RUN_KINDS:
            raise ValueError(run.kind)
        return run
    except (KeyError, TypeError, ValueError):
        raise StoreError("a run in the store is damaged: restore a backup of the store") from None


def _plan(values: Mapping[str, Any]) -> PrivacyPlan | PurePlan:
    return PurePlan(**values) if "epsilon" in values else PrivacyPlan(**values)


def data_row(row: sqlite3.Row, cap: Cap | None) -> DataRow:
    """Return a row of the table of data sets; `StoreError` if it is damaged."""
    try:
        validate.one_of("kind", row["kind"], KINDS)
        return _read(DataRow, row, cap=cap)
    except (KeyError, TypeError, ValueError):
        raise StoreError("a data set in the store is damaged: restore a backup of the store") from None


def _read(wanted: type[_Made], row: sqlite3.Row, **parsed: Any) -> _Made:
    """Return a row as the `wanted` dataclass, with `parsed` values in place of columns.

    A value of another type than its field, which only a damaged file has, raises `TypeError`.
    """
    kinds = typing.get_type_hints(wanted)
    values = {name: row[name] for name in kinds if name not in parsed} | parsed
    for name, kind in kinds.items():
        if kind is bool:  # kept as a number
            values[name] = bool(values[name])
        elif isinstance(kind, type | types.UnionType) and not isinstance(values[name], kind):
            raise TypeError(name)
    return wanted(**values)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES}


@functools.cache  # a process keeps the versions that it has loaded
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"

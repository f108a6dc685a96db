"""The store as pages use it: data sets, runs, and results of finished runs."""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import state
from vips_core import Fit, load
from vips_core.csv_text import from_csv
from vips_core.jobs import execution, supervisor
from vips_core.jobs.request import Request
from vips_core.models.task import TASKS
from vips_core.records import DataSet as DataSet
from vips_core.store.database import StoreError
from vips_core.store.rows import CANCELLED, DONE, QUEUED, RUNNING, DataRow, versions
from vips_core.store.rows import RunRow as RunRow
from vips_core.store.store import Store

LIVE = (QUEUED, RUNNING)
_SUPERVISION = 1.0  # seconds between checks by the supervisor, for all visitors together


@dataclass(frozen=True)
class Finished:
    """A run that has ended with results.

    Attributes
    ----------
    fit
        None for a rival without a ledger (perm).
    result
        Scores, ε and cautions, as in result.json.
    tables
        The run's CSV files by name.
    text
        The task's summary in words.
    """

    run: RunRow
    request: Request
    fit: Fit[Any] | None
    result: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    text: str
    data: DataSet

    @property
    def trained(self) -> Fit[Any]:
        """The fit of a run that has a ledger; `ValueError` for a rival that has none."""
        if self.fit is None:
            raise ValueError(f"run {self.run.id} has no ledger")
        return self.fit


def store() -> Store:
    """Return the store of `VIPS_HOME`, opened once for all visitors."""
    return _store(os.environ.get("VIPS_HOME"))


def data_sets(model: str) -> list[DataRow]:
    """Return the data sets of the kind that a model reads, samples first."""
    return [row for row in store().data_sets() if row.kind == TASKS[model].kind]


def data(name: str) -> DataSet:
    """Return the records of a data set; `ValueError` if none has this name."""
    return _data(str(store().home), name, store().data_row(name).created)


def suggested_delta(row: DataRow) -> float:
    """Return the δ of a data set's cap, otherwise the largest power of ten up to 1/(10·N)."""
    return row.cap.delta if row.cap else float(f"1e{math.floor(math.log10(0.1 / row.records) + 1e-9)}")


def has_results(run: RunRow) -> bool:
    """Whether a run has ended with results; those of a cancelled run come from its releases so far."""
    return run.status in (DONE, CANCELLED) and (store().folder(run.id) / execution.RESULT).exists()


def held_out(run: RunRow) -> Mapping[str, float]:
    """Return the scores of a run that has ended, over all held-out records."""
    return _held_out(str(store().home), run.id) if has_results(run) else {}


def finished(run_id: str) -> Finished:
    """Return the results of a run; `ValueError` without results, or if its data set was removed."""
    run = store().run(run_id)
    if not has_results(run):
        raise ValueError(f"run {run_id} has no results: it is {run.status}")
    row = store().data_row(run.data)
    if run.fingerprint is not None and row.fingerprint != run.fingerprint:
        raise ValueError(f"the records of run {run_id} were removed, and another data set has their name")
    return _finished(str(store().home), run_id, row.created, data(run.data))


def same_run(request: Request) -> RunRow | None:
    """Return a finished run with the same request, seed and versions, and so the same result."""
    if request.seed is None:
        return None
    runs = store().runs(data=request.data, model=request.model, status=DONE, kind="fit")
    wanted = request.to_mapping(), versions()
    return next((run for run in runs if (run.request, run.versions) == wanted and has_results(run)), None)


def start(submit: Callable[[Store, Any], str], asked: Any) -> str:
    """Queue a run, sweep or audit, let the supervisor start it, and return its id."""
    run_id = submit(store(), asked)
    supervisor.start(store())
    return run_id


def supervise() -> list[str]:
    """Start waiting runs, notice dead ones, and return the statuses of the live runs.

    If nothing can be started, for instance because the disk is full, the page says so.
    """
    if problem := _supervised(str(store().home)):
        state.complain(problem)
    return _live_statuses()


@st.cache_data(ttl=_SUPERVISION, max_entries=4, show_spinner=False)
def _supervised(home: str) -> str:
    """Keep workers warm and start waiting runs; return why that is impossible, otherwise nothing."""
    try:
        supervisor.keep_warm(store())
        if _live_statuses():
            supervisor.start(store())
    except (OSError, StoreError) as problem:
        return f"no run can be started: {getattr(problem, 'strerror', None) or problem}"
    return ""


def _live_statuses() -> list[str]:
    rows = store().database.read("SELECT status FROM runs WHERE status IN (?, ?)", LIVE)
    return [row["status"] for row in rows]


@st.cache_resource(max_entries=4, show_spinner=False)
def _store(home: str | None) -> Store:
    return Store(None if home is None else Path(home))


@st.cache_resource(max_entries=6, show_spinner="Reading the data set.")
def _data(home: str, name: str, created: float | None) -> DataSet:
    """Return the records registered at this time: held-out records may change under the same fingerprint."""
    return store().load(name)


@st.cache_resource(max_entries=2000, show_spinner=False)
def _held_out(home: str, run_id: str) -> Mapping[str, float]:
    scores: Mapping[str, float] = _result(store().folder(run_id))["held_out"]
    return scores


@st.cache_resource(max_entries=32, show_spinner=False)
def _finished(home: str, run_id: str, created: float | None, _records: DataSet) -> Finished:
    run, folder = store().run(run_id), store().folder(run_id)
    request = Request.from_mapping(run.request)
    result = _result(folder)
    fit = load(folder) if (folder / execution.LEDGER).exists() else None
    tables = {path.stem: from_csv(path) for path in sorted(folder.glob("*.csv"))}
    text = (folder / execution.SUMMARY).read_text(encoding="utf-8")
    return Finished(run, request, fit, result, tables, text, _records)


def _result(folder: Path) -> Any:
    return json.loads((folder / execution.RESULT).read_text(encoding="utf-8"))

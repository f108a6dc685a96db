"""What pages know of the store: data sets, runs, and what finished runs left."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from vips_core import Fit, PrivacyPlan
from vips_core.runs import execution
from vips_core.runs.request import Request
from vips_core.runs.rows import CANCELLED, DONE, QUEUED, RUNNING, DataRow, RunRow, versions
from vips_core.runs.sources import DataSet
from vips_core.runs.store import Store

ALIVE = (QUEUED, RUNNING)


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
    """

    run: RunRow
    request: Request
    fit: Fit[Any] | None
    result: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    data: DataSet


def store() -> Store:
    """Return the store of `VIPS_HOME`, opened once for all visitors."""
    return _store(os.environ.get("VIPS_HOME"))


def data_sets(model: str) -> list[DataRow]:
    """Return the data sets that suit a model, those that come with the project first."""
    return [row for row in store().data_sets() if row.kind == model]


def data(name: str) -> DataSet:
    """Return the records of a data set; `ValueError` where there is none of this name."""
    return _data(str(store().home), name, store().data_row(name).fingerprint)


def has_results(run: RunRow) -> bool:
    """Whether a run has ended with something to show; one that was cancelled has what it had released."""
    return run.status in (DONE, CANCELLED) and (store().folder(run.id) / "result.json").exists()


def held_out(run: RunRow) -> Mapping[str, float]:
    """Return the scores of a run that has ended, over all held-out records."""
    return _held_out(str(store().home), run.id) if has_results(run) else {}


def finished(run_id: str) -> Finished:
    """Return what a run left; `ValueError` where it has no results, or its data set is gone."""
    run = store().run(run_id)
    if not has_results(run):
        raise ValueError(f"run {run_id} has no results: it is {run.status}")
    return _finished(str(store().home), run_id, data(run.data))


def same_run(request: Request) -> RunRow | None:
    """Return a finished run that repeats this one exactly: same request with a seed, same versions."""
    if request.seed is None:
        return None
    runs = store().runs(data=request.data, model=request.model, status=DONE, kind="fit")
    wanted = request.to_mapping(), versions()
    return next((run for run in runs if (run.request, run.versions) == wanted and has_results(run)), None)


@st.cache_resource(max_entries=4, show_spinner=False)
def _store(home: str | None) -> Store:
    return Store(None if home is None else Path(home))


@st.cache_resource(max_entries=6, show_spinner="Reading the data set.")
def _data(home: str, name: str, fingerprint: str) -> DataSet:
    return store().load(name)


@st.cache_resource(max_entries=2000, show_spinner=False)
def _held_out(home: str, run_id: str) -> Mapping[str, float]:
    found: Mapping[str, float] = _result(store().folder(run_id))["held_out"]
    return found


@st.cache_resource(max_entries=32, show_spinner=False)
def _finished(home: str, run_id: str, _records: DataSet) -> Finished:
    run, folder = store().run(run_id), store().folder(run_id)
    request = Request.from_mapping(run.request)
    result = _result(folder)
    fit = None
    if (folder / "ledger.json").exists():
        model = request.task.model(request.method, request.values, _records.train)
        plan = PrivacyPlan(**result["plan"])  # as it was trained with: calibrating it again takes seconds
        fit = execution.restore(execution.Prepared(request, _records, model, plan), folder)
    tables = {path.stem: pd.read_csv(path) for path in sorted(folder.glob("*.csv"))}
    return Finished(run, request, fit, result, tables, _records)


def _result(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))

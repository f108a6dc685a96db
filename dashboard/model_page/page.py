"""The shape that the model pages share: choose data and plan, train, watch, and see results."""

from collections.abc import Callable, Mapping

import streamlit as st

from dashboard import state, stored
from dashboard.background import Later
from dashboard.components import layout, live_runs
from dashboard.model_page import before, choose, headline, results, train, upload, watch
from dashboard.model_page.definition import ModelPage
from dashboard.stored import Finished
from vips_core.records import DataSet
from vips_core.store.rows import DataRow, RunRow

_DRAWING = 0.5  # seconds that a browser takes for results, before the next should come


def show(page: ModelPage, show_results: Callable[[dict[str, Finished], DataSet], None]) -> None:
    """Draw a model page; `show_results` draws what finished runs, by method, have to show."""
    row = choose.load(page)
    runs: dict[str, RunRow] = {}
    progress = None
    with Later() as later:
        with st.sidebar:
            offer = choose.sidebar(page, row, later)
        runs = train.runs_of_visit(page, row)
        state.save(page.parameters)
        layout.header(page.title, page.introduction)
        with layout.fresh("body", "upload" if state.get("upload") else bool(runs)):
            if state.get("upload"):
                upload.show(page.task, choose.data_set, lambda: state.put("upload", None))
            elif not runs:
                before.show(page, row, offer)
            else:
                progress = watch.show(page, runs)
                if progress is None and not any(map(stored.has_results, runs.values())):
                    before.show(page, row, offer, ended=runs)  # what could be next
                _finished(page, row, runs, show_results)
    if progress is not None:
        progress.place_chart()
        rest = _DRAWING if any(map(stored.has_results, runs.values())) else 0.0
        live_runs.follow(list(runs.values()), show=progress.update, rest=rest)


def _finished(
    page: ModelPage, row: DataRow, runs: Mapping[str, RunRow], show_results: Callable[..., None]
) -> None:
    try:
        finished = {
            method: stored.finished(run.id) for method, run in runs.items() if stored.has_results(run)
        }
        if finished:
            data_set = stored.data(row.name)
            if sentence := headline.sentence(page, finished):
                st.markdown(sentence)
            if data_set.test is None and page.nothing_held_out:
                st.info(page.nothing_held_out)
            show_results(finished, data_set)
            results.show(page, finished)
    except ValueError as problem:
        layout.problem(str(problem))

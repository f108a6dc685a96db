"""The shape that all model pages share, and the page of a model that has none of its own."""

from collections.abc import Callable, Mapping

import streamlit as st

from dashboard import state, stored
from dashboard.background import Later
from dashboard.components import layout, live_runs
from dashboard.components.tables import csv_button
from dashboard.model_page import choose, cost_preview, results, train, upload, watch
from dashboard.model_page.definition import ModelPage
from dashboard.stored import Finished
from vips_core.models.task import TASKS
from vips_core.records import DataSet
from vips_core.store.rows import DataRow, RunRow

_DRAWING = 0.5  # seconds that a browser needs to draw results before more arrive


def show(page: ModelPage, show_results: Callable[[dict[str, Finished], DataSet], None]) -> None:
    """Draw a model page; `show_results` draws the results of finished runs, by method."""
    state.load(page.parameters)
    if state.get("example") is not None:
        train_example(page)
    row = choose.reconcile(page)
    progress = None
    with Later() as later:
        with st.sidebar:
            quote = choose.sidebar(page, row, later)
        runs = train.runs_of_visit(page, row)
        done = {method: run for method, run in runs.items() if stored.has_results(run)}
        state.save(page.parameters)
        layout.header(page.title, page.introduction)
        with layout.fresh("body", "upload" if state.get("upload") else bool(runs)):
            if state.get("upload"):
                upload.show(page.task)
            elif not runs:
                cost_preview.show(page, row, quote)
            else:
                progress = watch.show(page, runs)
                if done:
                    _finished(page, row, done, show_results)
                elif progress is None:
                    cost_preview.show(page, row, quote, ended=runs)
    if progress is not None:
        progress.place_chart()
        live_runs.follow(list(runs.values()), show=progress.update, rest=_DRAWING if done else 0.0)


def train_example(page: ModelPage) -> None:
    """Train the ready example, which its button and links with `example=1` request.

    Nowhere else does a model page start a run without a click on Train. The example's data are public.
    """
    choose.change_all(page.defaults | dict(page.example))
    row = choose.reconcile(page)
    if page.example and not row.private:
        train.submit(page)


def _finished(
    page: ModelPage, row: DataRow, runs: Mapping[str, RunRow], show_results: Callable[..., None]
) -> None:
    try:
        finished = {method: stored.finished(run.id) for method, run in runs.items()}
        data_set = stored.data(row.name)
        if sentence := results.headline(page, finished):
            st.markdown(sentence)
        if data_set.test is None and page.nothing_held_out:
            st.info(page.nothing_held_out)
        show_results(finished, data_set)
        results.show(page, finished)
    except ValueError as problem:
        layout.problem(str(problem))


def show_any(model: str) -> None:
    """Draw the page of any registered model, from its task alone."""
    task = TASKS[model]
    record = task.records.record
    page = ModelPage(
        task,
        task.title,
        f"{task.help[:1].upper()}{task.help[1:]}. Each training {record} is protected; only public held-out "
        f"{record}s are scored.",
        nothing_held_out=f"This data set has no public held-out {record}s, so there are no scores.",
    )
    show(page, lambda runs, data_set: _any_results(page, runs))


def _any_results(page: ModelPage, runs: dict[str, Finished]) -> None:
    """Show the results that every task reports: scores while training, a text, and tables to download."""
    score = page.task.validation_score
    if any(item.run.validation_scores for item in runs.values()):
        with layout.card(f"Held-out {score} while training"):
            alt = f"Held-out {score} by iteration, for each method."
            results.scores_while_training(page, runs, "scores", alt)
    for method, item in runs.items():
        with layout.card(page.labels[method]):
            if item.text:
                st.code(item.text, language=None)
            for name, table in item.tables.items():
                st.markdown(f"**{layout.plain(name[:1].upper() + name[1:])}**")
                st.dataframe(table, hide_index=True, height=min(400, 38 + 35 * len(table)), alt=name)
                csv_button(table, f"{name}-{method}")

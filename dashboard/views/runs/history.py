"""The history of runs on the Runs page: filters, the table, and selected runs side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import pages, state, stored
from dashboard.background import Later
from dashboard.components import layout, live_runs, stored_runs
from dashboard.components.charts import chart
from dashboard.components.inputs import choice, one_existing
from dashboard.components.layout import card
from dashboard.components.tables import by_width, csv_button, text_table
from dashboard.views.runs import charts, data, text
from dashboard.views.runs.data import ALL, CHOSEN, DATA, METHOD, MODEL, STATUS
from vips_core.jobs.request import Request
from vips_core.models.task import TASKS
from vips_core.store.rows import AUDIT, FIT, SWEEP, RunRow


def filters(runs: Sequence[RunRow]) -> list[RunRow]:
    """Show the filters and return the runs that match."""
    choice(MODEL)
    one_existing(DATA, "Data", {ALL: ALL} | {run.data: run.data for run in runs} | {ALL: "All data sets"})
    choice(STATUS)
    choice(METHOD)
    return data.matching(runs, *(state.get(item.name) for item in (MODEL, DATA, STATUS, METHOD)))


def chosen(runs: Sequence[RunRow]) -> list[RunRow]:
    """Return the runs that the address names, and complain about each unknown one."""
    known = {run.id: run for run in runs}
    names = _chosen_names()
    for name in names:
        if name not in known:
            state.complain(f"There is no run {name!r}.")
    selected = [known[name] for name in names if name in known]
    state.put(CHOSEN.name, ",".join(run.id for run in selected) or None)
    return selected


def _chosen_names() -> list[str]:
    return [name for name in (state.get(CHOSEN.name) or "").split(",") if name]


def show(matching: Sequence[RunRow], selected: Sequence[RunRow], any_runs: bool) -> None:
    """Show the runs that match the filters, and below them the selected ones."""
    with Later() as later:
        with card("History", text.HISTORY_CAPTION):
            if matching:
                _table(matching, selected)
            else:
                st.markdown(text.NO_MATCH if any_runs else text.NOTHING_YET)
        for run in selected:
            with st.container(border=True):
                _chosen_run(run)
        fits = [run for run in selected if run.kind == FIT]
        if fits:
            _compare(fits, later)


def _table(matching: Sequence[RunRow], selected: Sequence[RunRow]) -> None:
    """Show the runs; selected rows are compared below."""
    ids, marked = [run.id for run in matching], {run.id for run in selected}
    rows = charts.history_table(matching)
    # Streamlit keeps selected rows by place, so that other rows need another widget.
    key = state.widget_key(CHOSEN.name, "history", hash(tuple(ids)))

    def read(marks: Mapping[str, Any]) -> str | None:
        return ",".join(ids[place] for place in marks["selection"]["rows"] if place < len(ids)) or None

    with by_width("history", charts.history_rows(matching, [run.id for run in selected])):
        st.dataframe(
            rows,
            hide_index=True,
            key=key,
            on_select=state.store_widget_value(CHOSEN.name, key, read),
            selection_mode="multi-row",
            selection_default={"selection": {"rows": [i for i, name in enumerate(ids) if name in marked]}},
            height=min(420, 40 + 35 * max(1, len(rows))),
            alt="Runs, newest first",
            column_config={
                "Progress": st.column_config.ProgressColumn(
                    format="%d%%", min_value=0, max_value=100, width=80
                ),
                "Method": st.column_config.TextColumn(width=165),
                "ε": st.column_config.TextColumn(width=50),
                "Held-out score": st.column_config.TextColumn(width=130),
                "Started": st.column_config.DatetimeColumn("Started (UTC)", format="D MMM, HH:mm", width=105),
            },
        )
    csv_button(rows, "runs")


def _chosen_run(run: RunRow) -> None:
    """Show a selected run with its actions."""
    about, actions = st.columns([2, 3], vertical_alignment="center")
    with about:
        st.markdown(f"**{charts.method_label(run)}** on {layout.plain(run.data)}, run {run.id}: {run.status}")
        st.caption(layout.protected(stored.store().data_of(run).unit))
    with actions.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        _link(run)
        if run.status in stored.LIVE:
            live_runs.cancel_button(run.id)
        else:
            stored_runs.report_buttons(run.id)
            label, key = "Unpin" if run.pinned else "Pin", f"pin:{run.id}:{run.pinned}"
            st.button(label, icon=":material/keep:", key=key, on_click=_pin, args=(run.id, not run.pinned))
            st.button("Delete", icon=":material/delete:", key=f"ask:{run.id}", on_click=_ask, args=(run.id,))
    if run.error:
        layout.problem(live_runs.why_failed(run))
    if state.visit.get("asked-to-delete") == run.id:
        _confirmation(run.id)


def _link(run: RunRow) -> None:
    if run.kind == SWEEP:
        st.page_link(pages.page("frontier"), label="Open", query_params={"sweep": run.id})
    elif run.kind == AUDIT:
        st.page_link(pages.page("audit"), label="Open", query_params={"audit": run.id})
    else:
        values = data.page_values(Request.from_mapping(run.request)) | {"runs": run.id}
        st.page_link(pages.page(pages.of_model(run.request["model"])), label="Open", query_params=values)


def _confirmation(run_id: str) -> None:
    """Ask for confirmation; the visit remembers the question, so that it survives a redraw."""
    with st.container(border=True):
        st.markdown(text.DELETING)
        with st.container(horizontal=True):
            label, key = f"Delete run {run_id}", f"delete:{run_id}"
            st.button(label, key=key, type="primary", on_click=_delete, args=(run_id,))
            st.button("Keep it", key=f"keep:{run_id}", on_click=_ask, args=(None,))


def _ask(run_id: str | None) -> None:
    state.visit["asked-to-delete"] = run_id


def _pin(run_id: str, pinned: bool) -> None:
    with state.complaining():
        stored.store().pin(run_id, pinned)


def _delete(run_id: str) -> None:
    with state.complaining():
        stored.store().delete(run_id)
        kept = [name for name in _chosen_names() if name != run_id]
        state.change(CHOSEN.name, ",".join(kept) or None)


def _compare(fits: Sequence[RunRow], later: Later) -> None:
    """Compare runs: settings, ε and scores."""
    home = str(stored.store().home)
    ended = [run for run in fits if run.status not in stored.LIVE]
    results = {run.id: later(data.run_results, home, run.id, run.status) for run in ended}
    left, right = st.columns(2, gap="medium")
    with left, card("Settings", text.SETTINGS_CAPTION if len(fits) > 1 else ""):
        settings = charts.settings_table(fits)
        if len(settings):
            text_table(settings)
        else:
            st.markdown(text.SAME_SETTINGS)
    with right, card("ε by every accountant", text.ACCOUNTS_CAPTION):
        accounts = charts.accounts_table(fits, results)
        if len(accounts):
            text_table(accounts)
            csv_button(accounts, "accounts")
        else:
            st.markdown(text.NO_LEDGER)
    with card("Held-out scores", text.SCORES_CAPTION):
        _scores(fits, results)


def _scores(fits: Sequence[RunRow], results: charts.Results) -> None:
    """Show the scores of runs, model by model, since models have different scores."""
    any_scores = False
    for model in dict.fromkeys(run.request["model"] for run in fits):
        of_model = [run for run in fits if run.request["model"] == model]
        scores, evaluations = charts.scores_table(of_model, results), charts.score_curves_table(of_model)
        any_scores = any_scores or len(scores) + len(evaluations) > 0
        if len(scores):
            text_table(scores)
        if len(evaluations):
            score = TASKS[model].validation_score
            alt = f"Held-out {score} against steps, one line for each run."
            chart(charts.score_curves(evaluations, score), f"curves-{model}", alt, evaluations.copy)
    if not any_scores:
        st.markdown(text.NO_SCORES)

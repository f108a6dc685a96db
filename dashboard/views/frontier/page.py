"""Frontier: the utility that each ε buys, from sweeps over ε, methods and seeds."""

from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout, live_runs, stored_runs
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, text_table
from dashboard.views.frontier import cards, data, form, text
from dashboard.views.frontier.form import BESIDE, PARAMETERS, SHIPPED, SWEEP

_REDRAW = 3.0  # seconds between redraws of a live sweep's curves, which take about 1 s to draw
_ROWS, _TALLEST = 8, 360  # rows above which the table of settings scrolls, and its height then, in pixels


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    sweeps = stored.store().runs(kind="sweep")
    run = None if state.get(SWEEP.name) in SHIPPED else stored_runs.chosen_run(sweeps, SWEEP.name)
    if run is None and state.get(SWEEP.name) not in SHIPPED:
        state.put(SWEEP.name, SWEEP.default)
    with st.sidebar:
        stored_runs.run_list(sweeps, run, SWEEP.name, text.label, form.look_at)
        form.new_sweep()
    layout.header("Privacy against utility", text.INTRODUCTION)
    form.results_choice(sweeps)
    if run is None:
        _shipped(state.get(SWEEP.name))
    else:
        _own(run)


def _shipped(name: str) -> None:
    """Show results that come with the project, where they come from, and the paper's other exhibits."""
    with layout.fresh("frontier", name):
        cards.curves(data.shipped_curves(name))
        state.save(PARAMETERS)
        frontier = data.shipped(name)
        with card("Where these results come from"):
            st.markdown(text.origin(frontier))
            st.caption(layout.protected(stored.store().data_row(frontier.sweep.data).unit))
            csv_button(frontier.cells, name)
        cards.exhibits(data.shipped_exhibits, name)


def _own(run: stored.RunRow) -> None:
    """Show one of the visitor's sweeps: its progress and its curves so far."""
    beside = state.get(BESIDE.name) == "yes"
    try:
        standing = data.standing(run, beside)
    except ValueError as problem:  # its data set was removed
        layout.problem(str(problem))
        state.save(PARAMETERS)
        return
    live = run.status in stored.LIVE
    with layout.fresh("frontier", (run.id, run.status, bool(standing.done))):
        if live:
            bar = _progress(run, standing)
        cards.curves(standing.curves, data.shipped_beside(run))
        if not live:
            bar = _progress(run, standing)
        state.save(PARAMETERS)
        if not live:
            cards.exhibits(data.paper_exhibits, str(stored.store().home), run.id, run.step)
    if live:
        live_runs.follow_bar(run, bar, "runs", redraw=_REDRAW)


def _progress(run: stored.RunRow, standing: data.Standing) -> Any:
    """Show a sweep's progress and the actions on it, and return the placeholder of its bar."""
    with card(run.request.get("title") or run.id):
        bar = st.empty()
        if run.status in stored.LIVE:
            live_runs.draw_bar(bar, run, "runs", standing.done / max(1, standing.total))
        else:
            bar.markdown(text.state(run, standing))
        st.caption(layout.protected(stored.store().data_of(run).unit))
        for sentence in standing.errors:
            layout.problem(f"Some runs failed: {sentence}")
        with st.container(horizontal=True):
            if run.status in stored.LIVE:
                live_runs.cancel_button(run.id)
            elif standing.done < standing.total:
                icon, args = ":material/resume:", (run.request,)
                st.button("Resume", key="resume", icon=icon, type="primary", on_click=form.start, args=args)
            if standing.done:
                stored_runs.report_buttons(run.id)
        with st.expander("Runs of each setting", expanded=standing.done < standing.total, type="compact"):
            st.caption(text.RUNS)
            with st.container(height=_TALLEST if len(standing.settings) > _ROWS else "content"):
                text_table(text.settings_table(standing.settings))
    return bar

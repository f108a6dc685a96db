"""Frontier: the utility that each ε buys, from sweeps over ε, methods and seeds."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout, live_runs
from dashboard.components.layout import card
from dashboard.components.stored_runs import chosen_run, run_list
from dashboard.components.tables import csv_button
from dashboard.views.frontier import cards, data, form, text
from dashboard.views.frontier.form import BESIDE, PARAMETERS, SHIPPED, SWEEP
from sample_data import frontiers

_REDRAW = 3.0  # seconds between two redraws of a live sweep's curves: drawing them takes about one


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    sweeps = stored.store().runs(kind="sweep")
    run = None if state.get(SWEEP.name) in SHIPPED else chosen_run(sweeps, SWEEP.name)
    if run is None and state.get(SWEEP.name) not in SHIPPED:
        state.put(SWEEP.name, SWEEP.default)
    with st.sidebar:
        run_list(sweeps, run, SWEEP.name, text.label, form.look_at)
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
        frontier = frontiers.load(name)
        with card("Where these results come from"):
            st.markdown(text.origin(frontier))
            st.caption(layout.protected(stored.store().data_row(frontier.sweep.data).unit))
            csv_button(frontier.cells, name)
        cards.exhibits(data.shipped_exhibits, name)


def _own(run: stored.RunRow) -> None:
    """Show a sweep of the visitor's: its progress and its curves so far."""
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
            bar = cards.progress(run, standing)
        cards.curves(standing.curves, data.shipped_beside(run))
        if not live:
            bar = cards.progress(run, standing)
        state.save(PARAMETERS)
        if not live:
            cards.exhibits(data.paper_exhibits, str(stored.store().home), run.id, run.step)
    if live:
        live_runs.follow_bar(run, bar, "runs", redraw=_REDRAW)

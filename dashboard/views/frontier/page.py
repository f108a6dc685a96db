"""Frontier: how much usefulness each ε buys, from sweeps over ε, methods and seeds."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout
from dashboard.components.run_choice import chosen_run, run_list
from dashboard.views.frontier import data, form, sections, text
from dashboard.views.frontier.parameters import BESIDE, PARAMETERS, SHIPPED, SWEEP


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
    layout.header("Privacy against usefulness", text.INTRODUCTION)
    form.results_choice(sweeps)
    if run is None:
        _shipped(state.get(SWEEP.name))
    else:
        _own(run)


def _shipped(name: str) -> None:
    with layout.fresh("frontier", name):
        sections.curves(data.shipped_curves(name))
        state.save(PARAMETERS)
        sections.origin(name)
        sections.exhibits(data.shipped_exhibits, name)


def _own(run: stored.RunRow) -> None:
    beside = state.get(BESIDE.name) == "yes"
    try:
        standing = data.standing(run, beside)
    except ValueError as problem:  # its data set is gone
        layout.problem(str(problem))
        state.save(PARAMETERS)
        return
    live = run.status in stored.LIVE
    with layout.fresh("frontier", (run.id, run.status, bool(standing.done))):
        if live:
            bar = sections.progress(run, standing)
        sections.curves(standing.curves, data.shipped_beside(run))
        if not live:
            bar = sections.progress(run, standing)
        state.save(PARAMETERS)
        if not live:
            sections.exhibits(data.paper_exhibits, str(stored.store().home), run.id, run.step)
    if live:
        sections.wait(run, bar)

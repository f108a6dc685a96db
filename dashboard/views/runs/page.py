"""Runs: compare past runs, submit configs, and manage budgets."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout, live_runs
from dashboard.components.inputs import choice
from dashboard.views.runs import budgets, configs, history, text
from dashboard.views.runs.data import BUDGETS, HISTORY, IMPORT, PARAMETERS, PART

_REDRAW = 3.0  # seconds between two redraws for live runs: a table that changes more often is unreadable


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    runs = stored.store().runs()
    selected = history.chosen(runs)
    with st.sidebar:
        part = choice(PART, as_buttons=True)
        matching = history.filters(runs) if part == HISTORY else []
    state.save(PARAMETERS)
    layout.header("Runs and budgets", text.INTRODUCTION)
    with layout.fresh("runs", (part, tuple((run.id, run.status) for run in selected), bool(matching))):
        if part == BUDGETS:
            budgets.show()
        elif part == IMPORT:
            configs.show()
        else:
            history.show(matching, selected, bool(runs))
    if part == HISTORY and any(run.status in stored.LIVE for run in runs):
        live_runs.follow(runs, read=stored.store().runs, redraw=_REDRAW)

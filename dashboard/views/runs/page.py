"""Runs: what was trained, side by side; reports; configs; budgets and the ledger."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout
from dashboard.views.runs import budgets, configs, history, text
from dashboard.views.runs.parameters import BUDGETS, HISTORY, IMPORT, PARAMETERS, PART


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    runs = stored.store().runs()
    selected = history.chosen(runs)
    with st.sidebar:
        part = _part()
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
        history.wait(runs)


def _part() -> str:
    """Choose between runs, budgets and configs; an import that was submitted leads back to the runs."""
    value, key = str(state.get(PART.name)), state.widget_key(PART.name, "part")
    st.segmented_control(
        PART.label,
        list(PART.options),
        default=value,
        required=True,
        width="stretch",
        key=key,
        format_func=lambda part: PART.options[part],
        help=PART.help,
        on_change=state.takes(PART.name, key),
    )
    return value

"""Runs: what was trained, side by side; reports; configs; budgets and the ledger."""

import streamlit as st

from dashboard import budgets, history, history_parts, layout, library, session
from dashboard.background import Later
from dashboard.layout import card

_INTRODUCTION = "Everything that was trained here, what it cost, and what is left of each budget."


def show() -> None:
    """Draw the page."""
    session.load(history.PARAMETERS)
    runs = library.store().runs()
    selected = history_parts.chosen(runs)
    with st.sidebar:
        part = history_parts.part()
        shown = history_parts.filters(runs) if part == "history" else []
    session.save(history.PARAMETERS)
    layout.header("Runs and budgets", _INTRODUCTION)
    with layout.fresh("runs", (part, tuple((run.id, run.status) for run in selected), bool(shown))):
        if part == "budgets":
            budgets.show()
        elif part == "import":
            history_parts.import_config()
        else:
            _history(shown, selected, bool(runs))
    if part == "history" and any(run.status in library.ALIVE for run in runs):
        history_parts.wait(runs)


def _history(shown: list[library.RunRow], selected: list[library.RunRow], any_runs: bool) -> None:
    with Later() as later:
        with card("History", history.CAPTION):
            if shown:
                history_parts.table(shown, selected)
            else:
                st.markdown(history.NOTHING if any_runs else history.NOTHING_YET)
        history_parts.compare(selected, later)

"""Audit: attack a model on public data, and compare the result with the claimed ε."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout, live_runs
from dashboard.components.layout import card
from dashboard.components.stored_runs import chosen_run, run_list
from dashboard.views.audit import form, results, text
from dashboard.views.audit.form import AUDIT, PARAMETERS


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    audits = stored.store().runs(kind="audit")
    run = chosen_run(audits, AUDIT.name)
    with st.sidebar:
        run_list(audits, run, AUDIT.name, text.label)
        form.new_audit()
    state.save(PARAMETERS)
    layout.header("Attack the claim", text.INTRODUCTION)
    with layout.fresh("audit", None if run is None else (run.id, run.status)):
        if run is None:
            with card("No audit yet"):
                st.markdown(f"{text.INVITATION}\n\n{text.BEGIN}")
        elif run.status in stored.LIVE:
            _follow(run)
        else:
            results.show(run)


def _follow(run: stored.RunRow) -> None:
    """Show the progress of a live audit until it ends."""
    with card(text.label(run)):
        st.markdown(text.INVITATION)
        bar = st.empty()
        live_runs.draw_bar(bar, run, text.unit(run))
        live_runs.cancel_button(run.id)
    live_runs.follow_bar(run, bar, text.unit(run))

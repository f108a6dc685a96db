"""Audit: attack a model and its plan on public data, and compare with what is claimed."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout
from dashboard.components.run_choice import chosen_run, run_list
from dashboard.views.audit import data, form, sections, text
from dashboard.views.audit.parameters import AUDIT, PARAMETERS


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    audits = stored.store().runs(kind="audit")
    run = chosen_run(audits, AUDIT.name)
    with st.sidebar:
        run_list(audits, run, AUDIT.name, text.label, lambda run_id: state.change(AUDIT.name, run_id))
        form.new_audit()
    state.save(PARAMETERS)
    layout.header("Attack the claim", text.INTRODUCTION)
    with layout.fresh("audit", None if run is None else (run.id, run.status)):
        if run is None:
            sections.invitation()
            return
        if run.status in stored.LIVE:
            bar = sections.progress(run)
        elif (results := data.results(run)) is None:
            sections.ended_without_result(run)
        else:
            sections.result(run, *results)
    if run.status in stored.LIVE:
        sections.follow(run, bar)

"""The sidebar of the Audit page: the audits that there are, and the form for a new one."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.components.inputs import choice, number_with_slider, optional_number
from dashboard.views.audit import text
from dashboard.views.audit.parameters import (
    ATTACK,
    AUDIT,
    BATCH,
    CANARIES,
    CONFIDENCE,
    DATA,
    DELTA,
    EPSILON,
    METHOD,
    MODEL,
    NOISE,
    RELEASES,
    SPEND,
)
from vips_core.audits.job import submit_audit
from vips_core.audits.verdict import WALL
from vips_core.jobs import supervisor
from vips_core.models.task import NON_PRIVATE, TASKS
from vips_core.reports.figures import METHOD_NAMES


def new_audit() -> None:
    """Show the form for an audit."""
    st.markdown("**New audit**")
    model = choice(MODEL)
    names = [row.name for row in stored.data_sets(model) if not row.private]
    _one_of(DATA.name, "Public data", model, {name: name for name in names})
    methods = {
        name: METHOD_NAMES[name]
        for name, method in TASKS[model].methods.items()
        if name != NON_PRIVATE and method.pure is None
    }
    _one_of(METHOD.name, "Method", model, methods)
    number_with_slider(NOISE if choice(SPEND, as_buttons=True) == "noise" else EPSILON)
    number_with_slider(DELTA)
    records = stored.store().data_row(state.get(DATA.name)).records
    optional_number(
        BATCH,
        "Own batch size",
        "Otherwise the model takes the batch that suits it.",
        max(1, records // 20),
        records,
    )
    number_with_slider(RELEASES if choice(ATTACK, as_buttons=True) == WALL else CANARIES)
    choice(CONFIDENCE, as_buttons=True)
    st.button(
        "Start the audit",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        key="start-audit",
        on_click=_start,
        args=(asked(),),
    )
    st.caption(text.PUBLIC_ONLY)


def _one_of(name: str, label: str, model: str, options: Mapping[str, str]) -> None:
    """Show a list that depends on the model; what the model does not have becomes the first."""
    if state.get(name) not in options:
        state.put(name, next(iter(options)))
    key = state.widget_key(name, "audit", model)
    st.selectbox(
        label,
        list(options),
        list(options).index(state.get(name)),
        key=key,
        format_func=lambda option: options[option],
        on_change=state.takes(name, key),
    )


def asked() -> dict[str, Any]:
    """Return the audit that the visitor has set up, as a table."""
    inputs = (MODEL, DATA, METHOD, DELTA, BATCH, ATTACK, RELEASES, CANARIES)
    table = {name: state.get(name) for name in [*(item.name for item in inputs), state.get(SPEND.name)]}
    return table | {CONFIDENCE.name: float(state.get(CONFIDENCE.name))}


def _start(table: Mapping[str, Any]) -> None:
    """Queue an audit and look at it; a refusal is kept for the page to show."""
    try:
        run_id = submit_audit(stored.store(), table)
        supervisor.start(stored.store())
    except ValueError as problem:
        state.complain(str(problem))
        return
    state.change(AUDIT.name, run_id)

"""The inputs of the Audit page, each with its name in the address, and the form for a new audit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.components import inputs
from dashboard.model_page import definition
from dashboard.state import Choice, Number, Parameter, Text, log_stops
from dashboard.views.audit import text
from vips_core.audits.job import OPTIONS, submit_audit
from vips_core.audits.verdict import WALL
from vips_core.models.task import NON_PRIVATE, TASKS, TITLES
from vips_core.reports.figures import METHOD_NAMES

AUDIT = Text("audit", None, r"[0-9a-f]{8}")
MODEL = Choice("model", "Model", "logistic", TITLES, "The model whose releases are attacked.")
DATA = Text("data", None, r"\w[\w .-]{0,63}")  # by default, the first public data set of the model's kind
METHOD = Text("method", None, r"[a-z-]{1,20}")
NOISE, EPSILON = replace(definition.NOISE, default=2.0), replace(definition.EPSILON, default=2.0)
DELTA = replace(definition.DELTA, default=1e-5)
SPEND = Choice("spend", "Set privacy with", "noise", {by.name: by.label for by in (NOISE, EPSILON)}, "")
ATTACK = Choice.of("attack", OPTIONS["attack"])
_RELEASES = log_stops(100, 10**6, whole=True, mantissas=(1, 2, 4))
RELEASES = Number.of("releases", OPTIONS["releases"], _RELEASES)
CANARIES = Number.of("canaries", OPTIONS["canaries"], log_stops(4, 10_000, whole=True, mantissas=(1, 2, 5)))
_LEVELS = {"0.9": "90%", "0.95": "95%", "0.99": "99%", "0.999": "99.9%"}
CONFIDENCE = Choice("confidence", "Confidence", "0.95", _LEVELS, OPTIONS["confidence"].help)
_REQUEST = (MODEL, DATA, METHOD, DELTA, definition.BATCH, ATTACK, RELEASES, CANARIES)
PARAMETERS: tuple[Parameter, ...] = (AUDIT, *_REQUEST, SPEND, NOISE, EPSILON, CONFIDENCE)


def new_audit() -> None:
    """Show the form for a new audit."""
    st.markdown("**New audit**")
    task = TASKS[inputs.choice(MODEL)]
    public = {row.name: row.name for row in stored.data_sets(task.name) if not row.private}
    inputs.one_existing(DATA, "Public data", public)
    audited = {  # methods whose releases pass the wall with noise
        name: METHOD_NAMES[name]
        for name, method in task.methods.items()
        if name != NON_PRIVATE and method.pure is None
    }
    inputs.one_existing(METHOD, "Method", audited)
    spend = inputs.choice(SPEND, as_buttons=True)
    inputs.number_with_slider(NOISE if spend == "noise" else EPSILON)
    inputs.number_with_slider(DELTA)
    records = stored.store().data_row(state.get(DATA.name)).records
    help = "By default, the model chooses a batch size."
    inputs.optional_number(definition.BATCH, "Set the batch size", help, max(1, records // 20), records)
    inputs.number_with_slider(RELEASES if inputs.choice(ATTACK, as_buttons=True) == WALL else CANARIES)
    confidence = float(inputs.choice(CONFIDENCE, as_buttons=True))
    request = {name: state.get(name) for name in (*(item.name for item in _REQUEST), spend)}
    inputs.start_button("Start the audit", "start-audit", _start, request | {CONFIDENCE.name: confidence})
    st.caption(text.PUBLIC_ONLY)


def _start(table: Mapping[str, Any]) -> None:
    """Queue an audit and show it."""
    with state.complaining():
        state.change(AUDIT.name, stored.start(submit_audit, table))

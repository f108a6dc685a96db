"""The line on top of every page: the data set, what is left of its budget, and running jobs."""

import html

import streamlit as st

from dashboard import state, stored
from dashboard.components.bounds import at_least
from vips_core.store.rows import QUEUED, RUNNING


def show() -> None:
    """Draw the line."""
    items = "".join([*_data(), _jobs()])
    st.html(f'<div class="vips-status" role="status">{items}</div>')


def _data() -> list[str]:
    name = state.visit.get("data")
    try:
        row = stored.store().data_row(name) if name else None
    except ValueError:
        row = None
    if row is None:
        return ["<span>No data set chosen</span>"]
    about = f"<span>Data <b>{html.escape(row.name)}</b>, {row.records:,} records</span>"
    if not row.private:
        return [about, "<span>Public, needs no budget</span>"]
    budget = stored.store().budget(row.name)
    cap = row.cap.epsilon if row.cap else 0.0
    reserved = f", {budget.reserved_share:.0%} reserved" if budget.reserved_share > 0 else ""
    return [
        about,
        f'<span><span class="meter"><i style="width: {budget.left_share:.0%}"></i></span>Private, ε = '
        f"<b>{at_least(budget.left_epsilon)}</b> of {cap:g} left for one more run{reserved}</span>",
    ]


def _jobs() -> str:
    statuses = stored.supervise()  # a restart of the machine may have left some waiting
    running, waiting = (statuses.count(status) for status in (RUNNING, QUEUED))
    if not running and not waiting:
        return "<span>No run is training</span>"
    counts = {"training": running, "waiting": waiting}
    runs = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f'<span><span class="live"></span>Runs: {runs}</span>'

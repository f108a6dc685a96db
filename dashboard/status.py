"""The line on top of every page: the data set, what is left of its budget, and running jobs."""

import html
import math

import streamlit as st

from dashboard import library, session
from dashboard.formats import number
from vips_core.runs import supervisor
from vips_core.runs.rows import QUEUED, RUNNING

_STYLE = """<style>
.vips-status { display: flex; flex-wrap: wrap; gap: 0.3rem 1.75rem; font-size: 0.85rem; align-items: center; }
@media (min-width: 1800px) { .vips-status { position: fixed; top: 0; right: 1.5rem; height: 3.75rem;
  z-index: 1000000; } }
@media (max-width: 1799.9px) { .vips-status { padding-top: 0.9rem; margin-bottom: -0.75rem; } }
.vips-status b { font-weight: 600; }
.vips-status span { opacity: 0.85; }
.vips-status .meter { display: inline-block; width: 6rem; height: 0.5rem; border-radius: 0.25rem;
  vertical-align: middle; margin-right: 0.5rem; overflow: hidden;
  background: color-mix(in srgb, currentColor 18%, transparent); }
.vips-status .meter i { display: block; height: 100%; background: #1F83C4; }
.vips-status .live { display: inline-block; width: 0.55rem; height: 0.55rem; border-radius: 50%;
  background: #009E73; margin-right: 0.45rem; }
</style>"""


def show() -> None:
    """Draw the line."""
    parts = [*_data(), _jobs()]
    st.html(f'{_STYLE}<div class="vips-status" role="status">{"".join(parts)}</div>')


def _data() -> list[str]:
    name = session.state.get("data")
    try:
        row = library.store().data_row(name) if name else None
    except ValueError:
        row = None
    if row is None:
        return ["<span>No data set chosen</span>"]
    told = f"<span>Data <b>{html.escape(row.name)}</b>, {row.records:,} records</span>"
    if not row.private:
        return [told, "<span>Public, needs no budget</span>"]
    found = library.store().budget(row.name)
    cap = row.cap.epsilon if row.cap else 0.0
    left = f"{100 * found.left_epsilon / cap:.0f}%" if cap else "0%"
    reserved = f", {number(found.reserved_epsilon)} reserved" if found.reserved_epsilon > 0 else ""
    sure = math.floor(1e4 * found.left_epsilon) / 1e4  # never more than there is
    return [
        told,
        f'<span><span class="meter"><i style="width: {left}"></i></span>Private, ε = '
        f"<b>{number(sure)}</b> left of {cap:g}{reserved}</span>",
    ]


def _jobs() -> str:
    supervisor.start(library.store())  # those that a restart of the machine left waiting
    running, waiting = (len(library.store().runs(status=status)) for status in (RUNNING, QUEUED))
    if not running and not waiting:
        return "<span>No run is training</span>"
    told = [f"{running} training"] * (running > 0) + [f"{waiting} waiting"] * (waiting > 0)
    return f'<span><span class="live"></span>Runs: {", ".join(told)}</span>'

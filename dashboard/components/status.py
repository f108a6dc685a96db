"""The line on top of every page (data set, budget left, running jobs), and a budget as a bar."""

import html

import streamlit as st

from dashboard import state, stored
from dashboard.components.formats import at_least
from vips_core.reports.figures import BLUE, PURPLE, VERMILION
from vips_core.store.budget import percent
from vips_core.store.rows import QUEUED, RUNNING

_LEFT = "color-mix(in srgb, currentColor 14%, transparent)"
_STRIPES = (
    f"repeating-linear-gradient(45deg, {VERMILION} 0 4px, color-mix(in srgb, {VERMILION} 55%, white) 4px 7px)"
)


def show() -> None:
    """Draw the line at the top of a page."""
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
        f'<span><span class="meter"><i style="width: {budget.left_share:.0%}"></i></span>Private, ε = <b>'
        f"{at_least(budget.left_epsilon)}</b> of {cap:g} left for one more full-batch run{reserved}</span>",
    ]


def _jobs() -> str:
    statuses = stored.supervise()  # runs may have been waiting since the machine restarted
    counts = {"training": statuses.count(RUNNING), "waiting": statuses.count(QUEUED)}
    runs = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    if not runs:
        return "<span>No run is training</span>"
    return f'<span><span class="live"></span>Runs: {runs}</span>'


def budget_bar(spent: float, reserved: float = 0.0, this_run: float = 0.0) -> None:
    """Draw shares of a budget as a bar, which a screen reader reads as one sentence.

    Shares that exceed the budget fill the bar.
    """
    left = max(0.0, 1 - spent - reserved - this_run)
    shares = {
        "Spent": (spent, BLUE),
        "Reserved": (reserved, PURPLE),
        "This run": (this_run, _STRIPES),
        "Left": (left, _LEFT),
    }
    shown = {name: item for name, item in shares.items() if item[0] > 0 or name in ("Spent", "Left")}
    whole = max(1.0, spent + reserved + this_run)
    widths = [
        f'<i style="width: {100 * share / whole:.3f}%; background: {colour}"></i>'
        for name, (share, colour) in shown.items()
        if name != "Left"
    ]
    key = [
        f'<span><i style="background: {colour}"></i>{name} {percent(share)}</span>'
        for name, (share, colour) in shown.items()
    ]
    sentence = ", ".join(f"{name.lower()} {percent(share)}" for name, (share, _) in shown.items())
    st.html(
        f'<div class="vips-budget"><div class="bar" role="img" aria-label="Budget: {sentence}">'
        f'{"".join(widths)}</div><div class="key" aria-hidden="true">{"".join(key)}</div></div>'
    )

"""The budget of a private data set as one bar: spent, reserved, what a run would take, and what is left."""

import streamlit as st

from vips_core.reports.figures import BLUE, PURPLE, VERMILION
from vips_core.store.budget import percent

_LEFT = "color-mix(in srgb, currentColor 14%, transparent)"
_STRIPES = (
    f"repeating-linear-gradient(45deg, {VERMILION} 0 4px, color-mix(in srgb, {VERMILION} 55%, white) 4px 7px)"
)


def show(spent: float, reserved: float = 0.0, this_run: float = 0.0) -> None:
    """Draw shares of the cap, of which the rest is left; more than all of it fills the bar."""
    st.html(drawn(spent, reserved, this_run))


def drawn(spent: float, reserved: float = 0.0, this_run: float = 0.0) -> str:
    """Return the bar with its key, as HTML that a screen reader reads as one sentence."""
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
    return (
        f'<div class="vips-budget"><div class="bar" role="img" aria-label="Of the cap: {sentence}">'
        f'{"".join(widths)}</div><div class="key" aria-hidden="true">{"".join(key)}</div></div>'
    )

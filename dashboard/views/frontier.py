"""Frontier: how much usefulness each ε buys, from sweeps over ε, methods and seeds."""

import streamlit as st

from dashboard import frontier, frontier_parts, layout, library, session, sweep_words
from dashboard.background import Later
from dashboard.layout import card


def show() -> None:
    """Draw the page."""
    session.load(frontier.parameters())
    runs = library.store().runs(kind="sweep")
    run = frontier_parts.chosen(runs)
    with st.sidebar:
        frontier_parts.known_sweeps(runs, run)
        frontier_parts.new_sweep()
    layout.header("Privacy against usefulness", sweep_words.INTRODUCTION)
    try:
        found = None if run is None else frontier.standing(run)
    except ValueError as problem:  # its data set is gone
        layout.problem(str(problem))
        found = None
    if run is None or found is None:
        session.save(frontier.parameters())
        frontier_parts.invitation()
        return
    with layout.fresh("frontier", (run.id, run.status, bool(found.done))):
        place = frontier_parts.progress(run, found)
        frontier_parts.curves(found)
        session.save(frontier.parameters())
        with Later() as later:
            drawn = None if run.status in library.ALIVE else later(frontier.other_drawings, *_key(run))
            for drawing in drawn or []:
                with card(drawing.title, drawing.caption):
                    frontier_parts.drawing(drawing)
    if run.status in library.ALIVE:
        frontier_parts.wait(run, place)


def _key(run: library.RunRow) -> tuple[str, str, int]:
    return str(library.store().home), run.id, run.step

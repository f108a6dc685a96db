"""Parts of the Frontier page: lists and forms, how far a sweep is, its curves, and what they say."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import background, components, frontier, layout, library, reports, session, sweep_words
from dashboard.formats import number
from dashboard.layout import card
from vips_core.reports.drawings import Drawing
from vips_core.reports.figures import METHOD_NAMES
from vips_core.runs import supervisor
from vips_core.runs.rows import RunRow
from vips_core.runs.tasks import TASKS

_POLL, _REDRAW = 0.5, 3.0  # seconds


def chosen(runs: Sequence[RunRow]) -> RunRow | None:
    """Return the sweep that the address names, otherwise the newest; None where there is none."""
    known = {run.id: run for run in runs}
    name = session.get("sweep")
    if name is not None and name not in known:
        session.complain(f"In the address, there is no sweep {name!r}.")
    if name not in known:
        session.put("sweep", next(iter(known), None))
    return known.get(session.get("sweep"))


def known_sweeps(runs: Sequence[RunRow], run: RunRow | None) -> None:
    """List the sweeps."""
    if run is not None:
        names = {item.id: sweep_words.label(item) for item in runs}
        key = f"sweep:{len(names)}:{run.id}"

        @session.whole
        def take() -> None:
            for name, value in (("sweep", session.state[key]), ("score", None), ("utility", None)):
                session.change(name, value)

        st.selectbox(
            "Sweep", list(names), list(names).index(run.id), key=key, format_func=names.get, on_change=take
        )


def new_sweep() -> None:
    """Show the form for a sweep."""
    preset = components.choice(frontier.PRESET)
    if preset == frontier.OWN:
        _own_grid()
    else:
        components.choice(frontier.SIZE, as_buttons=True)
    try:
        sweep = frontier.wanted()
        cells = len(sweep.cells())
    except ValueError as problem:
        layout.problem(str(problem))
        return
    st.button(
        f"Start {cells:,} cells", type="primary", icon=":material/play_arrow:", width="stretch",
        key="start-sweep", on_click=frontier.start, args=(sweep.to_mapping(),),
    )  # fmt: skip
    st.caption(sweep_words.PUBLIC_ONLY)


def _own_grid() -> None:
    model = components.choice(frontier.MODEL)
    names = frontier.public_data(model)
    if session.get("data") not in names:
        session.put("data", names[0])
    key = f"sweep-data:{model}"
    st.selectbox(
        "Data", names, names.index(session.get("data")), key=key,
        on_change=session.takes("data", key),
    )  # fmt: skip
    methods = list(TASKS[model].methods)
    kept = [name for name in session.get("methods").split(",") if name in methods] or methods[:1]
    session.put("methods", ",".join(kept))
    method_key = f"sweep-methods:{model}"
    st.multiselect(
        "Methods", methods, kept, key=method_key, format_func=lambda name: METHOD_NAMES[name],
        on_change=session.takes("methods", method_key, lambda chosen: ",".join(chosen) or methods[0]),
    )  # fmt: skip
    st.text_input(
        "Values of ε", session.get("epsilons"), key="sweep-epsilons", max_chars=200, on_change=_take_epsilons,
        help="Numbers with commas between them.",
    )  # fmt: skip
    components.number_with_slider(frontier.SEEDS)


@session.whole
def _take_epsilons() -> None:
    text = session.state["sweep-epsilons"]
    try:
        session.change("epsilons", frontier.EPSILONS.parse(text))
    except ValueError:
        session.complain(f"Values of ε must be numbers with commas between them, got {text[:40]!r}.")


def invitation() -> None:
    """Say what a sweep is, where there is none."""
    with card("No sweep yet"):
        st.markdown(sweep_words.INVITATION)
        st.markdown("Choose one on the left and press **Start**.")


def progress(run: RunRow, found: frontier.Standing) -> Any:
    """Say how far the sweep is, with what can be done about it; return the place of its bar."""
    with card(run.request.get("title") or run.id):
        bar = st.empty()
        _bar(bar, run, found)
        for sentence in found.failed:
            layout.problem(f"Some cells failed: {sentence}")
        with st.container(horizontal=True):
            if run.status in library.ALIVE:
                st.button(
                    "Cancel", key="cancel", icon=":material/stop_circle:", on_click=_cancel, args=(run.id,)
                )
            elif found.done < found.total:
                st.button(
                    "Resume", key="resume", icon=":material/resume:", type="primary",
                    on_click=frontier.start, args=(dict(run.request),),
                )  # fmt: skip
            if found.done:
                reports.buttons(run.id)
        figure = frontier.filled_cells(found.filled)
        if figure is not None:
            st.caption(sweep_words.CELLS)
            components.plot(figure, "cells", sweep_words.CELLS_ALT)
    return bar


def _bar(place: Any, run: RunRow, found: frontier.Standing) -> None:
    if run.status in library.ALIVE:
        share = run.step / run.steps if run.steps and run.step else found.done / max(1, found.total)
        place.progress(min(1.0, share), f"{run.step:,} of {run.steps:,} cells")
    else:
        place.markdown(sweep_words.state(run, found))


@session.whole
def _cancel(run_id: str) -> None:
    try:
        library.store().cancel(run_id)
    except ValueError as problem:
        session.complain(str(problem))


def wait(run: RunRow, place: Any) -> None:
    """Follow a live sweep, and draw the page again when cells have come; any input ends the wait."""
    start = time.monotonic()
    while True:
        background.pause(_POLL)
        supervisor.start(library.store())
        now = library.store().run(run.id)
        due = now.step != run.step and time.monotonic() - start > _REDRAW
        if now.status != run.status or due:
            st.rerun()
        place.progress(min(1.0, now.step / max(1, now.steps)), f"{now.step:,} of {now.steps:,} cells")


def curves(found: frontier.Standing) -> None:
    """Show a score against ε, and the smallest ε that reaches a utility, as soon as there are results."""
    names = frontier.scores(found)
    if not names:
        return
    score = session.get("score") if session.get("score") in names else names[0]
    session.put("score", score)
    drawn = next((item for item in found.drawn if f"Held-out {score} against" in item.title), None)
    if drawn is None:
        return
    left, right = st.columns([3, 2], gap="medium")
    with right, card("The ε that a utility costs"):
        _score_choice(names, score)
        utility = _utility(found, score)
        table = frontier.smallest_epsilon(found.cells, score, utility)
        components.text_table(readable(table))
        st.caption(sweep_words.smallest(score, utility, sweep_words.seeds(found, score)))
        components.csv_button(table, "smallest-epsilon")
    with left, card(drawn.title, drawn.caption):
        figure = frontier.with_utility(drawn.figure, utility)
        components.chart(figure, "frontier", sweep_words.CURVES_ALT, lambda: drawn.table)


def _score_choice(names: Sequence[str], score: str) -> None:
    @session.whole
    def take() -> None:
        session.change("score", session.state[f"score:{score}"])
        session.put("utility", None)

    st.selectbox("Utility", names, list(names).index(score), key=f"score:{score}", on_change=take)


def _utility(found: frontier.Standing, score: str) -> float:
    low, high, usual = frontier.bounds(found.cells, score)
    digits = 3 if high - low < 20 else 0
    low, high = round(low, digits), round(high, digits)
    step = 10.0**-digits
    if high - low < 2 * step:
        low, high = low - step, high + step
    value = session.get("utility")
    value = round(min(max(usual if value is None else value, low), high), digits)
    session.put("utility", value)
    components.plain_slider(dataclasses.replace(frontier.UTILITY, low=low, high=high), step)
    return value


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The smallest ε for people."""
    beyond = table["Largest ε tested"].map(lambda value: f"above {number(value)}")
    shown = table["Smallest ε"].map(number).where(table["Smallest ε"].notna(), beyond)
    return table.assign(**{"Smallest ε": shown})[["Method", "Smallest ε", "Runs that reach it there"]]


def drawing(item: Drawing) -> None:
    """Show one of the paper's figures, or a table."""
    if item.figure is None:
        st.dataframe(item.table, hide_index=True, alt=item.title)
        components.csv_button(item.table, item.name)
    else:
        components.chart(item.figure, item.name, item.title, lambda: item.table)

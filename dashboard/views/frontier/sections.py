"""The cards of the Frontier page: how far a sweep is, its curves, what they say, and the paper's exhibits."""

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import state, stored
from dashboard.background import Later
from dashboard.components import downloads, layout, live_runs
from dashboard.components.charts import chart
from dashboard.components.inputs import choice, plain_slider
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, table_twin, text_table
from dashboard.views.frontier import charts, text, utility
from dashboard.views.frontier.data import Curves, Standing
from dashboard.views.frontier.form import start
from dashboard.views.frontier.parameters import BESIDE, SCORE, UTILITY
from sample_data import frontiers
from sample_data.frontiers import Frontier
from vips_core.reports.exhibits import Exhibit
from vips_core.store.rows import RunRow

_REDRAW = 3.0  # seconds
_ROWS, _TALLEST = 8, 360  # rows of the table of settings after which it scrolls, and its pixels then


def origin(name: str) -> None:
    """Say where results come from that come with the project, and offer them as a file."""
    frontier = frontiers.load(name)
    with card("Where these results come from"):
        st.markdown(text.origin(frontier))
        st.caption(layout.protected(stored.store().data_row(frontier.sweep.data).unit))
        csv_button(frontier.cells, name)


def progress(run: RunRow, standing: Standing) -> Any:
    """Say how far the sweep is, with what can be done about it; return the place of its bar."""
    with card(run.request.get("title") or run.id):
        bar = st.empty()
        if run.status in stored.LIVE:
            begun = run.steps and run.step
            _draw_bar(bar, run, run.step / run.steps if begun else standing.done / max(1, standing.total))
        else:
            bar.markdown(text.state(run, standing))
        st.caption(layout.protected(stored.store().data_of(run).unit))
        for sentence in standing.errors:
            layout.problem(f"Some runs failed: {sentence}")
        with st.container(horizontal=True):
            _actions(run, standing)
        with st.expander("Runs of each setting", expanded=standing.done < standing.total, type="compact"):
            st.caption(text.RUNS)
            with st.container(height=_TALLEST if len(standing.settings) > _ROWS else "content"):
                text_table(text.settings_table(standing.settings))
    return bar


def _draw_bar(place: Any, run: RunRow, share: float) -> None:
    place.progress(min(1.0, share), f"{run.step:,} of {run.steps:,} runs")


def _actions(run: RunRow, standing: Standing) -> None:
    if run.status in stored.LIVE:
        live_runs.cancel_button(run.id)
    elif standing.done < standing.total:
        st.button(
            "Resume",
            key="resume",
            icon=":material/resume:",
            type="primary",
            on_click=start,
            args=(run.request,),
        )
    if standing.done:
        downloads.buttons(run.id)


def wait(run: RunRow, place: Any) -> None:
    """Follow a live sweep, and draw the page again when runs have finished."""

    def show(now: Sequence[RunRow]) -> None:
        for run in now:
            _draw_bar(place, run, run.step / max(1, run.steps))

    live_runs.follow([run], show=show, redraw=_REDRAW)


def curves(curves: Curves, beside: Frontier | None = None) -> None:
    """Show a score against ε, and the smallest ε that reaches a utility, as soon as there are results.

    `beside` can be drawn beside a sweep of the visitor's.
    """
    scores = curves.scores
    if not scores:
        return
    score = state.get(SCORE.name) if state.get(SCORE.name) in scores else scores[0]
    state.put(SCORE.name, score)
    exhibit = curves.exhibits[score]
    left, right = st.columns([3, 2], gap="medium")
    with right, card("ε needed for a given usefulness"):
        _score_choice(scores, score)
        st.caption(utility.SCORES[score].explained())
        wanted = _wanted_utility(curves.cells, score)
        table = utility.smallest_epsilon(curves.cells, score, wanted)
        text_table(utility.readable(table))
        st.caption(text.smallest(score, wanted, text.seeds(curves.cells, score)))
        csv_button(table, "smallest-epsilon")
    with left, card(exhibit.title):
        figure = charts.with_wanted(exhibit.figure, wanted)
        chart(figure, "frontier", text.CURVES_ALT, lambda: exhibit.table)
        st.caption(exhibit.caption)
        if beside is not None:
            choice(BESIDE, as_buttons=True)
            st.caption(text.beside(beside, curves.cells))


def _score_choice(scores: Sequence[str], score: str) -> None:
    key = state.widget_key(SCORE.name, "score", len(scores))

    def take(chosen: str) -> None:
        state.change(SCORE.name, chosen)
        state.put(UTILITY.name, None)

    st.selectbox("Utility", scores, scores.index(score), key=key, on_change=state.heeds(key, take))


def _wanted_utility(cells: pd.DataFrame, score: str) -> float:
    low, high = utility.bounds(cells, score)
    digits = 3 if high - low < 20 else 0
    low, high = round(low, digits), round(high, digits)
    step = 10.0**-digits
    if high - low < 2 * step:
        low, high = low - step, high + step
    value = state.get(UTILITY.name)
    if value is None:
        value = utility.separating(cells, score)
    state.put(UTILITY.name, round(min(max(value, low), high), digits))
    return plain_slider(dataclasses.replace(UTILITY, low=low, high=high), step)


def exhibits(slow: Callable[..., list[Exhibit]], *args: Hashable) -> None:
    """Show the paper's other figures and tables, when a slow function has them."""
    with Later() as later:
        for exhibit in later(slow, *args) or []:
            _paper_exhibit(exhibit)


def _paper_exhibit(exhibit: Exhibit) -> None:
    with card(exhibit.title, exhibit.caption):
        if exhibit.figure is None:
            text_table(text.words_of_topics(exhibit.table))
            table_twin(exhibit.name, exhibit.title, lambda: exhibit.table)
        else:
            chart(exhibit.figure, exhibit.name, exhibit.title, lambda: exhibit.table)

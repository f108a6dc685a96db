"""Frontier: the utility that each ε buys, from sweeps over ε, methods and seeds."""

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.background import Later
from dashboard.components import layout, live_runs, stored_runs
from dashboard.components.charts import chart
from dashboard.components.inputs import choice, plain_slider
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, table_twin, text_table
from dashboard.views.frontier import data, form, text, utility
from dashboard.views.frontier.form import BESIDE, PARAMETERS, SCORE, SHIPPED, SWEEP, UTILITY

_REDRAW = 3.0  # seconds between two redraws of a live sweep's curves: drawing them takes about one
_ROWS, _TALLEST = 8, 360  # a longer table of settings scrolls, in this many pixels: it stays on one screen


def show() -> None:
    """Draw the page."""
    state.load(PARAMETERS)
    sweeps = stored.store().runs(kind="sweep")
    run = None if state.get(SWEEP.name) in SHIPPED else stored_runs.chosen_run(sweeps, SWEEP.name)
    if run is None and state.get(SWEEP.name) not in SHIPPED:
        state.put(SWEEP.name, SWEEP.default)
    with st.sidebar:
        stored_runs.run_list(sweeps, run, SWEEP.name, text.label, form.look_at)
        form.new_sweep()
    layout.header("Privacy against utility", text.INTRODUCTION)
    form.results_choice(sweeps)
    if run is None:
        _shipped(state.get(SWEEP.name))
    else:
        _own(run)


def _shipped(name: str) -> None:
    """Show results that come with the project, where they come from, and the paper's other exhibits."""
    with layout.fresh("frontier", name):
        _curves(data.shipped_curves(name))
        state.save(PARAMETERS)
        frontier = data.shipped(name)
        with card("Where these results come from"):
            st.markdown(text.origin(frontier))
            st.caption(layout.protected(stored.store().data_row(frontier.sweep.data).unit))
            csv_button(frontier.cells, name)
        _exhibits(data.shipped_exhibits, name)


def _own(run: stored.RunRow) -> None:
    """Show a sweep of the visitor's: its progress and its curves so far."""
    beside = state.get(BESIDE.name) == "yes"
    try:
        standing = data.standing(run, beside)
    except ValueError as problem:  # its data set was removed
        layout.problem(str(problem))
        state.save(PARAMETERS)
        return
    live = run.status in stored.LIVE
    with layout.fresh("frontier", (run.id, run.status, bool(standing.done))):
        if live:
            bar = _progress(run, standing)
        _curves(standing.curves, data.shipped_beside(run))
        if not live:
            bar = _progress(run, standing)
        state.save(PARAMETERS)
        if not live:
            _exhibits(data.paper_exhibits, str(stored.store().home), run.id, run.step)
    if live:
        live_runs.follow_bar(run, bar, "runs", redraw=_REDRAW)


def _progress(run: stored.RunRow, standing: data.Standing) -> Any:
    """Show a sweep's progress and the actions on it, and return the placeholder of its bar."""
    with card(run.request.get("title") or run.id):
        bar = st.empty()
        if run.status in stored.LIVE:
            live_runs.draw_bar(bar, run, "runs", standing.done / max(1, standing.total))
        else:
            bar.markdown(text.state(run, standing))
        st.caption(layout.protected(stored.store().data_of(run).unit))
        for sentence in standing.errors:
            layout.problem(f"Some runs failed: {sentence}")
        with st.container(horizontal=True):
            if run.status in stored.LIVE:
                live_runs.cancel_button(run.id)
            elif standing.done < standing.total:
                icon, args = ":material/resume:", (run.request,)
                st.button("Resume", key="resume", icon=icon, type="primary", on_click=form.start, args=args)
            if standing.done:
                stored_runs.report_buttons(run.id)
        with st.expander("Runs of each setting", expanded=standing.done < standing.total, type="compact"):
            st.caption(text.RUNS)
            with st.container(height=_TALLEST if len(standing.settings) > _ROWS else "content"):
                text_table(text.settings_table(standing.settings))
    return bar


def _curves(curves: data.Curves, beside: Any = None) -> None:
    """Show a score against ε, and the smallest ε that reaches a utility, once there are results.

    `beside` are shipped results on the same data, which a switch adds to the chart.
    """
    scores = curves.scores
    if not scores:
        return
    score = state.get(SCORE.name) if state.get(SCORE.name) in scores else scores[0]
    state.put(SCORE.name, score)
    exhibit = curves.exhibits[score]
    left, right = st.columns([3, 2], gap="medium")
    with right, card("ε needed for a given utility"):
        _score_choice(scores, score)
        st.caption(utility.score(score).explained())
        wanted = _utility_to_reach(curves, score)
        table = utility.smallest_epsilon(curves.cells, score, wanted)
        text_table(utility.readable(table))
        st.caption(text.smallest(score, wanted, exhibit.table))
        csv_button(table, "smallest-epsilon")
    with left, card(exhibit.title):
        chart(utility.with_wanted(exhibit.figure, wanted), "frontier", text.CURVES_ALT, exhibit.table.copy)
        st.caption(exhibit.caption)
        if beside is not None:
            choice(BESIDE, as_buttons=True)
            st.caption(text.beside(beside, curves.cells))


def _score_choice(scores: Sequence[str], score: str) -> None:
    key = state.widget_key(SCORE.name, "score", len(scores))

    def take(chosen: str) -> None:
        state.change(SCORE.name, chosen)
        state.put(UTILITY.name, None)

    st.selectbox("Score", scores, scores.index(score), key=key, on_change=state.on_widget_change(key, take))


def _utility_to_reach(curves: data.Curves, score: str) -> float:
    """Show a slider over the range of a score, and return its value."""
    low, high = utility.bounds(curves.cells, score)
    digits = max(0, 2 - math.floor(math.log10(high - low))) if high > low else 3  # 100 to 1,000 stops
    low, high, step = round(low, digits), round(high, digits), 10.0**-digits
    if high - low < 2 * step:
        low, high = low - step, high + step
    value = state.get(UTILITY.name)
    if value is None:
        value = utility.separating(curves.cells, score)
    state.put(UTILITY.name, round(min(max(value, low), high), digits))
    return plain_slider(dataclasses.replace(UTILITY, low=low, high=high), step)


def _exhibits(slow: Callable[..., list[Any]], *args: Hashable) -> None:
    """Show the paper's other figures and tables as soon as a slow function returns them."""
    with Later() as later:
        for exhibit in later(slow, *args) or []:
            with card(exhibit.title, exhibit.caption):
                if exhibit.figure is None:
                    text_table(text.words_of_topics(exhibit.table))
                    table_twin(exhibit.name, exhibit.title, exhibit.table.copy)
                else:
                    chart(exhibit.figure, exhibit.name, exhibit.title, exhibit.table.copy)

"""Cards of the Frontier page: score against ε, smallest ε for a utility, and the paper's exhibits."""

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import streamlit as st

from dashboard import state
from dashboard.background import Later
from dashboard.components.charts import chart
from dashboard.components.inputs import choice, plain_slider
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, table_twin, text_table
from dashboard.views.frontier import data, text, utility
from dashboard.views.frontier.form import BESIDE, SCORE, UTILITY


def curves(found: data.Curves, beside: Any = None) -> None:
    """Show a score against ε, and the smallest ε that reaches a utility, once there are results.

    `beside` are shipped results on the same data, which a switch adds to the chart.
    """
    scores = found.scores
    if not scores:
        return
    score = state.get(SCORE.name) if state.get(SCORE.name) in scores else scores[0]
    state.put(SCORE.name, score)
    exhibit = found.exhibits[score]
    left, right = st.columns([3, 2], gap="medium")
    with right, card("ε needed for a given utility"):
        _score_choice(scores, score)
        st.caption(utility.score(score).explained())
        target = _target_utility(found, score)
        table = utility.smallest_epsilon(found.cells, score, target)
        text_table(utility.readable(table))
        st.caption(text.smallest(score, target, exhibit.table))
        csv_button(table, "smallest-epsilon")
    with left, card(exhibit.title):
        chart(utility.with_target(exhibit.figure, target), "frontier", text.CURVES_ALT, exhibit.table.copy)
        st.caption(exhibit.caption)
        if beside is not None:
            choice(BESIDE, as_buttons=True)
            st.caption(text.beside(beside, found.cells))


def _score_choice(scores: Sequence[str], score: str) -> None:
    key = state.widget_key(SCORE.name, "score", len(scores))

    def take(chosen: str) -> None:
        state.change(SCORE.name, chosen)
        state.put(UTILITY.name, None)

    st.selectbox("Score", scores, scores.index(score), key=key, on_change=state.on_widget_change(key, take))


def _target_utility(curves: data.Curves, score: str) -> float:
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


def exhibits(slow: Callable[..., list[Any]], *args: Hashable) -> None:
    """Show the paper's other figures and tables as soon as a slow function returns them."""
    with Later() as later:
        for exhibit in later(slow, *args) or []:
            with card(exhibit.title, exhibit.caption):
                if exhibit.figure is None:
                    text_table(text.words_of_topics(exhibit.table))
                    table_twin(exhibit.name, exhibit.title, exhibit.table.copy)
                else:
                    chart(exhibit.figure, exhibit.name, exhibit.title, exhibit.table.copy)

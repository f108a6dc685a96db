"""Charts on a page, each with its numbers as a table; palette and layout are those of reports."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from plotly.basedatatypes import BaseFigure

from dashboard import state
from dashboard.components.tables import table_twin
from vips_core.reports.figures import (
    BLUE,
    GREY,
    HEIGHT,
    METHOD_COLOURS,
    METHOD_SYMBOLS,
    VERMILION,
    Figure,
    figure,
    log_axis,
    score_title,
)
from vips_core.reports.traces import axis, line, marked_line, note

WAITING = "Computing…"
_FEW_STEPS = 12  # most steps with a tick each
_COLUMNS, _WIDTH, _HEIGHT = 20, 12, 17  # people in a row of the crowd, and the size of a person


def plot(figure: dict[str, Any], name: str, alt: str, **more: Any) -> None:
    """Show a chart alone; `more` goes to `st.plotly_chart`."""
    key, config = f"chart:{name}", {"displayModeBar": False}
    st.plotly_chart(UncheckedFigure(figure), key=key, config=config, alt=alt, **more)


def clickable(
    figure: dict[str, Any], name: str, alt: str, on_click: Callable[[list[Mapping[str, Any]]], None]
) -> None:
    """Show a chart whose points can be clicked; `on_click` gets the clicked ones."""

    def on_select() -> None:
        on_click(state.visit[f"chart:{name}"]["selection"]["points"])

    plot(figure, name, alt, selection_mode="points", on_select=on_select)


class UncheckedFigure(BaseFigure):  # type: ignore[misc]  # Plotly has no types
    """A figure that Plotly does not validate, which would take longer than drawing the page."""

    def __init__(self, figure: dict[str, Any]) -> None:
        self._figure = figure

    def to_dict(self) -> dict[str, Any]:
        """Return the figure."""
        return self._figure


def chart(figure: dict[str, Any] | None, name: str, alt: str, table: Callable[[], pd.DataFrame]) -> None:
    """Show a chart and, on request, its numbers as a table and CSV; None is a chart still being computed."""
    if figure is None:
        waiting()
        return
    plot(figure, name, alt)
    table_twin(name, alt, table)


def waiting() -> None:
    """Hold the place of a chart that is being computed."""
    st.skeleton(height=HEIGHT)
    st.caption(WAITING)


def with_level(figure: Figure, level: float, label: str, colour: str) -> Figure:
    """Return a figure with a dashed horizontal line, labelled on the left."""
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level}
    across["line"] = {"color": colour, "width": 2, "dash": "dash"}
    place = {"xref": "paper", "xanchor": "left", "yanchor": "bottom"}
    name = note(f'<span style="color:{colour}">■</span> {label}', 0, level, **place)
    return figure | {"layout": figure["layout"] | {"shapes": [across], "annotations": [name]}}


def steps_axis(title: str, last: int) -> dict[str, Any]:
    """Return an axis of steps, with whole ticks."""
    return axis(title, rangemode="tozero", **({"dtick": 1} if last <= _FEW_STEPS else {}))


def scores_over_steps(
    scores: Mapping[str, Sequence[tuple[int, float]]],
    labels: Mapping[str, str],
    score: str,
    lines: Mapping[str, float] | None = None,
    planned: Sequence[int] = (),
) -> Figure:
    """Draw a held-out score against iterations, one curve for each method, and baselines as `lines`.

    `planned` holds the total iterations of live runs, so that the axis stays while their curves grow.
    """
    traces = [
        marked_line(
            labels[method],
            [step for step, _ in points],
            [value for _, value in points],
            METHOD_COLOURS[method],
            symbol=METHOD_SYMBOLS[method],
            hover=f"{labels[method]}, iteration %{{x}}: %{{y:.4g}}",
        )
        for method, points in scores.items()
    ]
    ends = planned or [points[-1][0] for points in scores.values()]
    for name, value in (lines or {}).items():
        traces.append(
            line(name, [1, max(ends)], [value, value], GREY, "longdash", hover=f"{name}: %{{y:.4g}}")
        )
    x = steps_axis("Iteration", max(ends)) | ({"range": [0, 1.02 * max(ends)]} if planned else {})
    if max(ends) > 5 * min(ends):  # methods of very different length
        x = log_axis("Iteration (log scale)", 0.0, math.log10(max(ends)) + 0.05)
    return figure(traces, x, axis(score_title(score)))


def score_by_epsilon(epsilons: Sequence[float], scores: NDArray[np.floating], score: str) -> Figure:
    """Draw the median score of several runs at each ε; the last ε is training without privacy."""
    medians, private = np.median(scores, axis=1), epsilons[:-1]
    free = [medians[-1]] * len(private)
    traces = [
        marked_line("Private", private, medians[:-1], BLUE, hover="ε = %{x}: %{y:.4g}"),
        line("Without privacy", private, free, GREY, "dot", hover="Without privacy: %{y:.4g}"),
    ]
    ends = (math.log10(private[0]) - 0.05, math.log10(private[-1]) + 0.05)
    x, y = log_axis("ε (log scale)", *ends), axis(score_title(score))
    return figure(traces, x, y, height=240)


def hundred_people(found: float, sentence: str) -> None:
    """Draw 100 people, `found` of them marked; a fraction of a person is paler."""
    whole = math.floor(found)
    last = range(whole, min(whole + 1, 100))
    paths = [
        f'<path d="{_people(range(100))}" fill="{GREY}" fill-opacity="0.45"/>',
        f'<path d="{_people(range(whole))}" fill="{VERMILION}"/>',
        f'<path d="{_people(last)}" fill="{VERMILION}" fill-opacity="{found - whole:.2f}"/>',
    ]
    width, height = _WIDTH * _COLUMNS, _HEIGHT * 100 // _COLUMNS
    size = f'viewBox="0 0 {width} {height}" width="{3 * width}" height="{3 * height}"'
    svg = f'<svg {size} xmlns="http://www.w3.org/2000/svg">{"".join(paths)}</svg>'
    st.image(svg, width="stretch", alt=sentence)


def _people(places: range) -> str:
    """Return an SVG path of heads and shoulders at these places of the crowd."""
    return "".join(_person(_WIDTH * (place % _COLUMNS), _HEIGHT * (place // _COLUMNS)) for place in places)


def _person(x: float, y: float) -> str:
    head = f"M{x + 3.4:g} {y + 3.7:g}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0z"
    return f"{head}M{x + 1.6:g} {y + 15:g}v-4.4a4.4 3.4 0 0 1 8.8 0v4.4z"

"""Pieces of the lessons' charts: a second plot beside the first, and frames to play and pause."""

from collections.abc import Sequence
from typing import Any

from dashboard import charts
from dashboard.charts import Figure

HEIGHT = 440
_AXIS = {"automargin": True, "zeroline": False, "fixedrange": True}
_MARGIN = {"l": 8, "r": 8, "t": 40, "b": 8}


def line(
    name: str, x: Any, y: Any, colour: str, dash: str = "solid", hover: str = "", **more: Any
) -> dict[str, Any]:
    """Return a line trace."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": colour, "dash": dash, "width": 2.5},
        **({"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}),
        **more,
    }


def point(name: str, x: float, y: float, hover: str, **more: Any) -> dict[str, Any]:
    """Return the marker of the present values."""
    marker = {"size": 13, "color": charts.VERMILION, "line": {"color": "#FFFFFF", "width": 2}}
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [x], "y": [y], "marker": marker,
        "hovertemplate": f"{hover}<extra></extra>", **more,
    }  # fmt: skip


def figure(traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """Return a figure of a lesson's height."""
    return charts.figure(traces, x, y, **{"height": HEIGHT, "margin": _MARGIN, **layout})


def side_by_side(
    left: list[dict[str, Any]],
    right: list[dict[str, Any]],
    axes: Sequence[dict[str, Any]],
    titles: tuple[str, str],
    **layout: Any,
) -> Figure:
    """Return two plots beside each other; `axes` are x and y of the left one, then of the right one."""
    x, y, x2, y2 = axes
    moved = [{**trace, "xaxis": "x2", "yaxis": "y2"} for trace in right]
    return figure(
        left + moved,
        {"domain": [0, 0.45], **x},
        y,
        xaxis2={**_AXIS, "domain": [0.56, 1], "anchor": "y2", **x2},
        yaxis2={**_AXIS, "anchor": "x2", **y2},
        annotations=[heading(titles[0], 0.0), heading(titles[1], 0.56)],
        **{"showlegend": False, **layout},
    )


def heading(text: str, x: float) -> dict[str, Any]:
    """Return the heading of a plot that starts at `x` of the width."""
    return {
        "text": f"<b>{text}</b>", "x": x, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "yshift": 10, "showarrow": False, "font": {"size": 14},
    }  # fmt: skip


def mark(text: str, x: float, y: float, colour: str, axes: str = "", **more: Any) -> dict[str, Any]:
    """Return words at a place of a plot; `axes` is "2" for the right one."""
    return {
        "text": text, "x": x, "y": y, "xref": f"x{axes}", "yref": f"y{axes}", "showarrow": False,
        "font": {"color": colour, "size": 13}, **more,
    }  # fmt: skip


def played(
    figure: Figure, frames: list[dict[str, Any]], first: int, milliseconds: int, rounds: int
) -> Figure:
    """Add frames, with buttons to play them from frame `first` for some rounds and to pause.

    Frames are cut, never blended, and nothing moves by itself: that suits visitors who asked for less motion.
    """
    names = [frame["name"] for frame in frames]
    order = (names[first + 1 :] + names[: first + 1]) * rounds if rounds > 1 else names
    timing = {"frame": {"duration": milliseconds, "redraw": True}, "transition": {"duration": 0}}
    play = {"label": "▶ Play", "method": "animate", "args": [order, {**timing, "mode": "immediate"}]}
    stop = {"frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}, "mode": "immediate"}
    pause = {"label": "❚❚ Pause", "method": "animate", "args": [[None], stop]}
    buttons = {
        "type": "buttons", "direction": "left", "buttons": [play, pause], "showactive": False, "x": 1,
        "xanchor": "right", "y": 1, "yanchor": "bottom", "pad": {"b": 4, "r": 0}, "bgcolor": "#7F8A95",
        "bordercolor": "rgba(0,0,0,0)", "font": {"color": "#FFFFFF", "size": 13},
    }  # fmt: skip
    return {**figure, "frames": frames, "layout": {**figure["layout"], "updatemenus": [buttons]}}

"""Plotly traces in one style: lines, markers, bands and bars."""

from typing import Any

import numpy as np

Trace = dict[str, Any]


def line(name: str, x: Any, y: Any, colour: str, dash: str = "solid", hover: str = "", **more: Any) -> Trace:
    """Return a line.

    Parameters
    ----------
    name
        Name in the legend.
    x, y
        Its points.
    colour, dash
        Both identify the line, so that it can be read without colours.
    hover
        Text at a point, in Plotly's format; none by default.
    more
        Changes to the defaults.

    Returns
    -------
    dict
        A trace as Plotly takes it.

    Examples
    --------
    >>> line("Guessing", [0, 1], [0, 1], "#7F8A95", "dash")["hoverinfo"]
    'skip'
    """
    pen = {"color": colour, "dash": dash, "width": 2.5}
    return _scatter("lines", name, x, y, hover, line=pen) | more


def marked_line(
    name: str,
    x: Any,
    y: Any,
    colour: str,
    dash: str = "solid",
    symbol: str = "circle",
    *,
    hover: str = "",
    **more: Any,
) -> Trace:
    """Return a line with a symbol at each of its points; the rest is as for `line`."""
    marker = {"size": 8, "color": colour, "symbol": symbol}
    return line(name, x, y, colour, dash, hover=hover, mode="lines+markers", marker=marker) | more


def markers(
    name: str, x: Any, y: Any, colour: str, symbol: str = "circle", *, hover: str = "", **more: Any
) -> Trace:
    """Return symbols without a line; the rest is as for `line`."""
    marker = {"size": 9, "color": colour, "symbol": symbol}
    return _scatter("markers", name, x, y, hover, marker=marker) | more


def bars(name: str, values: Any, labels: Any, colour: Any, *, hover: str = "", **more: Any) -> Trace:
    """Return horizontal bars, one for each label."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": values,
        "y": labels,
        "marker": {"color": colour},
        **_hover(hover),
        **more,
    }


def band(x: Any, low: Any, high: Any, colour: str, opacity: float = 0.15, **more: Any) -> Trace:
    """Return the area between two curves over the same x.

    Examples
    --------
    >>> band([1, 2], [0, 0], [3, 4], "#1F83C4")["y"].tolist()
    [0.0, 0.0, 4.0, 3.0]
    """
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([x, np.flip(x)]).astype(float),
        "y": np.concatenate([low, np.flip(high)]).astype(float),
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},{opacity})",
        "hoverinfo": "skip",
        "showlegend": False,
        **more,
    }


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with its title.

    Examples
    --------
    >>> axis("Step", rangemode="tozero")
    {'title': {'text': 'Step'}, 'rangemode': 'tozero'}
    """
    return {"title": {"text": title}, **more}


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Return a text annotation without an arrow."""
    return {"text": text, "x": x, "y": y, "showarrow": False, **more}


def _scatter(mode: str, name: str, x: Any, y: Any, hover: str, **style: Any) -> Trace:
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": y, **style, **_hover(hover)}


def _hover(text: str) -> dict[str, str]:
    return {"hovertemplate": f"{text}<extra></extra>"} if text else {"hoverinfo": "skip"}

"""Building blocks of the lessons' charts: two plots side by side, and frames to play and pause."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dashboard.components.formats import number
from vips_core.kernels import Array
from vips_core.reports import figures
from vips_core.reports.figures import BLUE, GREY, VERMILION, Figure
from vips_core.reports.traces import Trace, line, markers, note

HEIGHT = 440  # pixels; when presenting, presenting.css magnifies the chart and has the same number
PLOT, BETWEEN = 270, 100  # pixels of each stacked plot, and between two of them for axis and heading
ROW = 32  # pixels above a plot for its heading; buttons are above that
_AXIS = {"automargin": True, "zeroline": False, "fixedrange": True}
# At the foot of the figure, below the ticks and title of x, however much space they take.
LEGEND_BELOW = {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"}
SHADE = {"fill": "tozeroy", "fillcolor": "rgba(31,131,196,0.10)"}  # below a blue curve
_MARGIN = {"l": 8, "r": 18, "t": 40, "b": 8}
_LEFT, _RIGHT = [0, 0.45], [0.56, 1]  # shares of the width, with room for the labels of the right y axis
_LARGE_LEFT, _LARGE_RIGHT = [0, 0.42], [0.61, 1]  # the same with room for larger labels
_MOST_LABELS = 7  # large tick labels that fit on a logarithmic axis beside a second plot
_NOTHING: Trace = {
    "type": "scatter",
    "x": [None],
    "y": [None],
    "hoverinfo": "skip",
}  # for empty axes


def point(name: str, x: float, y: float, hover: str, **more: Any) -> Trace:
    """Return the marker of the current values."""
    marker = {"size": 13, "color": VERMILION, "line": {"color": "#FFFFFF", "width": 2}}
    return markers(name, [x], [y], VERMILION, hover=hover, marker=marker, **more)


def figure(traces: list[Trace], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """Return a figure of a lesson's height."""
    return figures.figure(traces, x, y, **{"height": HEIGHT, "margin": _MARGIN, **layout})


def side_by_side(
    left: list[dict[str, Any]],
    right: list[dict[str, Any]],
    axes: Sequence[dict[str, Any]],
    titles: tuple[str, str],
    **layout: Any,
) -> Figure:
    """Return two plots side by side; `axes` are x and y of the left one, then of the right one."""
    x, y, x2, y2 = axes
    moved = [{**trace, "xaxis": "x2", "yaxis": "y2"} for trace in right or [_NOTHING]]
    return figure(
        left + moved,
        {"domain": _LEFT, **x},
        y,
        xaxis2={**_AXIS, "domain": _RIGHT, "anchor": "y2", **x2},
        yaxis2={**_AXIS, "anchor": "x2", **y2},
        annotations=[heading(titles[0], 0.0), heading(titles[1], _RIGHT[0])],
        **{"showlegend": False, **layout},
    )


def presented(figure: Figure) -> Figure:
    """Return a figure whose text, also while it plays, can be read from the back of a lecture hall.

    The sizes are for a small screen; presenting.css magnifies the figure with the window.
    """
    layout = _larger(figure["layout"]) | {"font": {"size": 20}}
    margin = layout["margin"]
    layout["margin"] = {**margin, "t": margin["t"] + 16, "r": margin["r"] + 12}  # half of the last tick label
    layout["legend"] = {**layout.get("legend", {}), "font": {"size": 17}}
    layout["updatemenus"] = [
        {**menu, "font": {**menu["font"], "size": 18}, "pad": {**menu["pad"], "b": menu["pad"]["b"] + 16}}
        for menu in layout.get("updatemenus", [])
    ]
    frames = [{**frame, "layout": _larger(frame.get("layout", {}))} for frame in figure.get("frames", [])]
    return {**figure, "frames": frames, "layout": layout}


def _larger(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Return a layout, or a frame's changes to it, with larger text than the page's theme has."""
    larger = dict(layout)
    for name in [name for name in layout if name.startswith(("xaxis", "yaxis"))]:
        title = {**layout[name].get("title", {}), "font": {"size": 17}}
        larger[name] = {**layout[name], "tickfont": {"size": 17}, "title": title}
        if layout[name].get("type") == "log" and _labels_in_view(layout[name]) > _MOST_LABELS:
            larger[name]["tickvals"] = layout[name]["tickvals"][::2]
            larger[name]["ticktext"] = layout[name]["ticktext"][::2]
        if layout[name].get("domain") in (_LEFT, _RIGHT):
            larger[name]["domain"] = _LARGE_LEFT if layout[name]["domain"] == _LEFT else _LARGE_RIGHT
    if "annotations" in layout:
        larger["annotations"] = [
            {**_in_two_lines(words), "font": {**words.get("font", {}), "size": 18}}
            | ({"x": _LARGE_RIGHT[0]} if words["xref"] == "paper" and words["x"] == _RIGHT[0] else {})
            for words in layout["annotations"]
        ]
    return larger


def _labels_in_view(axis: Mapping[str, Any]) -> int:
    low, high = axis["range"]
    return sum(low <= math.log10(tick) <= high for tick in axis["tickvals"])


def _in_two_lines(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return a headline with its subject on one line and its statement on the next."""
    return {**words, "text": words["text"].replace(":</b> ", ":</b><br>"), "align": "left"}


def stacked(figure: Figure) -> Figure:
    """Return a figure with its plots stacked, for a narrow window."""
    layout = figure["layout"]
    axes = [axis for name, axis in layout.items() if name.startswith("xaxis")]
    parts = sorted(axis["domain"] for axis in axes if "domain" in axis)
    if len(parts) < 2:
        return figure
    top = layout["margin"]["t"] + ROW + 32
    room = {
        "height": top + len(parts) * (PLOT + BETWEEN),
        "margin": {**layout["margin"], "t": top},
        "updatemenus": [
            {**menu, "pad": {**menu["pad"], "b": 2 * ROW + 32}}  # above the headline, not beside it
            for menu in layout.get("updatemenus", [])
        ],
    }
    frames = [{**frame, "layout": _below(frame["layout"], parts)} for frame in figure.get("frames", [])]
    return {**figure, "frames": frames, "layout": {**_below(layout, parts), **room}}


def _below(layout: Mapping[str, Any], parts: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return a layout, or a frame's changes to it, with each plot in a row of its own."""
    whole = len(parts) * (PLOT + BETWEEN) - BETWEEN
    tops = [1 - row * (PLOT + BETWEEN) / whole for row in range(len(parts))]
    moved = dict(layout)
    for name in [name for name in layout if name.startswith("xaxis")]:
        top, y = tops[parts.index(layout[name]["domain"])], name.replace("x", "y", 1)
        moved[name] = {**layout[name], "domain": [0, 1]}
        moved[y] = {**layout[y], "domain": [max(0.0, top - PLOT / whole), top], "showticklabels": True}

    def in_row(words: dict[str, Any]) -> dict[str, Any]:
        if words["xref"] != "paper":
            return words
        row = max(place for place, (start, _) in enumerate(parts) if start <= words["x"])
        start, end = parts[row]
        place = {"x": (words["x"] - start) / (end - start), "y": tops[row] - (1 - words["y"]) * PLOT / whole}
        return {**_in_two_lines(words), **place}

    return moved | {"annotations": [in_row(words) for words in layout["annotations"]]}


def heading(text: str, x: float) -> dict[str, Any]:
    """Return the heading of a plot that starts at `x` of the width."""
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 10}
    return note(f"<b>{text}</b>", x, 1, font={"size": 14}, **place)


def headline(text: str) -> dict[str, Any]:
    """Return the headline of a figure, which may change from frame to frame."""
    return {**heading("", 0), "text": text, "yshift": ROW + 8}


def mark(text: str, x: float, y: float, colour: str, axes: str = "", **more: Any) -> dict[str, Any]:
    """Return a label in a plot; `axes` is "2" for the right one."""
    key = f'<span style="color:{colour}">■</span>'  # the words keep the theme's readable colour
    return note(f"{key} {text}", x, y, xref=f"x{axes}", yref=f"y{axes}", **{"font": {"size": 13}, **more})


def two_worlds(
    x: Array, without_you: Array, with_you: Array, hover: str, places: tuple[float, float], height: float
) -> tuple[list[Trace], list[dict[str, Any]]]:
    """Return the curves of the worlds without and with you, and a label above each at its place."""
    curves = [
        line("Without you", x, without_you, GREY, "dash", hover),
        line("With you", x, with_you, BLUE, "solid", hover, **SHADE),
    ]
    labels = [
        mark("without you", places[0], height, GREY, xanchor="right", xshift=-2),
        mark("with you", places[1], height, BLUE, xanchor="left", xshift=2),
    ]
    return curves, labels


def swept(draw: Callable[[float], Figure], values: Iterable[float], symbol: str) -> Figure:
    """Return the figure at the last of these values, with a frame for each value."""
    frames = []
    for value in values:
        drawn, place = draw(value), f"{symbol} = {number(value)}"
        frames.append({"name": place, "data": drawn["data"], "layout": _moving(drawn["layout"], place)})
    return played(drawn, frames, len(frames) - 1, 700, rounds=1)


def _moving(layout: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a frame's changes to a layout, with the frame's value as headline."""
    axes = {name: axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))}
    return {**axes, "annotations": [*layout.get("annotations", []), headline(f"<b>{text}</b>")]}


def played(
    figure: Figure, frames: list[dict[str, Any]], first: int, milliseconds: int, rounds: int
) -> Figure:
    """Add frames to a figure, with buttons to play them from frame `first` for some rounds and to pause.

    Frames switch without blending, and nothing moves unasked, for visitors who prefer reduced motion.
    """
    names = [frame["name"] for frame in frames]
    order = (names[first + 1 :] + names[: first + 1]) * rounds if rounds > 1 else names
    timing = {"frame": {"duration": milliseconds, "redraw": True}, "transition": {"duration": 0}}
    play = {"label": "▶ Play", "method": "animate", "args": [order, {**timing, "mode": "immediate"}]}
    stop = {"frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}, "mode": "immediate"}
    pause = {"label": "❚❚ Pause", "method": "animate", "args": [[None], stop]}
    buttons = {
        "type": "buttons",
        "direction": "left",
        "buttons": [play, pause],
        "showactive": False,
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": ROW + 8, "r": 0},
        "bgcolor": "#5A6672",
        "bordercolor": "rgba(0,0,0,0)",
        "font": {"color": "#FFFFFF", "size": 13},
    }
    margin = {**figure["layout"]["margin"], "t": 2 * ROW + 20}
    layout = {**figure["layout"], "margin": margin, "updatemenus": [buttons]}
    return {**figure, "frames": frames, "layout": layout}

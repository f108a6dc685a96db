"""Building blocks of the lessons' charts: plots side by side, and frames to play and pause."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from vips_core.kernels import Array
from vips_core.reports import figures
from vips_core.reports.figures import BLUE, GREY, VERMILION, Figure
from vips_core.reports.traces import Trace, bars, line, markers, note

HEIGHT = 440  # pixels; when presenting, presenting.css magnifies the chart and has the same number
PLOT, BETWEEN = 270, 100  # pixels of each stacked plot, and between two of them for axis and heading
ROW = 32  # pixels above a plot for its heading; buttons are above that
_AXIS = {"automargin": True, "zeroline": False, "fixedrange": True}
# At the foot of the figure, below the ticks and title of x, however much space they take.
_LEGEND_BELOW = {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"}
SHADE = {"fill": "tozeroy", "fillcolor": "rgba(31,131,196,0.10)"}  # below a blue curve
_MARGIN = {"l": 8, "r": 18, "t": 40, "b": 8}
_HALVES = ([0, 0.43], [0.6, 1])  # of the width, with room for large labels of the right y axis
_MOST_LABELS = 7  # large tick labels that fit on a logarithmic axis beside a second plot
_NOTHING = line("", [None], [None], GREY)  # for empty axes


@dataclass(frozen=True)
class Plot:
    """One of several plots side by side: heading, traces, axes, and labels at its values."""

    title: str
    traces: list[Trace]
    x: dict[str, Any]
    y: dict[str, Any]
    labels: Sequence[dict[str, Any]] = ()


def point(name: str, x: float, y: float, hover: str) -> Trace:
    """Return the marker of the current values."""
    marker = {"size": 13, "color": VERMILION, "line": {"color": "#FFFFFF", "width": 2}}
    return markers(name, [x], [y], VERMILION, hover=hover, marker=marker)


def columns(name: str, labels: Sequence[str], values: Any, colour: str, hover: str, **more: Any) -> Trace:
    """Return vertical bars, one for each label; `hover` is the format of a value."""
    return bars(name, labels, values, colour, hover=f"{name}: {hover}", orientation="v", **more)


def heat_map(values: NDArray[Any], most: float, negative: str, hover: str = "", **more: Any) -> Trace:
    """Return a map of values: −`most` in one colour, 0 nearly without colour, `most` in blue."""
    scale = [[0, negative], [0.5, "rgba(127,138,149,0.13)"], [1, BLUE]]
    ends = {"zmin": -most, "zmax": most, "colorscale": scale, "showscale": False}
    told = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    return {"type": "heatmap", "z": values, **ends, **told, **more}


def figure(traces: list[Trace], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """Return a figure of a lesson's height, with its legend below."""
    return figures.figure(
        traces, x, y, **{"height": HEIGHT, "margin": _MARGIN, "legend": _LEGEND_BELOW, **layout}
    )


def side_by_side(*plots: Plot, parts: Sequence[list[float]] = _HALVES, **layout: Any) -> Figure:
    """Return plots side by side, each on its part of the width; a plot without traces has empty axes."""
    traces, axes, notes = [], {}, []
    for place, (plot, part) in enumerate(zip(plots, parts, strict=True), 1):
        own = str(place) if place > 1 else ""
        traces += [{**trace, "xaxis": f"x{own}", "yaxis": f"y{own}"} for trace in plot.traces or [_NOTHING]]
        axes[f"xaxis{own}"] = {**_AXIS, "domain": part, "anchor": f"y{own}", **plot.x}
        axes[f"yaxis{own}"] = {**_AXIS, "anchor": f"x{own}", **plot.y}
        notes += [heading(plot.title, part[0])] if plot.title else []
        notes += [{**label, "xref": f"x{own}", "yref": f"y{own}"} for label in plot.labels]
    x, y = axes.pop("xaxis"), axes.pop("yaxis")
    return figure(traces, x, y, **axes, annotations=notes, showlegend=False, **layout)


def presented(figure: Figure) -> Figure:
    """Return a figure whose text, also while it plays, can be read from the back of a lecture hall.

    The sizes are for a small screen; presenting.css magnifies the figure with the window.
    """
    layout = _larger(figure["layout"]) | {"font": {"size": 20}}
    margin = layout["margin"]
    layout["margin"] = {**margin, "t": margin["t"] + 16, "r": margin["r"] + 12}  # half of the last tick label
    layout["legend"] = {**layout["legend"], "font": {"size": 17}}
    layout["updatemenus"] = [
        {**menu, "font": {**menu["font"], "size": 18}, "pad": {**menu["pad"], "b": menu["pad"]["b"] + 16}}
        for menu in layout.get("updatemenus", [])
    ]
    frames = [{**frame, "layout": _larger(frame["layout"])} for frame in figure.get("frames", [])]
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
    if "annotations" in layout:
        larger["annotations"] = [
            {**_in_two_lines(words), "font": {**words["font"], "size": 18}} for words in layout["annotations"]
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


def mark(text: str, x: float, y: float, colour: str, **more: Any) -> dict[str, Any]:
    """Return a label in a plot."""
    key = f'<span style="color:{colour}">■</span>'  # the words keep the theme's readable colour
    return note(f"{key} {text}", x, y, font={"size": 13}, **more)


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
    style = {True: ",.0f", False: ".3g"}  # of whole numbers and of others
    drawn = {f"<b>{symbol} = {value:{style[value % 1 == 0]}}</b>": draw(value) for value in values}
    return played(drawn, list(drawn)[-1])


def played(drawn: Mapping[str, Figure], shown: str, milliseconds: int = 700, rounds: int = 1) -> Figure:
    """Return one of several figures, named by their headlines, with buttons to play all and to pause.

    Several rounds begin after the shown figure and end with it; one round has the given order. Frames switch
    without blending, and nothing moves unasked, for visitors who prefer reduced motion.
    """
    frames = [
        {"name": name, "data": figure["data"], "layout": _moving(figure["layout"], name)}
        for name, figure in drawn.items()
    ]
    names, after = list(drawn), list(drawn).index(shown) + 1
    order = (names[after:] + names[:after]) * rounds if rounds > 1 else names
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
    layout = drawn[shown]["layout"]
    room = {"margin": {**layout["margin"], "t": 2 * ROW + 20}, "updatemenus": [buttons]}
    return {**drawn[shown], "frames": frames, "layout": {**layout, **_moving(layout, shown), **room}}


def _moving(layout: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return what changes in a layout from frame to frame: its axes, its labels and its headline."""
    axes = {name: axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))}
    return {**axes, "annotations": [*layout.get("annotations", []), headline(text)]}

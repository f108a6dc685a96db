"""Charts of the pages as plain Plotly figures; palette and layout are those of reports."""

import base64
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dashboard.formats import number
from vips_core.reports.figures import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    METHOD_COLOURS,
    METHOD_SYMBOLS,
    NO_LEGEND,
    PURPLE,
    VERMILION,
    Array,
    Figure,
    attacker_roc,
    figure,
    log_axis,
)

__all__ = [
    "BLUE", "GREEN", "GREY", "HEIGHT", "METHOD_COLOURS", "METHOD_SYMBOLS", "NO_LEGEND", "PURPLE",
    "VERMILION", "Array", "Figure",
    "accountants_bars", "attacker_roc", "epsilon_over_steps", "epsilon_surface", "figure", "log_axis",
    "more_epochs",
    "scores_over_steps",
]  # fmt: skip
_LINES = {"moments": (BLUE, "solid"), "strong": (VERMILION, "dash"), "pld": (GREEN, "dot")}
_DECADES_FOR_LOG = 1.0


def accountants_bars(labels: Sequence[str], epsilons: Sequence[float]) -> Figure:
    """Horizontal bars of ε on a logarithmic axis where it is known; the first two in colour."""
    known = [(label, value) for label, value in zip(labels, epsilons, strict=True) if math.isfinite(value)]
    shown = [max(value, 1e-6) for _, value in known]
    low, high = math.log10(min(shown)), math.log10(max(shown))
    room = max(high - low, 0.5)
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": shown,
        "y": [label for label, _ in known],
        "text": [number(value) for _, value in known],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [BLUE, VERMILION, *[GREY] * (len(known) - 2)]},
        "hovertemplate": "%{y}: ε = %{text}<extra></extra>",
    }
    x = log_axis("ε (log scale)", low - 0.35 * room, high + 0.25 * room)
    y = {"autorange": "reversed", "automargin": True, "ticks": "", "showgrid": False}
    return figure([bars], x, y, height=60 + 42 * len(known), showlegend=False, margin=NO_LEGEND, bargap=0.35)


def epsilon_over_steps(
    curves: Mapping[str, tuple[Array, Array]], labels: Mapping[str, str], budget: float | None = None
) -> Figure:
    """ε against iterations, one line for each accountant, and the budget where there is one."""
    lines = [(labels[name], *curve, *_LINES[name]) for name, curve in curves.items()]
    if budget is not None:
        ends = next(iter(curves.values()))[0][[0, -1]]
        lines.append((f"Target ε = {budget:g}", ends, np.full(2, budget), PURPLE, "longdash"))
    traces = [
        {
            "type": "scatter",
            "mode": "lines" if steps[-1] > 1 else "markers",
            "name": label,
            "x": steps,
            "y": epsilons,
            "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": f"{label}: ε = %{{y:.3g}}<extra></extra>",
        }
        for label, steps, epsilons, colour, dash in lines
    ]
    spent = np.concatenate([epsilons for _, _, epsilons, _, _ in lines])
    low, high = np.log10(np.clip([spent.min(), spent.max()], 1e-6, None))
    spans = high - low > _DECADES_FOR_LOG
    y = log_axis("ε (log scale)", low - 0.1, high + 0.1) if spans else {"title": {"text": "ε"}}
    x = {"title": {"text": "Iterations"}, "rangemode": "tozero"}
    return figure(traces, x, {"rangemode": "tozero", **y}, hovermode="x unified")


def epsilon_surface(found: Any, point: tuple[float, float, float]) -> Figure:
    """Heat map of ε over noise and batch size, with lines of equal ε and a plan (σ, S, ε) marked.

    `found` has the arrays noise, batches and epsilon (batch × noise); each of its cells can be clicked.
    """
    noise_here, batch_here, epsilon_here = point
    logs, cells = _surface_parts(found)
    level = math.log10(max(epsilon_here, 1e-4))
    crossing = [np.interp(-level, -row, np.log10(found.noise), np.nan, np.nan) for row in logs]
    equal = {
        "type": "scatter",
        "mode": "lines",
        "x": 10 ** np.array(crossing),
        "y": found.batches,
        "line": {"color": "#FFFFFF", "width": 2.5, "dash": "dash"},
        "hoverinfo": "skip",
    }
    here = {
        "type": "scatter",
        "mode": "markers",
        "x": [noise_here],
        "y": [batch_here],
        "marker": {"size": 15, "color": VERMILION, "line": {"color": "#FFFFFF", "width": 2.5}},
        "hovertemplate": f"This plan: ε = {epsilon_here:.3g}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
    x = log_axis("Noise σ (log scale)", *np.log10(found.noise[[0, -1]]))
    y = log_axis("Batch size S (log scale)", *np.log10(found.batches[[0, -1]]))
    labels = _level_labels(found.noise, found.batches, logs)
    drawn = [cells[0], equal, cells[1], here]
    return figure(drawn, x, y, showlegend=False, margin=NO_LEGEND, annotations=labels, hovermode="closest")


@functools.lru_cache(maxsize=16)
def _surface_parts(found: Any) -> tuple[Array, tuple[dict[str, Any], dict[str, Any]]]:
    """Return log ε, the heat map, and its cells as points that can be seen by the mouse alone.

    A visitor who moves σ or S keeps the surface, so that its arrays are packed once.
    """
    logs = np.log10(np.clip(found.epsilon, 1e-4, 1e6))
    bottom, top = max(-2.0, float(logs.min())), min(2.0, float(logs.max()))
    ticks = [exponent for exponent in range(-4, 7) if bottom <= exponent <= top]
    heat = {
        "type": "contour",
        "x": _packed(found.noise),
        "y": _packed(found.batches),
        "z": _packed(logs),
        "zmin": bottom,
        "zmax": top,
        "colorscale": "Cividis",
        "contours": {"coloring": "heatmap", "start": -4, "end": 6, "size": 0.5},
        "line": {"color": "rgba(255,255,255,0.35)", "width": 0.75},
        "colorbar": {
            "title": {"text": "ε", "side": "top"},
            "tickvals": ticks,
            "ticktext": [f"{10.0**exponent:g}" for exponent in ticks],
            "thickness": 14,
            "outlinewidth": 0,
        },
        "hoverinfo": "skip",
    }
    noise, batches = np.meshgrid(found.noise, found.batches)
    cells = {
        "type": "scatter",
        "mode": "markers",
        "x": _packed(noise.ravel()),
        "y": _packed(batches.ravel()),
        "customdata": _packed(found.epsilon.ravel()),
        "marker": {"size": 14, "opacity": 0},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "hovertemplate": "σ = %{x:.3g}, S = %{y:,.0f}<br>ε = %{customdata:.3g}<extra></extra>",
    }
    return logs, (heat, cells)


def _packed(values: Array) -> dict[str, Any]:
    """Return an array as Plotly takes it in binary, which is shorter and faster than text."""
    packed = {"dtype": "f8", "bdata": base64.b64encode(values.astype("<f8").tobytes()).decode()}
    return packed if values.ndim == 1 else packed | {"shape": ", ".join(map(str, values.shape))}


def more_epochs(epochs: Array, factor: Array) -> Figure:
    """Signal over noise against epochs at the same ε and batch size, as multiples of what it is now."""
    here = int(np.abs(factor - 1).argmin())
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": epochs,
        "y": factor,
        "line": {"color": BLUE, "width": 2.5},
        "marker": {
            "size": [13 if index == here else 7 for index in range(epochs.size)],
            "color": [VERMILION if index == here else BLUE for index in range(epochs.size)],
            "opacity": 1,
        },
        "hovertemplate": "%{x:.3g} epochs: %{y:.3g} times<extra></extra>",
    }
    x = log_axis("Epochs (log scale)", math.log10(epochs[0] / 1.4), math.log10(epochs[-1] * 1.4))
    x |= {"tickvals": epochs.tolist(), "ticktext": [f"{value:.3g}" for value in epochs]}
    y = {"title": {"text": "Signal over noise, × now"}, "rangemode": "tozero"}
    return figure([line], x, y, height=280, showlegend=False, margin=NO_LEGEND)


def _level_labels(noise: Array, batches: Array, logs: Array) -> list[dict[str, Any]]:
    """Name the lines of equal ε where they cross one row near the top of the picture."""
    row = int(0.88 * (batches.size - 1))
    falling = logs[row]
    labels = []
    for level in (0.01, 0.1, 1.0, 10.0, 100.0):
        place = math.log10(level)
        x = float(np.interp(-place, -falling, np.linspace(0, 1, noise.size)))
        if 0.06 < x < 0.94:  # not cut by the edge
            x = float(np.interp(x, [0, 1], np.log10(noise[[0, -1]])))
            labels.append(
                {"x": x, "y": math.log10(batches[row]), "text": f"ε = {level:g}", "showarrow": False,
                 "font": {"color": "#FFFFFF", "size": 12}, "bgcolor": "rgba(0,0,0,0.55)", "borderpad": 2}
            )  # fmt: skip
    return labels


def scores_over_steps(
    scores: Mapping[str, Sequence[tuple[int, float]]],
    labels: Mapping[str, str],
    score: str,
    lines: Mapping[str, float] | None = None,
) -> Figure:
    """A held-out score against iterations, one curve for each method, and lines across to compare with."""
    traces: list[dict[str, Any]] = []
    for method, points in scores.items():
        steps, values = zip(*points, strict=True)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": labels[method],
                "x": steps,
                "y": values,
                "line": {"color": METHOD_COLOURS[method], "width": 2.5},
                "marker": {"symbol": METHOD_SYMBOLS[method], "size": 8},
                "hovertemplate": f"{labels[method]}, iteration %{{x}}: %{{y:.4g}}<extra></extra>",
            }
        )
    ends = [points[-1][0] for points in scores.values()]
    for name, value in (lines or {}).items():
        traces.append(
            {"type": "scatter", "mode": "lines", "name": name, "x": [1, max(ends)], "y": [value, value],
             "line": {"color": GREY, "width": 2, "dash": "longdash"}, "hoverinfo": "name+y"}
        )  # fmt: skip
    x: dict[str, Any] = {"title": {"text": "Iteration"}, "rangemode": "tozero"}
    if max(ends) > 5 * min(ends):  # methods of very different length
        x = log_axis("Iteration (log scale)", 0.0, math.log10(max(ends)) + 0.05)
    return figure(traces, x, {"title": {"text": f"Held-out {score}"}})

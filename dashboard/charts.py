"""Charts as plain Plotly figures: one palette, no backgrounds, so that they suit light and dark pages.

Fonts, grid and legend take the page's theme in the browser. Colours derive from Okabe and Ito's
colour-blind-safe set, with contrast of at least 3 against both backgrounds; dashes or labels always say the
same as the colour.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dashboard.formats import number

Array = npt.NDArray[np.float64]
Figure = dict[str, Any]

BLUE, VERMILION, GREEN, PURPLE, GREY = "#1F83C4", "#D55E00", "#009E73", "#B8629B", "#7F8A95"
_LINES = {"moments": (BLUE, "solid"), "strong": (VERMILION, "dash"), "pld": (GREEN, "dot")}
HEIGHT = 400
_CLEAR = "rgba(0,0,0,0)"
_DECADES_FOR_LOG = 1.0
_NO_LEGEND = {"l": 8, "r": 8, "t": 8, "b": 8}


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
    x = _log_axis("ε (log scale)", low - 0.35 * room, high + 0.25 * room)
    y = {"autorange": "reversed", "automargin": True, "ticks": "", "showgrid": False}
    return _figure(
        [bars], x, y, height=60 + 42 * len(known), showlegend=False, margin=_NO_LEGEND, bargap=0.35
    )


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
    y = _log_axis("ε (log scale)", low - 0.1, high + 0.1) if spans else {"title": {"text": "ε"}}
    x = {"title": {"text": "Iterations"}, "rangemode": "tozero"}
    return _figure(traces, x, {"rangemode": "tozero", **y}, hovermode="x unified")


def epsilon_surface(
    noise: Array, batches: Array, epsilon: Array, point: tuple[float, float, float]
) -> Figure:
    """Heat map of ε over noise and batch size, with lines of equal ε and a plan (σ, S, ε) marked."""
    noise_here, batch_here, epsilon_here = point
    logs = np.log10(np.clip(epsilon, 1e-4, 1e6))
    bottom, top = max(-2.0, float(logs.min())), min(2.0, float(logs.max()))
    ticks = [exponent for exponent in range(-4, 7) if bottom <= exponent <= top]
    heat = {
        "type": "contour",
        "x": noise,
        "y": batches,
        "z": logs.astype(np.float32),
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
        "customdata": epsilon.astype(np.float32),
        "hovertemplate": "σ = %{x:.3g}, S = %{y:,.0f}<br>ε = %{customdata:.3g}<extra></extra>",
    }
    level = math.log10(max(epsilon_here, 1e-4))
    crossing = [np.interp(-level, -row, np.log10(noise), np.nan, np.nan) for row in logs]
    equal = {
        "type": "scatter",
        "mode": "lines",
        "x": 10 ** np.array(crossing),
        "y": batches,
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
    }
    x = _log_axis("Noise σ (log scale)", *np.log10(noise[[0, -1]]))
    y = _log_axis("Batch size S (log scale)", *np.log10(batches[[0, -1]]))
    labels = _level_labels(noise, batches, logs)
    return _figure([heat, equal, here], x, y, showlegend=False, margin=_NO_LEGEND, annotations=labels)


def attacker_roc(
    false_positives: Array, true_positives: Array, marks: Sequence[tuple[float, float]]
) -> Figure:
    """Best possible membership test: true against false positive rate, with guessing as reference."""
    best = {
        "type": "scatter",
        "mode": "lines",
        "name": "Best attack",
        "x": false_positives,
        "y": true_positives,
        "line": {"color": BLUE, "width": 2.5},
        "fill": "tozeroy",
        "fillcolor": "rgba(31,131,196,0.10)",
        "hovertemplate": "false alarms %{x:.1%}, found %{y:.1%}<extra></extra>",
    }
    guess = {
        "type": "scatter",
        "mode": "lines",
        "name": "Guessing",
        "x": [0, 1],
        "y": [0, 1],
        "line": {"color": GREY, "width": 1.5, "dash": "dash"},
        "hoverinfo": "skip",
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "0.1, 1 and 5% FPR",
        "x": [x for x, _ in marks],
        "y": [y for _, y in marks],
        "marker": {"size": 9, "color": VERMILION, "symbol": "diamond"},
        "hovertemplate": "false alarms %{x:.1%}, found %{y:.1%}<extra></extra>",
    }
    x = {"title": {"text": "Outsiders falsely accused (FPR)"}, "range": [-0.01, 1], "tickformat": ".0%"}
    y = {"title": {"text": "Participants found (TPR)"}, "range": [0, 1.02], "tickformat": ".0%"}
    return _figure([best, guess, points], x, y)


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


def _log_axis(title: str, low: float, high: float) -> dict[str, Any]:
    """Axis from 10^low to 10^high, with 1, 2, 5 named within few decades and powers of 10 within many."""
    mantissas = (1, 2, 5) if high - low < 2.2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1, max(1, round((high - low) / 8)))
    ticks = [mantissa * 10.0**power for power in powers for mantissa in mantissas]
    return {
        "type": "log",
        "title": {"text": title},
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": [f"{tick:,.0f}" if 1 <= tick < 1e7 else f"{tick:g}" for tick in ticks],
    }


def _figure(traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    base = {
        "xaxis": {"automargin": True, "zeroline": False, "fixedrange": True, **x},
        "yaxis": {"automargin": True, "zeroline": False, "fixedrange": True, **y},
        "height": HEIGHT,
        "margin": {**_NO_LEGEND, "t": 36},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "dragmode": False,
    }
    return {"data": traces, "layout": {**base, **layout}}

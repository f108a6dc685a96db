"""Charts of the Plan page as plain Plotly figures."""

import base64
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dashboard.components.bounds import at_most
from dashboard.views.plan.data import Gain, Surface
from vips_core import ACCOUNTANTS, rounding
from vips_core.kernels import Array
from vips_core.reports.figures import (
    BLUE,
    FOOT,
    GREEN,
    GREY,
    NO_LEGEND,
    PURPLE,
    VERMILION,
    Figure,
    figure,
    log_axis,
    log_ends,
)
from vips_core.reports.traces import markers, note

_LINES = {"moments": (BLUE, "solid"), "strong": (VERMILION, "dash"), "pld": (GREEN, "dot")}

_DECADES_FOR_LOG = 1.2  # of an axis
_LEAST_SPAN = 0.1  # decades of an axis, where one batch size alone is possible


def accountants_dots(labels: Sequence[str], epsilons: Sequence[float]) -> Figure:
    """ε on a logarithmic axis where it is known, a dot for each accountant; the first two in colour."""
    known = [(label, value) for label, value in zip(labels, epsilons, strict=True) if math.isfinite(value)]
    shown = [max(value, FOOT) for _, value in known]
    low, high = math.log10(min(shown)), math.log10(max(shown))
    room = max(high - low, 0.5)
    dots = markers("", shown, [label for label, _ in known], BLUE, hover="%{y}: ε = %{text}") | {
        "text": [at_most(value) for _, value in known],
        "marker": {"size": 12, "color": [BLUE, VERMILION, *[GREY] * (len(known) - 2)]},
    }
    x = log_axis("ε (log scale)", low - 0.35 * room, high + 0.35 * room)
    y = {"autorange": "reversed", "automargin": True, "ticks": ""}
    values = [
        note(text, math.log10(value), row, xanchor="left", xshift=10)
        for row, (text, value) in enumerate(zip(dots["text"], shown, strict=True))
    ]
    layout = {"height": 60 + 38 * len(known), "showlegend": False, "margin": NO_LEGEND}
    return figure([dots], x, y, **layout, annotations=values)


def epsilon_over_steps(curves: Mapping[str, tuple[Array, Array]], budget: float | None = None) -> Figure:
    """ε against iterations, one line for each accountant, and the budget where there is one."""
    lines = [(ACCOUNTANTS[name].label, *curve, *_LINES[name]) for name, curve in curves.items()]
    if budget is not None:
        ends = next(iter(curves.values()))[0][[0, -1]]
        lines.append((f"Target ε = {budget:g}", ends, np.full(2, budget), PURPLE, "longdash"))
    traces = [
        {
            "type": "scatter",
            "mode": "lines" if steps[-1] > 1 else "markers",
            "name": label,
            "x": steps,
            "y": rounding.each_up(epsilons),
            "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": f"{label}: ε = %{{y:.4g}}<extra></extra>",
        }
        for label, steps, epsilons, colour, dash in lines
    ]
    spent = np.concatenate([epsilons for _, _, epsilons, _, _ in lines])
    low, high = log_ends(spent, 0.1)
    spans = high - low > _DECADES_FOR_LOG
    y = log_axis("ε (log scale)", low, high) if spans else {"title": {"text": "ε"}}
    x = {"title": {"text": "Iterations"}, "rangemode": "tozero"}
    return figure(traces, x, {"rangemode": "tozero", **y}, hovermode="x unified")


def epsilon_surface(surface: Surface, plan: tuple[float, float, float]) -> Figure:
    """Heat map of ε over noise and batch size, with lines of equal ε and a plan (σ, S, ε) marked.

    Each cell of the surface can be clicked.
    """
    noise_here, batch_here, epsilon_here = plan
    logs, heat, cells = _surface_layers(surface)
    level = math.log10(max(epsilon_here, 1e-4))
    crossing = [np.interp(-level, -row, np.log10(surface.noise), np.nan, np.nan) for row in logs]
    equal = {
        "type": "scatter",
        "mode": "lines",
        "x": 10 ** np.array(crossing),
        "y": surface.batches,
        "line": {"color": "#FFFFFF", "width": 2.5, "dash": "dash"},
        "hoverinfo": "skip",
    }
    here = {
        "type": "scatter",
        "mode": "markers",
        "x": [noise_here],
        "y": [batch_here],
        "marker": {"size": 15, "color": VERMILION, "line": {"color": "#FFFFFF", "width": 2.5}},
        "hovertemplate": f"This plan: ε = {at_most(epsilon_here)}<extra></extra>",
        "cliponaxis": False,  # a full batch is at the edge
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
    x = log_axis("Noise σ (log scale)", *np.log10(surface.noise[[0, -1]]))
    least, largest = np.log10(surface.batches[[0, -1]])
    y = log_axis("Batch size S (log scale)", least, max(largest, least + _LEAST_SPAN))
    labels = _level_labels(surface.noise, surface.batches, logs)
    layers = [heat, equal, cells, here]
    return figure(layers, x, y, showlegend=False, margin=NO_LEGEND, annotations=labels, hovermode="closest")


@functools.lru_cache(maxsize=16)
def _surface_layers(surface: Surface) -> tuple[Array, dict[str, Any], dict[str, Any]]:
    """Return log ε, the heat map, and its cells as points that can be seen by the mouse alone.

    A visitor who moves σ or S keeps the surface, so that its arrays are packed once.
    """
    logs = np.log10(np.clip(surface.epsilon, 1e-4, 1e6))
    bottom, top = max(-2.0, float(logs.min())), min(2.0, float(logs.max()))
    ticks = [exponent for exponent in range(-4, 7) if bottom <= exponent <= top]
    heat = {
        "type": "contour",
        "x": _packed(surface.noise),
        "y": _packed(surface.batches),
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
    noise, batches = np.meshgrid(surface.noise, surface.batches)
    cells = {
        "type": "scatter",
        "mode": "markers",
        "x": _packed(noise.ravel()),
        "y": _packed(batches.ravel()),
        "customdata": _packed(surface.epsilon.ravel()),
        "marker": {"size": 14, "opacity": 0},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "hovertemplate": "σ = %{x:.3g}, S = %{y:,.0f}<br>ε = %{customdata:.4g}<extra></extra>",
    }
    return logs, heat, cells


def _packed(values: Array) -> dict[str, Any]:
    """Return an array as Plotly takes it in binary, which is shorter and faster than text."""
    packed = {"dtype": "f8", "bdata": base64.b64encode(values.astype("<f8").tobytes()).decode()}
    return packed if values.ndim == 1 else packed | {"shape": ", ".join(map(str, values.shape))}


def more_epochs(gain: Gain) -> Figure:
    """Signal over noise against epochs at the same ε and batch size, as multiples of what it is now."""
    epochs, factor = gain.epochs, gain.factor
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
                {
                    "x": x,
                    "y": math.log10(batches[row]),
                    "text": f"ε = {level:g}",
                    "showarrow": False,
                    "font": {"color": "#FFFFFF", "size": 12},
                    "bgcolor": "rgba(0,0,0,0.55)",
                    "borderpad": 2,
                }
            )
    return labels

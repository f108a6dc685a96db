"""Charts of the Plan page as plain Plotly figures, and their numbers as tables."""

import base64
import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.components.formats import at_most
from dashboard.views.plan.data import SIGNAL, Surface
from vips_core import ACCOUNTANTS, AttackRisk, rounding
from vips_core.kernels import Array
from vips_core.privacy.accountants import Account
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
from vips_core.reports.traces import axis, line, marked_line, markers, note

_LINES = {"moments": (BLUE, "solid"), "strong": (VERMILION, "dash"), "pld": (GREEN, "dot")}
_WHITE = "#FFFFFF"
# A click fades no point.
_UNSELECTED = {name: {"marker": {"opacity": 1}} for name in ("selected", "unselected")}
_DECADES_FOR_LOG = 1.2  # range of ε, in decades, above which its axis is logarithmic
_LEAST_SPAN = 0.1  # least range of the batch axis, in decades: some plans allow one batch size only


def accountants_dots(accounts: pd.DataFrame) -> Figure:
    """Draw a dot at each accountant's finite ε, the first two in colour."""
    known = accounts[np.isfinite(accounts["ε"])]
    shown, texts = known["ε"].clip(lower=FOOT), known["ε"].map(at_most).tolist()
    low, high = math.log10(shown.min()), math.log10(shown.max())
    room = max(high - low, 0.5)
    colours = [BLUE, VERMILION, *[GREY] * (len(known) - 2)]
    marker, hover = {"size": 12, "color": colours}, "%{y}: ε = %{text}"
    dots = markers("", shown, known["Accountant"], BLUE, hover=hover, text=texts, marker=marker)
    x = log_axis("ε (log scale)", low - 0.35 * room, high + 0.35 * room)
    y = {"autorange": "reversed", "automargin": True, "ticks": ""}
    values = [
        note(text, math.log10(value), row, xanchor="left", xshift=10)
        for row, (text, value) in enumerate(zip(texts, shown, strict=True))
    ]
    layout = {"height": 60 + 38 * len(known), "showlegend": False, "margin": NO_LEGEND}
    return figure([dots], x, y, **layout, annotations=values)


def epsilon_over_steps(curves: Mapping[str, pd.DataFrame], budget: float | None = None) -> Figure:
    """Draw ε against iterations, one line for each accountant, and the target if there is one."""
    lines = [(ACCOUNTANTS[name].label, curve, *_LINES[name]) for name, curve in curves.items()]
    if budget is not None:
        ends = next(iter(curves.values())).iloc[[0, -1]]
        lines.append((f"Target ε = {budget:g}", ends.assign(**{"ε": budget}), PURPLE, "longdash"))
    traces = []
    for label, curve, colour, dash in lines:
        steps, epsilons, hover = curve["Iterations"], rounding.each_up(curve["ε"]), f"{label}: ε = %{{y:.4g}}"
        mode = "lines" if steps.iloc[-1] > 1 else "markers"
        traces.append(line(label, steps, epsilons, colour, dash, hover, mode=mode))
    low, high = log_ends(np.concatenate([curve["ε"] for _, curve, *_ in lines]), 0.1)
    y = log_axis("ε (log scale)", low, high) if high - low > _DECADES_FOR_LOG else axis("ε")
    x = axis("Iterations", rangemode="tozero")
    return figure(traces, x, {"rangemode": "tozero", **y}, hovermode="x unified")


def epsilon_surface(surface: Surface, plan: tuple[float, float, float]) -> Figure:
    """Draw a heat map of ε over noise and batch size, with lines of equal ε and a plan (σ, S, ε) marked.

    Every cell of the surface can be clicked.
    """
    noise_here, batch_here, epsilon_here = plan
    logs, heat, cells = _surface_layers(surface)
    level = math.log10(max(epsilon_here, 1e-4))
    crossing = [np.interp(-level, -row, np.log10(surface.noise), np.nan, np.nan) for row in logs]
    equal = line("", 10 ** np.array(crossing), surface.batches, _WHITE, "dash")
    circle = {"size": 15, "color": VERMILION, "line": {"color": _WHITE, "width": 2.5}}
    hover = f"This plan: ε = {at_most(epsilon_here)}"
    here = markers("", [noise_here], [batch_here], VERMILION, hover=hover, marker=circle)
    here |= {"cliponaxis": False, **_UNSELECTED}  # a full batch lies on the edge
    x = log_axis("Noise σ (log scale)", *np.log10(surface.noise[[0, -1]]))
    least, largest = np.log10(surface.batches[[0, -1]])
    y = log_axis("Batch size S (log scale)", least, max(largest, least + _LEAST_SPAN))
    labels = _level_labels(surface.noise, surface.batches, logs)
    layers = [heat, equal, cells, here]
    return figure(layers, x, y, showlegend=False, margin=NO_LEGEND, annotations=labels, hovermode="closest")


@functools.lru_cache(maxsize=16)
def _surface_layers(surface: Surface) -> tuple[Array, dict[str, Any], dict[str, Any]]:
    """Return log ε, the heat map, and its cells as invisible points to hover over and click.

    The surface stays while a visitor moves σ or S, so its arrays are packed once.
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
    hidden: dict[str, Any] = {name: {"marker": {"opacity": 0}} for name in ("selected", "unselected")}
    cells = markers(
        "",
        _packed(noise.ravel()),
        _packed(batches.ravel()),
        BLUE,
        hover="σ = %{x:.3g}, S = %{y:,.0f}<br>ε = %{customdata:.4g}",
        customdata=_packed(surface.epsilon.ravel()),
        marker={"size": 14, "opacity": 0},
        **hidden,
    )
    return logs, heat, cells


def _packed(values: Array) -> dict[str, Any]:
    """Return an array in Plotly's binary form, which is shorter and faster than text."""
    packed = {"dtype": "f8", "bdata": base64.b64encode(values.astype("<f8").tobytes()).decode()}
    return packed if values.ndim == 1 else packed | {"shape": ", ".join(map(str, values.shape))}


def _level_labels(noise: Array, batches: Array, logs: Array) -> list[dict[str, Any]]:
    """Label the lines of equal ε where they cross one row near the top of the chart."""
    row = int(0.88 * (batches.size - 1))
    box = {"font": {"color": _WHITE, "size": 12}, "bgcolor": "rgba(0,0,0,0.55)", "borderpad": 2}
    labels = []
    for level in (0.01, 0.1, 1.0, 10.0, 100.0):
        x = float(np.interp(-math.log10(level), -logs[row], np.linspace(0, 1, noise.size)))
        if 0.06 < x < 0.94:  # not cut off at the edge
            x = float(np.interp(x, [0, 1], np.log10(noise[[0, -1]])))
            labels.append(note(f"ε = {level:g}", x, math.log10(batches[row]), **box))
    return labels


def more_epochs(gain: pd.DataFrame) -> Figure:
    """Draw the signal-to-noise ratio against epochs at the same ε and batch size, relative to the plan's."""
    epochs, _, factor = gain.to_numpy().T
    here = np.arange(epochs.size) == np.abs(factor - 1).argmin()
    dots = {"size": np.where(here, 13, 7), "color": np.where(here, VERMILION, BLUE), "opacity": 1}
    curve = marked_line("", epochs, factor, BLUE, hover="%{x:.3g} epochs: ×%{y:.3g}", marker=dots)
    x = log_axis("Epochs (log scale)", math.log10(epochs[0] / 1.4), math.log10(epochs[-1] * 1.4))
    x |= {"tickvals": epochs, "ticktext": [f"{value:.3g}" for value in epochs]}
    y = axis(SIGNAL, rangemode="tozero")
    return figure([curve], x, y, height=280, showlegend=False, margin=NO_LEGEND)


def accounts_table(accounts: Mapping[str, Account]) -> pd.DataFrame:
    """Return one row for each accountant."""
    answers = [accounts[name] for name in ACCOUNTANTS]
    return pd.DataFrame(
        {
            "Accountant": [accountant.label for accountant in ACCOUNTANTS.values()],
            "ε": np.array([answer.epsilon for answer in answers], float),
            "Why it differs": [accountant.why for accountant in ACCOUNTANTS.values()],
            "Note": [answer.note for answer in answers],
        }
    )


def readable_accounts(accounts: pd.DataFrame) -> pd.DataFrame:
    """Return the accountants' table with short numbers, and with notes beside the reasons."""
    notes = accounts["Note"].map(lambda note: f" *{note}*" if note else "")
    why = accounts["Why it differs"] + notes
    return accounts.assign(**{"ε": accounts["ε"].map(at_most), "Why it differs": why}).drop(columns="Note")


def trajectories_table(curves: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return ε over the iterations, one row for each point."""
    labelled = {ACCOUNTANTS[name].label: curve for name, curve in curves.items()}
    return pd.concat(labelled, names=["Accountant"]).reset_index("Accountant")


def surface_table(surface: Surface) -> pd.DataFrame:
    """Return the surface, one row for each cell."""
    batch, noise = np.meshgrid(surface.batches, surface.noise, indexing="ij")
    epsilon = surface.epsilon.ravel()
    return pd.DataFrame({"Batch size S": batch.ravel(), "Noise σ": noise.ravel(), "ε (moments)": epsilon})


def roc_table(risk: AttackRisk) -> pd.DataFrame:
    """Return the attacker's ROC."""
    return pd.DataFrame(dict(zip(("False positive rate", "True positive rate"), risk.curve(), strict=True)))

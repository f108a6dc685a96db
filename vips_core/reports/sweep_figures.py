"""Figures of sweeps: scores against ε, batch size and step, and ε against noise."""

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from vips_core import rounding
from vips_core.models.task import NON_PRIVATE
from vips_core.reports import figures
from vips_core.reports.figures import Figure, figure, log_axis
from vips_core.reports.traces import Trace, axis, band, line, marked_line

if TYPE_CHECKING:
    import pandas as pd

SHIFT = 0.05  # largest sideways shift of a curve, in natural logs of x: 5 %
_ACCOUNTANT_COLOURS = (figures.VERMILION, figures.BLUE, figures.GREEN, figures.PURPLE, figures.OCHRE)
_DECADES_FOR_LOG = 1.0  # range of a score above which its axis is logarithmic


def against_epsilon(summary: "pd.DataFrame", score: str) -> Figure:
    """Draw a score against ε with bars of one standard deviation, and horizontal lines for methods without ε.

    `summary` has the columns line, method, epsilon, mean and sd; `line` names a curve.
    """
    finite = sorted(set(summary["epsilon"].dropna()))
    low, high = finite[0] / 1.3, finite[-1] * 1.3
    traces = _curves_side_by_side(summary[summary["epsilon"].notna()], "epsilon")
    traces += _levels(summary[summary["epsilon"].isna()], [low, high])
    x = log_axis("ε (log scale)", math.log10(low), math.log10(high))
    if all(float(f"{value:.1g}") == value for value in finite):  # round values, as a user gives them
        x |= {"tickvals": finite, "ticktext": [f"{value:g}" for value in finite]}
    return _fitted_to_legend(figure(traces, x, _score_axis(score, summary["mean"])))


def against_batch(summary: "pd.DataFrame", score: str) -> Figure:
    """Draw a score against the batch size, with columns and bars as in `against_epsilon`."""
    traces = _curves_side_by_side(summary, "expected_batch")
    ticks = sorted({int(size) for size in summary["expected_batch"]})
    ends = math.log10(min(ticks) / 1.2), math.log10(max(ticks) * 1.2)
    x = log_axis("Batch size S (log scale)", *ends)
    x |= {"tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}
    return figure(traces, x, _score_axis(score, summary["mean"]))


def epsilon_against_noise(table: "pd.DataFrame") -> Figure:
    """Draw ε against the noise, from columns accountant, batch, noise_multiplier and epsilon."""
    colours = dict(zip(table["accountant"].unique(), _ACCOUNTANT_COLOURS, strict=False))
    dashes = dict(zip(table["batch"].unique(), figures.DASHES, strict=False))
    traces = [
        marked_line(
            f"{accountant}, S = {batch:,}",
            curve["noise_multiplier"].tolist(),
            rounding.each_up(curve["epsilon"]),
            colours[accountant],
            dashes[batch],
            hover=f"{accountant}, S = {batch:,}: σ = %{{x:.3g}}, ε = %{{y:.4g}}",
        )
        for (accountant, batch), curve in table.groupby(["accountant", "batch"], sort=False)
    ]
    noises, epsilons = table["noise_multiplier"], np.log10(table["epsilon"])
    x = axis("Noise multiplier σ", range=[noises.min() - 0.05, noises.max() + 0.05])
    y = log_axis("ε (log scale)", epsilons.min() - 0.05, epsilons.max() + 0.05)
    return _fitted_to_legend(figure(traces, x, y))


def score_per_step(summary: "pd.DataFrame", score: str) -> Figure:
    """Draw a held-out score after each step, with a band of one standard deviation over seeds."""
    traces = []
    for index, (name, method, part) in enumerate(_lines(summary)):
        part = part.sort_values("step")
        steps, mean, sd = part["step"].tolist(), part["mean"], part["sd"].fillna(0.0)
        if (sd > 0).any():
            traces.append(band(steps, mean - sd, mean + sd, figures.METHOD_COLOURS[method]))
        curve = _curve(name, method, part, "step", figures.DASHES[index % len(figures.DASHES)])
        traces.append(curve | {"mode": "lines", "error_y": {"visible": False}})
    x = axis("Step", rangemode="tozero")
    return figure(traces, x, _score_axis(score, summary["mean"]))


def _lines(summary: "pd.DataFrame") -> list[tuple[str, str, "pd.DataFrame"]]:
    groups = summary.groupby("line", sort=False)
    return [(str(name), str(part["method"].iloc[0]), part) for name, part in groups]


def _fitted_to_legend(drawn: Figure) -> Figure:
    """Make a figure taller for a long legend, so that its curves keep their height."""
    names, layout = sum(trace.get("showlegend", True) for trace in drawn["data"]), drawn["layout"]
    legend = layout["legend"] | {"tracegroupgap": 0}
    return drawn | {"layout": layout | {"height": figures.HEIGHT + 16 * max(0, names - 4), "legend": legend}}


def _curves_side_by_side(summary: "pd.DataFrame", x: str) -> list[Trace]:
    """Return the curves, shifted sideways by up to 5 % so that bars at the same place do not overlap.

    Curves of one method share its colour and differ in their dashes; curves without privacy are dashed.
    """
    lines = sorted(_lines(summary), key=lambda line: line[1] == NON_PRIVATE)
    shifts = np.exp(np.linspace(-SHIFT, SHIFT, len(lines))) if len(lines) > 1 else [1.0]
    dashes = {method: itertools.cycle(figures.DASHES) for _, method, _ in lines}
    return [
        _curve(
            name,
            method,
            part.assign(**{x: shift * part[x]}),
            x,
            "dash" if method == NON_PRIVATE else next(dashes[method]),
        )
        for shift, (name, method, part) in zip(shifts, lines, strict=True)
    ]


def _curve(name: str, method: str, part: "pd.DataFrame", x: str, dash: str) -> Trace:
    part = part.sort_values(x)
    sd = part["sd"].fillna(0.0)
    spread = {"array": sd.tolist(), "visible": bool((sd > 0).any()), "thickness": 1.5, "width": 4}
    return marked_line(
        name,
        part[x].astype(float).tolist(),
        part["mean"].tolist(),
        figures.METHOD_COLOURS[method],
        dash,
        figures.METHOD_SYMBOLS[method],
        hover=f"{name}: %{{y:.4g}}",
        error_y=spread,
    )


def _levels(summary: "pd.DataFrame", ends: list[float]) -> list[Trace]:
    """Return a line for each result without ε, and a band of one standard deviation around it.

    Lines of one method look the same, so the legend names them once.
    """
    traces = list[Trace]()
    for method, results in summary.fillna({"sd": 0.0}).groupby("method", sort=False):
        name, colour = figures.METHOD_NAMES[method], figures.METHOD_COLOURS[method]
        for place, result in enumerate(results.itertuples()):
            mean, sd = float(result.mean), float(result.sd)
            if sd > 0:
                traces.append(band(ends, [mean - sd] * 2, [mean + sd] * 2, colour))
            only = result.line if len(results) == 1 else name
            level = line(only, ends, [mean, mean], colour, "dash", hover=f"{result.line}: %{{y:.4g}}")
            traces.append(level | {"legendgroup": method, "showlegend": place == 0})
    return traces


def _score_axis(score: str, values: "pd.Series") -> dict[str, Any]:
    title, low, high = figures.score_title(score), float(values.min()), float(values.max())
    if low > 0 and math.log10(high / low) > _DECADES_FOR_LOG:
        return log_axis(f"{title} (log scale)", math.log10(low) - 0.1, math.log10(high) + 0.1)
    return axis(title)

"""Charts as plain Plotly figures, for reports and pages: one palette, no backgrounds.

Fonts, grid and legend follow the theme of the page in the browser. Colours derive from Okabe and Ito's
colour-blind-safe set, with contrast of at least 3 against light and dark backgrounds; dashes, symbols or
labels always repeat what a colour means. Plotly itself is not needed here.
"""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vips_core.kernels import Array
from vips_core.models.task import METHODS
from vips_core.reports.traces import Trace, axis, line, marked_line, markers

if TYPE_CHECKING:
    import pandas as pd

Figure = dict[str, Any]

BLUE, VERMILION, GREEN, PURPLE, GREY = "#1F83C4", "#D55E00", "#009E73", "#B8629B", "#7F8A95"
OCHRE = "#A87900"
HEIGHT = 400  # pixels
FOOT = 1e-6  # least ε drawn on a logarithmic axis, which has no place for 0
TRANSPARENT = "rgba(0,0,0,0)"
# At the top of the figure: a legend attached to the plot does not move when the window is resized.
_LEGEND = {"orientation": "h", "x": 0, "yref": "container", "y": 1, "yanchor": "top"}
NO_LEGEND = {"l": 8, "r": 18, "t": 8, "b": 8}  # pixels; on the right, half of the last tick's label
RATES = "false alarms %{x:.1%}, found %{y:.1%}"  # hover text of a point of a ROC
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_COLOURS = (BLUE, VERMILION, PURPLE, GREY, GREEN, OCHRE)
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")

METHOD_NAMES = {name: method.label for name, method in METHODS.items()}
METHOD_COLOURS = dict(zip(METHODS, itertools.cycle(_COLOURS), strict=False))
METHOD_SYMBOLS = dict(zip(METHODS, itertools.cycle(_SYMBOLS), strict=False))


def score_of_run(steps: Sequence[int], values: Sequence[float], score: str) -> Figure:
    """Draw a held-out score during the training of one run."""
    curve = marked_line(score, list(steps), list(values), BLUE, hover="step %{x}: %{y:.4g}")
    x = axis("Step", rangemode="tozero")
    return figure([curve], x, axis(score_title(score)), showlegend=False, margin=NO_LEGEND)


def roc(table: "pd.DataFrame") -> Figure:
    """Draw the ROC curve of one model, with guessing as reference."""
    rates = (table["false positive rate"].to_numpy(), table["true positive rate"].to_numpy())
    curve = line("This model", *rates, BLUE, hover=RATES)
    shares = {"range": [-0.01, 1.02], "tickformat": ".0%"}
    x, y = axis("False positive rate", **shares), axis("True positive rate", **shares)
    return figure([curve, guessing()], x, y)


def attacker_roc(
    false_positives: Array, true_positives: Array, marks: Sequence[tuple[float, float]]
) -> Figure:
    """Draw the best possible membership test: true against false positive rate, with guessing as reference.

    Both axes are logarithmic: attacks that matter raise few false alarms.
    """
    shown = false_positives > 0
    best = line("Best attack", false_positives[shown], true_positives[shown], BLUE, hover=RATES)
    least = float(false_positives[shown][0])
    rates, highest = zip(*marks, strict=True)
    points = markers("At 0.1, 1 and 5% false alarms", rates, highest, VERMILION, "diamond", hover=RATES)
    ends = (math.log10(least), 0.02)
    x, y = (log_axis(title, *ends) for title in ("Outsiders falsely accused", "Participants found"))
    for of in (x, y):
        of["ticktext"] = [f"{100 * tick:g}%" for tick in of["tickvals"]]
    chance = line("Guessing", [least, 1], [least, 1], GREY, "dash")
    return figure([best, chance, points], x, y)


def log_axis(title: str, low: float, high: float) -> dict[str, Any]:
    """Return an axis from 10^low to 10^high.

    Parameters
    ----------
    title
        Its title.
    low, high
        Logarithms of its ends.

    Returns
    -------
    dict
        With ticks at 1, 2, 5 over few decades and at powers of 10 over many.

    Examples
    --------
    >>> log_axis("ε", -1, 0)["ticktext"]
    ['0.1', '0.2', '0.5', '1', '2', '5']
    """
    mantissas: tuple[float, ...] = (1, 2, 5) if high - low < 2.2 else (1,)
    if high - low < 0.35:  # even 1, 2, 5 may leave fewer than two ticks in view
        mantissas = tuple(np.round(np.arange(1, 10, 0.5 if high - low > 0.15 else 0.1), 1))
    powers = range(math.floor(low), math.ceil(high) + 1, max(1, round((high - low) / 8)))
    ticks = [mantissa * 10.0**power for power in powers for mantissa in mantissas]
    return {
        "type": "log",
        "title": {"text": title},
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": [_tick(tick) for tick in ticks],
    }


def log_ends(epsilons: npt.ArrayLike, margin: float) -> tuple[float, float]:
    """Return the ends of a logarithmic axis for these ε, with a margin on both sides.

    Parameters
    ----------
    epsilons
        At least one; values below `FOOT`, such as 0, are drawn there.
    margin
        Margin on each side, in decades.

    Returns
    -------
    tuple of float
        Logarithms, for `log_axis`.

    Examples
    --------
    >>> log_ends([0.0, 0.1, 10.0], 0.5)
    (-6.5, 1.5)
    """
    logs = np.log10(np.maximum(epsilons, FOOT))
    return float(logs.min()) - margin, float(logs.max()) + margin


def _tick(value: float) -> str:
    if value % 1 == 0 and value < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e")


def figure(traces: list[Trace], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """Return traces in the layout that all charts share.

    Parameters
    ----------
    traces
        Plotly traces.
    x, y
        The axes, as changes to the defaults.
    layout
        Other changes to the defaults; a margin changes only the sides that it names.

    Returns
    -------
    dict
        A figure as Plotly takes it.

    Examples
    --------
    >>> figure([], {"title": {"text": "ε"}}, {}, height=300)["layout"]["height"]
    300
    """
    # Labels get the space that they need; measuring them makes Plotly's drawing an eighth slower.
    usual = {"automargin": True, "ticklabeloverflow": "allow", "zeroline": False, "fixedrange": True}
    base = {
        "xaxis": {**usual, **x},
        "yaxis": {**usual, **y},
        "height": HEIGHT,
        "legend": _LEGEND,
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "dragmode": False,
    }
    margin = {**NO_LEGEND, "t": 41, **_label_margins(x, y), **layout.pop("margin", {})}
    return {"data": traces, "layout": {**base, "margin": margin, **layout}}


def _label_margins(x: dict[str, Any], y: dict[str, Any]) -> dict[str, float]:
    """Return the pixels that axis labels usually take: given less, Plotly draws everything twice."""
    margins = {}
    if _is_numbered(x):
        margins["b"] = 67.0
    if _is_numbered(y):
        margins["l"] = 84.0
    elif names := y.get("ticktext") or y.get("categoryarray"):
        margins["l"] = 17.0 + max(map(_width, names))
    return margins


def _width(label: str) -> float:
    """Return the approximate width in pixels of a label, which may have several lines."""
    return max(sum(3.5 if letter in " ,.fijlrt" else 7.0 for letter in line) for line in label.split("<br>"))


def _is_numbered(axis: dict[str, Any]) -> bool:
    """Whether an axis has a title and numbers, and is alone on its side."""
    return "title" in axis and "domain" not in axis and bool(axis.get("showticklabels", True))


def guessing(name: str = "Guessing", end: float = 1.0) -> Trace:
    """Return the diagonal that serves as reference in charts of two rates."""
    return line(name, [0, end], [0, end], GREY, "dash")


def calibration(table: "pd.DataFrame") -> Figure:
    """Draw observed shares of cases against predicted risks, with the line of equality."""
    predicted, observed = table["predicted"].to_numpy(), table["observed"].to_numpy()
    end = 1.05 * float(max(max(predicted), max(observed)))
    points = marked_line(
        "This model", predicted, observed, BLUE, hover="%{x:.1%} predicted, %{y:.1%} observed"
    )
    return figure(
        [points, guessing("Predicted = observed", end)],
        axis("Predicted risk", tickformat=".0%"),
        axis("Observed share of cases", tickformat=".0%"),
    )


def score_title(score: str) -> str:
    """Return the title of the axis of a score."""
    return f"Held-out {score}"

"""Charts as plain Plotly figures, for reports and pages: one palette, no backgrounds.

Fonts, grid and legend take the theme of the page in the browser. Colours derive from Okabe and Ito's
colour-blind-safe set, with contrast of at least 3 against light and dark backgrounds; dashes, symbols or
labels always say the same as the colour. Plotly itself is not needed here.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]
Figure = dict[str, Any]

BLUE, VERMILION, GREEN, PURPLE, GREY = "#1F83C4", "#D55E00", "#009E73", "#B8629B", "#7F8A95"
OCHRE = "#A87900"
HEIGHT = 400
CLEAR = "rgba(0,0,0,0)"
NO_LEGEND = {"l": 8, "r": 8, "t": 8, "b": 8}
METHOD_COLOURS = {
    "refined": BLUE,
    "paper": VERMILION,
    "strong": PURPLE,
    "non-private": GREY,
    "sgd": GREEN,
    "perm": OCHRE,
}
METHOD_NAMES = {
    "refined": "Refined",
    "paper": "Paper",
    "strong": "Strong composition",
    "non-private": "Non-private",
    "sgd": "DP-SGD",
    "perm": "Objective perturbation",
}
METHOD_SYMBOLS = {
    "refined": "circle", "paper": "square", "strong": "diamond",
    "non-private": "triangle-up", "sgd": "cross", "perm": "triangle-down",
}  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_DECADES_FOR_LOG = 1.0
SHIFT = 0.05


def against_epsilon(summary: "pd.DataFrame", score: str) -> Figure:
    """A score against ε with bars of one standard deviation; lines across for what has no ε.

    `summary` has the columns line, method, epsilon, mean and sd; `line` names a curve.
    """
    finite = sorted(set(summary["epsilon"].dropna()))
    low, high = finite[0] / 1.3, finite[-1] * 1.3
    noisy = summary[summary["epsilon"].notna()]
    traces = _apart(
        [_curve(name, method, part, "epsilon", _dash(noisy, name)) for name, method, part in _lines(noisy)]
    )
    for name, method, part in _lines(summary[summary["epsilon"].isna()]):
        traces += _across(name, method, part, (low, high))
    x = log_axis("ε (log scale)", math.log10(low), math.log10(high))
    if all(float(f"{value:.1g}") == value for value in finite):  # round values, as a user gives them
        x |= {"tickvals": finite, "ticktext": [f"{value:g}" for value in finite]}
    return figure(traces, x, _score_axis(score, summary["mean"]))


def against_batch(summary: "pd.DataFrame", score: str) -> Figure:
    """A score against the batch size with bars of one standard deviation; columns as in `against_epsilon`."""
    sizes = summary["expected_batch"]
    traces = _apart(
        [
            _curve(name, method, part, "expected_batch", _dash(summary, name))
            for name, method, part in sorted(_lines(summary), key=lambda line: line[1] == "non-private")
        ]
    )
    ticks = sorted({int(size) for size in sizes})
    x = {
        "type": "log",
        "title": {"text": "Batch size S (log scale)"},
        "range": [math.log10(min(ticks) / 1.2), math.log10(max(ticks) * 1.2)],
        "tickvals": ticks,
        "ticktext": [f"{tick:,}" for tick in ticks],
    }
    return figure(traces, x, _score_axis(score, summary["mean"]))


def epsilon_against_noise(
    curves: Mapping[str, Mapping[int, tuple[Sequence[float], Sequence[float]]]],
) -> Figure:
    """ε against the noise: accountant's label to batch size to (noise multipliers, ε)."""
    colours = (VERMILION, BLUE, GREEN, PURPLE, OCHRE)
    traces, values, noises = [], [], []
    for colour, (label, by_batch) in zip(colours, curves.items(), strict=False):
        for dash, (batch, (noise, epsilon)) in zip(_DASHES, by_batch.items(), strict=False):
            name = f"{label}, S = {batch:,}"
            values += list(epsilon)
            noises += list(noise)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "x": list(noise),
                    "y": list(epsilon),
                    "line": {"color": colour, "dash": dash, "width": 2},
                    "marker": {"size": 6, "color": colour},
                    "hovertemplate": f"{name}: σ = %{{x:.3g}}, ε = %{{y:.4g}}<extra></extra>",
                }
            )
    y = log_axis("ε (log scale)", math.log10(min(values)) - 0.05, math.log10(max(values)) + 0.05)
    x = {"title": {"text": "Noise multiplier σ"}, "range": [min(noises) - 0.05, max(noises) + 0.05]}
    return figure(traces, x, y, height=HEIGHT + 80)


def score_per_step(summary: "pd.DataFrame", score: str) -> Figure:
    """A held-out score after each step, with a band of one standard deviation over seeds."""
    traces = []
    for index, (name, method, part) in enumerate(_lines(summary)):
        part = part.sort_values("step")
        steps, mean, sd = part["step"].tolist(), part["mean"], part["sd"].fillna(0.0)
        if (sd > 0).any():
            traces.append(_band(steps, (mean - sd).tolist(), (mean + sd).tolist(), method))
        line = _curve(name, method, part, "step", _DASHES[index % len(_DASHES)])
        traces.append(line | {"mode": "lines", "error_y": {"visible": False}})
    x = {"title": {"text": "Step"}, "rangemode": "tozero"}
    return figure(traces, x, _score_axis(score, summary["mean"]))


def score_of_run(steps: Sequence[int], values: Sequence[float], score: str) -> Figure:
    """A held-out score while one run trained."""
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": score,
        "x": list(steps),
        "y": list(values),
        "line": {"color": BLUE, "width": 2.5},
        "marker": {"size": 6, "color": BLUE},
        "hovertemplate": "step %{x}: %{y:.4g}<extra></extra>",
    }
    x = {"title": {"text": "Step"}, "rangemode": "tozero"}
    return figure([trace], x, {"title": {"text": _axis_title(score)}}, showlegend=False, margin=NO_LEGEND)


def roc(curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]) -> Figure:
    """Receiver operating characteristics: name to (false positive rate, true positive rate)."""
    colours = (BLUE, VERMILION, GREEN, PURPLE, OCHRE, GREY)
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": np.asarray(false_positives, float).tolist(),
            "y": np.asarray(true_positives, float).tolist(),
            "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": f"{name}: false alarms %{{x:.1%}}, found %{{y:.1%}}<extra></extra>",
        }
        for colour, dash, (name, (false_positives, true_positives)) in zip(
            colours, (*_DASHES, "solid"), curves.items(), strict=False
        )
    ]
    x = {"title": {"text": "False positive rate"}, "range": [-0.01, 1.01], "tickformat": ".0%"}
    y = {"title": {"text": "True positive rate"}, "range": [-0.01, 1.02], "tickformat": ".0%"}
    return figure([*traces, _guessing()], x, y)


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
    return figure([best, _guessing(), points], x, y)


def log_axis(title: str, low: float, high: float) -> dict[str, Any]:
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


def figure(traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """Return traces with the layout that all charts share."""
    base = {
        "xaxis": {"automargin": True, "zeroline": False, "fixedrange": True, **x},
        "yaxis": {"automargin": True, "zeroline": False, "fixedrange": True, **y},
        "height": HEIGHT,
        "margin": {**NO_LEGEND, "t": 36},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "dragmode": False,
    }
    return {"data": traces, "layout": {**base, **layout}}


def _lines(summary: "pd.DataFrame") -> list[tuple[str, str, "pd.DataFrame"]]:
    groups = summary.groupby("line", sort=False)
    return [(str(name), str(part["method"].iloc[0]), part) for name, part in groups]


def _dash(summary: "pd.DataFrame", name: str) -> str:
    """Curves of one method share its colour and differ by their dashes; without privacy all are dashed."""
    methods = summary.drop_duplicates("line").set_index("line")["method"]
    if methods[name] == "non-private":
        return "dash"
    same = [line for line in methods.index if methods[line] == methods[name]]
    return _DASHES[same.index(name) % len(_DASHES)]


def _apart(curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move curves sideways by up to 5 %, so that bars at the same place can be told apart."""
    shifts = np.exp(np.linspace(-SHIFT, SHIFT, len(curves))) if len(curves) > 1 else [1.0]
    return [
        curve | {"x": [float(shift * x) for x in curve["x"]]}
        for shift, curve in zip(shifts, curves, strict=True)
    ]


def _curve(name: str, method: str, part: "pd.DataFrame", x: str, dash: str) -> dict[str, Any]:
    part = part.sort_values(x)
    colour = METHOD_COLOURS[method]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": part[x].astype(float).tolist(),
        "y": part["mean"].tolist(),
        "error_y": {
            "array": part["sd"].fillna(0.0).tolist(),
            "visible": bool((part["sd"] > 0).any()),
            "thickness": 1.5,
            "width": 4,
        },
        "line": {"color": colour, "dash": dash, "width": 2.5},
        "marker": {"size": 8, "color": colour, "symbol": METHOD_SYMBOLS[method]},
        "hovertemplate": f"{name}: %{{y:.4g}}<extra></extra>",
    }


def _across(name: str, method: str, part: "pd.DataFrame", ends: tuple[float, float]) -> list[dict[str, Any]]:
    """A line for a result without ε, and a band of one standard deviation around it."""
    mean, sd = float(part["mean"].iloc[0]), float(part["sd"].fillna(0.0).iloc[0])
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(ends),
        "y": [mean, mean],
        "line": {"color": METHOD_COLOURS[method], "dash": "dash", "width": 2},
        "hovertemplate": f"{name}: %{{y:.4g}}<extra></extra>",
    }
    return [_band(list(ends), [mean - sd] * 2, [mean + sd] * 2, method), line] if sd > 0 else [line]


def _band(x: list[Any], low: list[float], high: list[float], method: str) -> dict[str, Any]:
    red, green, blue = (int(METHOD_COLOURS[method][i : i + 2], 16) for i in (1, 3, 5))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x + x[::-1],
        "y": low + high[::-1],
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.15)",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _guessing() -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Guessing",
        "x": [0, 1],
        "y": [0, 1],
        "line": {"color": GREY, "width": 1.5, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _score_axis(score: str, values: "pd.Series") -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    if low > 0 and math.log10(high / low) > _DECADES_FOR_LOG:
        return log_axis(f"{_axis_title(score)} (log scale)", math.log10(low) - 0.1, math.log10(high) + 0.1)
    return {"title": {"text": _axis_title(score)}}


def _axis_title(score: str) -> str:
    return f"Held-out {score}"

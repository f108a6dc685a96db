"""Charts of the Risk page; a method has one colour, dash and symbol everywhere."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dashboard.charts import GREY, HEIGHT, NO_LEGEND, Figure, figure
from dashboard.risk import RATES, Scored, wilson
from vips_core.reports.figures import METHOD_COLOURS, METHOD_NAMES, METHOD_SYMBOLS

_DASHES = {
    "refined": "solid", "paper": "dash", "strong": "dot",
    "non-private": "dashdot", "sgd": "longdash", "perm": "longdashdot",
}  # fmt: skip
_SPREAD = 1e-6  # of reruns that differ
_ROW = 26  # pixels of a predictor in the forest, and of a method in it


def roc(scores: Mapping[str, Scored]) -> Figure:
    """ROC curves with their bands; guessing as reference."""
    bands = [_band(method, RATES, found.low, found.high) for method, found in scores.items()]
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": METHOD_NAMES[method],
            "legendgroup": method,
            "x": RATES,
            "y": found.curve,
            "line": {"color": METHOD_COLOURS[method], "dash": _DASHES[method], "width": 2.5},
            "hovertemplate": f"{METHOD_NAMES[method]}: %{{y:.0%}} found<extra></extra>",
        }
        for method, found in scores.items()
    ]
    axis = {"range": [-0.01, 1.02], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
    x = {"title": {"text": "Non-cases falsely flagged (false positive rate)"}, **axis}
    y = {"title": {"text": "Cases found (true positive rate)"}, **axis}
    return figure([*bands, *lines, _diagonal("Guessing", 1.0)], x, y, hovermode="x unified")


def aucs(scores: Mapping[str, Scored], tall: bool) -> Figure:
    """AUC of each method with its interval; one half is guessing. Tall beside another chart."""
    names = [METHOD_NAMES[method] for method in scores]
    dots = [
        _dots(
            method, [found.auc], [METHOD_NAMES[method]],
            [found.auc - found.interval[0]], [found.interval[1] - found.auc],
        )
        | {"text": [f"{found.auc:.3f}"], "mode": "markers+text", "textposition": "top center"}
        for method, found in scores.items()
    ]  # fmt: skip
    ends = [end for found in scores.values() for end in found.interval]
    low, high = min(0.5, *ends) - 0.02, max(0.5, *ends) + 0.02
    x = {"title": {"text": "Held-out AUC"}, "range": [low, high]}
    y = {"categoryorder": "array", "categoryarray": names[::-1], "range": [-0.6, len(names) - 0.3]}
    layout = {
        "showlegend": False,
        "margin": {**NO_LEGEND, "t": 24},
        "height": HEIGHT if tall else 90 + 46 * len(names),
    }
    layout |= _reference(0.5, "guessing")
    return figure(dots, x, {"showgrid": False, "ticks": "", **y}, **layout)


def forest(table: pd.DataFrame, features: Sequence[str]) -> tuple[Figure, int]:
    """Coefficients with credible intervals, reruns apart below them; also how many lie off the axis."""
    methods = list(dict.fromkeys(table["method"]))
    shown = table[table["feature"].isin(features)]
    shown = shown.assign(name=shown["feature"].map(html.escape))  # Plotly reads some HTML
    guide = pd.concat(_guides(dict(list(shown.groupby("method", sort=False)))))
    limit = 1.1 * float(np.nanmax(np.abs(guide[["mean", "low", "high", "least", "greatest"]].to_numpy())))
    place = {feature: -float(row) for row, feature in enumerate(features)}
    offsets = 0.6 * (0.5 - (np.arange(len(methods)) + 0.5) / len(methods))
    traces, off = [], 0
    for method, offset in zip(methods, offsets, strict=True):
        part = shown[shown["method"] == method]
        at = part["feature"].map(place) + offset
        inside = part["mean"].abs() <= limit
        off += int((~inside).sum())
        traces += [
            _credible(method, part[inside], at[inside]),
            _edge(method, part[~inside], at[~inside], limit, not inside.any()),
        ]
        spread = inside & (part["greatest"] - part["least"] > _SPREAD)
        if spread.any():
            traces.append(_reruns(method, part[spread], at[spread] - 0.27 / len(methods)))
    stripes = [
        {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": -row - 0.5, "y1": -row + 0.5,
         "fillcolor": "rgba(127,138,149,0.10)", "line": {"width": 0}, "layer": "below"}
        for row in range(0, len(features), 2)
    ]  # fmt: skip
    height = max(HEIGHT, 90 + len(features) * (_ROW + 9 * (len(methods) - 1)))
    x = {"title": {"text": "Coefficient (log odds over the predictor's public range)"},
         "range": [-1.03 * limit, 1.03 * limit],
         "zeroline": True, "zerolinecolor": GREY, "zerolinewidth": 1.5}  # fmt: skip
    y = {"tickvals": list(place.values()), "ticktext": [html.escape(name) for name in features],
         "range": [0.5 - len(features), 0.5],
         "showgrid": False, "ticks": ""}  # fmt: skip
    return figure(traces, x, y, height=height, shapes=stripes), off


def calibration(scores: Mapping[str, Scored]) -> tuple[Figure, int]:
    """Predicted against observed risk with Wilson's intervals; also how many groups lie off the axis."""
    guides = [found.calibration for found in _guides(scores)]
    ends = [max(wilson(g.observed, g.records)[1].max(), g.predicted.max()) for g in guides]
    top = min(1.0, 1.05 * float(max(ends)))
    traces, off = [], 0
    for method, found in scores.items():
        groups = found.calibration
        low, high = wilson(groups.observed, groups.records)
        edge = groups.predicted > top
        off += int(edge.sum())
        dots = _dots(method, np.minimum(groups.predicted, top), groups.observed)
        dots["marker"]["symbol"] = np.where(edge, "triangle-right", METHOD_SYMBOLS[method])
        cases = np.rint(groups.observed * groups.records)
        dots |= {
            "mode": "lines+markers",
            "line": {"color": METHOD_COLOURS[method], "dash": _DASHES[method], "width": 1},
            "error_y": _bars(method, groups.observed - low, high - groups.observed) | {"thickness": 1.2},
            "customdata": np.column_stack([groups.predicted, cases, groups.records]),
            "hovertemplate": f"{METHOD_NAMES[method]}: predicted %{{customdata[0]:.1%}}, observed "
            "%{y:.1%} (%{customdata[1]:,.0f} of %{customdata[2]:,.0f})<extra></extra>",
        }
        traces.append(dots)
    axis = {"range": [-0.02 * top, 1.02 * top], "tickformat": ".0%"}
    x = {"title": {"text": "Predicted risk"}, **axis}
    y = {"title": {"text": "Observed share of cases"}, **axis}
    return figure([*traces, _diagonal("As predicted", top)], x, y), off


def person(risks: pd.DataFrame, share: float | None) -> Figure:
    """One person's risk by each method on a scale of log odds; the line is the held-out share of cases."""
    dots = []
    for row in risks.itertuples():
        ends = (row.risk, row.risk) if np.isnan(row.low) else (row.low, row.high)
        below, above = max(row.risk - ends[0], 0.0), max(ends[1] - row.risk, 0.0)
        mark = _dots(row.method, [row.risk], [METHOD_NAMES[row.method]], [below], [above])
        dots.append(mark | {"hovertemplate": "%{y}: risk %{x:.2%}<extra></extra>"})
    most = float(risks[["risk", "high"]].max(axis=None))
    x = {"title": {"text": "Risk"}, "range": [-0.02 * most, 1.05 * most],
         "tickformat": ".0%"}  # fmt: skip
    names = [METHOD_NAMES[method] for method in risks["method"]]
    y = {"categoryorder": "array", "categoryarray": names[::-1], "range": [-0.6, len(names) - 0.4]}
    layout: dict[str, Any] = {"showlegend": False, "height": 100 + 44 * len(names)}
    layout["margin"] = {**NO_LEGEND, "t": 24}
    if share is not None:
        layout |= _reference(share, f"{share:.1%} of held-out people")
        x["range"][1] = max(x["range"][1], 1.6 * share)
    return figure(dots, x, {"showgrid": False, "ticks": "", **y}, **layout)


def _guides(by_method: Mapping[str, Any]) -> list[Any]:
    """Return what an axis has to hold: the first method and the non-private one.

    The paper's variant can lie so far off that nothing else could be seen.
    """
    first = next(iter(by_method))
    return [item for method, item in by_method.items() if method in (first, "non-private")]


def _credible(method: str, part: pd.DataFrame, at: pd.Series) -> dict[str, Any]:
    """Estimates with thick bars, where there is a posterior."""
    dots = _dots(method, part["mean"], at, part["mean"] - part["low"], part["high"] - part["mean"])
    interval = "90% credible interval" if part["low"].notna().any() else "estimate alone"
    return dots | {
        "name": f"{METHOD_NAMES[method]}: {interval}",
        "customdata": part[["name", "low", "high"]].to_numpy(),
        "hovertemplate": "%{customdata[0]}: %{x:.2f} (%{customdata[1]:.2f} to %{customdata[2]:.2f})"
        "<extra></extra>",
    }


def _edge(method: str, part: pd.DataFrame, at: pd.Series, limit: float, alone: bool) -> dict[str, Any]:
    """Estimates beyond the axis, as triangles that point to where they are; named where they are alone."""
    dots = _dots(method, limit * np.sign(part["mean"]), at)
    dots["marker"]["symbol"] = np.where(part["mean"] > 0, "triangle-right", "triangle-left")
    return dots | {
        "name": f"{METHOD_NAMES[method]}: beyond the axis",
        "showlegend": alone,
        "customdata": part[["name", "mean"]].to_numpy(),
        "hovertemplate": "%{customdata[0]}: %{customdata[1]:.3g}<extra></extra>",
    }


def _reruns(method: str, part: pd.DataFrame, at: pd.Series) -> dict[str, Any]:
    """Least and greatest estimate over reruns: thin, dotted, with ticks, unlike a credible interval."""
    gap = np.full(len(part), np.nan)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": f"{METHOD_NAMES[method]}: range over {part['reruns'].max()} runs",
        "x": np.column_stack([part["least"], part["greatest"], gap]).ravel(),
        "y": np.repeat(at.to_numpy(), 3),
        "line": {"color": METHOD_COLOURS[method], "width": 1, "dash": "dot"},
        "marker": {"symbol": "line-ns-open", "size": 7, "color": METHOD_COLOURS[method]},
        "hovertemplate": "reruns: %{x:.2f}<extra></extra>",
    }


def _dots(method: str, x: Any, y: Any, below: Any = None, above: Any = None) -> dict[str, Any]:
    colour = METHOD_COLOURS[method]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": METHOD_NAMES[method],
        "x": x,
        "y": y,
        "marker": {"size": 9, "color": colour, "symbol": METHOD_SYMBOLS[method]},
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
    }
    return trace if below is None else trace | {"error_x": _bars(method, below, above)}


def _bars(method: str, below: Any, above: Any) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "color": METHOD_COLOURS[method],
        "thickness": 2.5,
        "width": 0,
    }


def _band(method: str, x: Any, low: Any, high: Any) -> dict[str, Any]:
    red, green, blue = (int(METHOD_COLOURS[method][i : i + 2], 16) for i in (1, 3, 5))
    return {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": method,
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([low, high[::-1]]),
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.11)",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _reference(x: float, text: str) -> dict[str, Any]:
    """Return a dashed line across a chart with its name above."""
    line = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper",
            "line": {"color": GREY, "dash": "dash", "width": 1.5}}  # fmt: skip
    name = {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "text": text, "showarrow": False,
            "font": {"color": GREY}}  # fmt: skip
    return {"shapes": [line], "annotations": [name]}


def _diagonal(name: str, end: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [0, end],
        "y": [0, end],
        "line": {"color": GREY, "width": 1.5, "dash": "dash"},
        "hoverinfo": "skip",
    }

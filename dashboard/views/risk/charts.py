"""Charts of the Risk page; a method has one colour, dash and symbol everywhere."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dashboard.views.risk.data import ENDS, Scored
from vips_core.models.task import NON_PRIVATE, TASKS
from vips_core.reports.figures import (
    GREY,
    HEIGHT,
    METHOD_COLOURS,
    METHOD_NAMES,
    METHOD_SYMBOLS,
    Figure,
    figure,
    guessing,
)
from vips_core.reports.traces import Trace, axis, band, line, marked_line, markers, note

_STYLES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_DASHES = dict(zip(TASKS["logistic"].methods, _STYLES, strict=True))

_SPREAD = 1e-6  # range over reruns, in log odds, above which they differ
_ROW = 26  # pixels of a predictor, and of a method in it
_LINE = 20  # characters in each of two lines of a predictor's name: more would leave no room for the chart


def roc(curves: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the ROC curves with their bands, and the diagonal of guessing."""
    bands, lines = [], []
    for method, curve in curves.items():
        rates, found, low, high = curve.to_numpy().T
        name, colour, dash = METHOD_NAMES[method], METHOD_COLOURS[method], _DASHES[method]
        bands.append(band(rates, low, high, colour, 0.11, legendgroup=method))
        hover = f"{name}: %{{y:.0%}} found"
        lines.append(line(name, rates, found, colour, dash, hover, legendgroup=method))
    shares = {"range": [-0.01, 1.02], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
    x = axis("Non-cases falsely flagged (false positive rate)", **shares)
    y = axis("Cases found (true positive rate)", **shares)
    return figure([*bands, *lines, guessing()], x, y, hovermode="x unified")


def aucs(scored_runs: Mapping[str, Scored], tall: bool) -> Figure:
    """Draw each method's AUC with its interval; `tall` if another chart stands beside it."""
    rows = [(method, scored.auc, *scored.interval) for method, scored in scored_runs.items()]
    ends = [end for _, *interval in rows for end in interval]
    x = axis("Held-out AUC", range=[min(0.5, *ends) - 0.02, max(0.5, *ends) + 0.02])
    layout = _reference(0.5, "guessing")
    layout["annotations"] += [
        note(f"{auc:.3f}", auc, len(rows) - 1 - row, yshift=13) for row, (_, auc, *_) in enumerate(rows)
    ]
    return _row_each(rows, "%{x:.3f}", x, HEIGHT if tall else 90 + 46 * len(scored_runs), layout)


def calibration(groups: Mapping[str, pd.DataFrame]) -> tuple[Figure, int]:
    """Draw predicted against observed risk, a panel for each method, and count the groups off the axis."""
    top = min(1.0, 1.05 * max(part[["Predicted", ENDS[1]]].max(axis=None) for part in _guides(groups)))
    traces, panels, names, off = [], {}, [], 0
    for place, (method, table) in enumerate(groups.items()):
        number = str(place + 1) if place else ""
        predicted, observed, low, high, people, cases = table.to_numpy().T
        edge = predicted > top
        off += int(edge.sum())
        panel = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        points = _dots(
            method,
            np.minimum(predicted, top),
            observed,
            f"{METHOD_NAMES[method]}: predicted %{{customdata[0]:.1%}}, observed %{{y:.1%}} "
            "(%{customdata[1]:,.0f} of %{customdata[2]:,.0f})",
            symbol=np.where(edge, "triangle-right", METHOD_SYMBOLS[method]),
            error_y=_bars(method, observed - low, high - observed) | {"thickness": 1.2},
            customdata=np.column_stack([predicted, cases, people]),
        )
        traces += [points | panel, guessing("As predicted", top) | panel]
        shares = {"range": [-0.02 * top, 1.02 * top], "tickformat": ".0%", "nticks": 4, "fixedrange": True}
        panels[f"xaxis{number}"] = axis("Predicted", **shares)
        title = "" if place % 2 else "Observed"  # on the right, it would lie on the left panel
        panels[f"yaxis{number}"] = axis(title, **shares)
        corner = {"xref": f"x{number} domain", "yref": f"y{number} domain"}
        names.append(note(METHOD_NAMES[method], 0, 1, xanchor="left", yanchor="bottom", **corner))
    rows, columns = -(-len(groups) // 2), min(2, len(groups))
    grid = {"rows": rows, "columns": columns, "pattern": "independent", "xgap": 0.25, "ygap": 0.4}
    layout = {"showlegend": False, "height": max(HEIGHT, 250 * rows), "annotations": names, "grid": grid}
    return figure(traces, panels.pop("xaxis"), panels.pop("yaxis"), **panels, **layout), off


def person(risks: pd.DataFrame, share: float | None) -> Figure:
    """Draw one person's risk by each method; the line marks the held-out share of cases."""
    most = float(risks[["risk", "high"]].max(axis=None))
    end = 1.05 * most if share is None else max(1.05 * most, 1.6 * share)
    layout = {} if share is None else _reference(share, f"{share:.1%} of held-out people")
    x = axis("Risk", range=[-0.02 * most, end], tickformat=".0%")
    rows = risks[["method", "risk", "low", "high"]].itertuples(index=False)
    return _row_each(list(rows), "risk %{x:.2%}", x, 100 + 44 * len(risks), layout)


def _row_each(
    values: Sequence[tuple[str, float, float, float]], hover: str, x: dict[str, Any], height: int, layout: Any
) -> Figure:
    """Return a chart with a row for each method, the first on top: a value and its interval, unless NaN."""
    points = []
    for method, value, low, high in values:
        below, above = np.nan_to_num([value - low, high - value]).clip(0)
        interval = _bars(method, [below], [above])
        points.append(_dots(method, [value], [METHOD_NAMES[method]], f"%{{y}}: {hover}", error_x=interval))
    names = [METHOD_NAMES[method] for method, *_ in values]
    y = {"categoryorder": "array", "categoryarray": names[::-1], "showgrid": False, "ticks": ""}
    y["range"] = [-0.6, len(names) - 0.3]
    return figure(points, x, y, showlegend=False, margin={"t": 24}, height=height, **layout)


def forest(table: pd.DataFrame, features: Sequence[str]) -> tuple[Figure, int]:
    """Draw coefficients with credible intervals and ranges over reruns, and count those off the axis."""
    methods = list(dict.fromkeys(table["method"]))
    shown = table[table["feature"].isin(features)]
    shown = shown.assign(name=shown["feature"].map(_escaped))
    guide = pd.concat(_guides(dict(list(shown.groupby("method", sort=False)))))
    limit = 1.1 * float(np.nanmax(np.abs(guide[["mean", "low", "high", "least", "greatest"]].to_numpy())))
    place = {feature: -float(row) for row, feature in enumerate(features)}
    offsets = 0.6 * (0.5 - (np.arange(len(methods)) + 0.5) / len(methods))
    traces, off = [], 0
    for method, offset in zip(methods, offsets, strict=True):
        rows = shown[shown["method"] == method]
        at = rows["feature"].map(place) + offset
        inside = rows["mean"].abs() <= limit
        off += int((~inside).sum())
        traces += [
            _credible(method, rows[inside], at[inside]),
            _edge(method, rows[~inside], at[~inside], limit, not inside.any()),
        ]
        spread = inside & (rows["greatest"] - rows["least"] > _SPREAD)
        if spread.any():
            traces.append(_reruns(method, rows[spread], at[spread] - 0.27 / len(methods)))
    stripe = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "layer": "below", "line": {"width": 0}}
    stripe["fillcolor"] = "rgba(127,138,149,0.10)"
    stripes = [stripe | {"y0": -row - 0.5, "y1": 0.5 - row} for row in range(0, len(features), 2)]
    height = max(HEIGHT, 90 + len(features) * (_ROW + 9 * (len(methods) - 1)))
    title, zero = "Change in log odds", {"zerolinecolor": GREY}
    x = axis(title, range=[-1.03 * limit, 1.03 * limit], zeroline=True, zerolinewidth=1.5, **zero)
    y = {
        "tickvals": list(place.values()),
        "ticktext": [_in_two_lines(name) for name in features],
        "range": [0.5 - len(features), 0.5],
        "showgrid": False,
        "ticks": "",
    }
    return figure(traces, x, y, height=height, shapes=stripes), off


def _escaped(name: str) -> str:
    """Escape tags, which Plotly reads, but not quotes, whose escapes it would show."""
    return html.escape(name, quote=False)


def _in_two_lines(name: str) -> str:
    return "<br>".join(map(_escaped, textwrap.wrap(name, _LINE, max_lines=2, placeholder="…")))


def _credible(method: str, rows: pd.DataFrame, at: pd.Series) -> Trace:
    """Return the estimates, with thick bars where there is a posterior."""
    interval = "90% credible interval" if rows["low"].notna().any() else "estimate alone"
    return _dots(
        method,
        rows["mean"],
        at,
        "%{customdata[0]}: %{x:.2f} (%{customdata[1]:.2f} to %{customdata[2]:.2f})",
        name=f"{METHOD_NAMES[method]}: {interval}",
        customdata=rows[["name", "low", "high"]].to_numpy(),
        error_x=_bars(method, rows["mean"] - rows["low"], rows["high"] - rows["mean"]),
    )


def _edge(method: str, rows: pd.DataFrame, at: pd.Series, limit: float, alone: bool) -> Trace:
    """Return estimates beyond the axis as triangles at its edge; `alone` puts them into the legend."""
    return _dots(
        method,
        limit * np.sign(rows["mean"]),
        at,
        "%{customdata[0]}: %{customdata[1]:.3g}",
        name=f"{METHOD_NAMES[method]}: beyond the axis",
        symbol=np.where(rows["mean"] > 0, "triangle-right", "triangle-left"),
        showlegend=alone,
        customdata=rows[["name", "mean"]].to_numpy(),
    )


def _reruns(method: str, rows: pd.DataFrame, at: pd.Series) -> Trace:
    """Return the ranges over reruns, thin, dotted and with ticks, unlike credible intervals."""
    gap = np.full(len(rows), np.nan)
    colour = METHOD_COLOURS[method]
    return marked_line(
        f"{METHOD_NAMES[method]}: range over {rows['reruns'].max()} runs",
        np.column_stack([rows["least"], rows["greatest"], gap]).ravel(),
        np.repeat(at.to_numpy(), 3),
        colour,
        hover="reruns: %{x:.2f}",
        line={"color": colour, "width": 1, "dash": "dot"},
        marker={"symbol": "line-ns-open", "size": 7, "color": colour},
    )


def _guides(by_method: Mapping[str, Any]) -> list[Any]:
    """Return what the axis must show: the first method and the non-private one.

    The paper's variant can be so far off that nothing else would be visible.
    """
    first = next(iter(by_method))
    return [item for method, item in by_method.items() if method in (first, NON_PRIVATE)]


def _dots(method: str, x: Any, y: Any, hover: str, **more: Any) -> Trace:
    """Return the marks of a method; `more` may have a symbol for each of them."""
    symbol = more.pop("symbol", METHOD_SYMBOLS[method])
    return markers(METHOD_NAMES[method], x, y, METHOD_COLOURS[method], symbol, hover=hover) | more


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


def _reference(x: float, text: str) -> dict[str, Any]:
    """Return a labelled vertical line."""
    across = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    across["line"] = {"color": GREY, "dash": "dash", "width": 1.5}
    name = note(text, x, 1, yref="paper", yanchor="bottom")
    return {"shapes": [across], "annotations": [name]}

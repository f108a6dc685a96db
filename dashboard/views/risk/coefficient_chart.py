"""Coefficients of the Risk page: credible intervals, and apart from them the range over reruns."""

import html
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dashboard.views.risk.charts import dots, guides
from vips_core.reports.figures import GREY, HEIGHT, METHOD_COLOURS, METHOD_NAMES, Figure, figure
from vips_core.reports.traces import axis, marked_line

_SPREAD = 1e-6  # of reruns that differ
_ROW = 26  # pixels of a predictor, and of a method in it
_LINE = 20  # characters of a predictor's name beside the axis, of two lines: more would leave no room for it


def forest(table: pd.DataFrame, features: Sequence[str]) -> tuple[Figure, int]:
    """Coefficients with credible intervals, reruns apart below them; also how many lie off the axis."""
    methods = list(dict.fromkeys(table["method"]))
    shown = table[table["feature"].isin(features)]
    shown = shown.assign(name=shown["feature"].map(_escaped))
    guide = pd.concat(guides(dict(list(shown.groupby("method", sort=False)))))
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
    title, zero = "Change of the log odds", {"zerolinecolor": GREY}
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
    """Plotly reads tags, and shows the escapes of quotes as they are."""
    return html.escape(name, quote=False)


def _in_two_lines(name: str) -> str:
    return "<br>".join(map(_escaped, textwrap.wrap(name, _LINE, max_lines=2, placeholder="…")))


def _credible(method: str, rows: pd.DataFrame, at: pd.Series) -> dict[str, Any]:
    """Estimates with thick bars, where there is a posterior."""
    points = dots(method, rows["mean"], at, rows["mean"] - rows["low"], rows["high"] - rows["mean"])
    interval = "90% credible interval" if rows["low"].notna().any() else "estimate alone"
    return points | {
        "name": f"{METHOD_NAMES[method]}: {interval}",
        "customdata": rows[["name", "low", "high"]].to_numpy(),
        "hovertemplate": "%{customdata[0]}: %{x:.2f} (%{customdata[1]:.2f} to %{customdata[2]:.2f})"
        "<extra></extra>",
    }


def _edge(method: str, rows: pd.DataFrame, at: pd.Series, limit: float, alone: bool) -> dict[str, Any]:
    """Estimates beyond the axis, as triangles that point to where they are; named where they are alone."""
    points = dots(method, limit * np.sign(rows["mean"]), at)
    points["marker"]["symbol"] = np.where(rows["mean"] > 0, "triangle-right", "triangle-left")
    return points | {
        "name": f"{METHOD_NAMES[method]}: beyond the axis",
        "showlegend": alone,
        "customdata": rows[["name", "mean"]].to_numpy(),
        "hovertemplate": "%{customdata[0]}: %{customdata[1]:.3g}<extra></extra>",
    }


def _reruns(method: str, rows: pd.DataFrame, at: pd.Series) -> dict[str, Any]:
    """Least and greatest estimate over reruns: thin, dotted, with ticks, unlike a credible interval."""
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

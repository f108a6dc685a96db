"""Figure 5 of the paper: AUC against ε for all methods, as one self-contained page with its table."""

import math
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tests.benchmarks.figure_page import write_page
from vips_core.reports.figures import BLUE, GREEN, GREY, PURPLE, VERMILION

# method: name, colour, dash, symbol
STYLES = {
    "refined": ("VIPS refined", BLUE, "solid", "circle"),
    "sgd": ("DP-SGD", GREEN, "dot", "square"),
    "perm": ("Private ERM", PURPLE, "dashdot", "diamond"),
    "paper-once": ("VIPS paper, one step", VERMILION, "solid", "triangle-up"),
    "paper": ("VIPS paper", VERMILION, "dash", "triangle-down"),
    "strong": ("Strong composition", GREY, "dot", "x"),
}
CEILING = "Non-private"
TITLES = {
    "nhanes-stroke": "NHANES stroke",
    "survey": "BRFSS 2015 stroke",
    "cohort": "Stroke cohort, 10,069 × 4,146",
}
_APART = 1.035  # between neighbours on the log axis, so that bars do not hide each other


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean ± one standard deviation over seeds, and their number: a line per method, a column per ε."""
    groups = rows.groupby(["data", "method", "epsilon"])["auc"]
    cells = groups.agg(lambda areas: f"{areas.mean():.4f} ± {areas.std(ddof=0):.4f} ({len(areas)})")
    return cells.unstack().fillna("")


def write_figure(rows: pd.DataFrame, path: Path) -> None:
    """Draw one panel per data set."""
    present = [data for data in TITLES if data in set(rows["data"])]
    figure = make_subplots(1, len(present), subplot_titles=[TITLES[data] for data in present])
    for column, data in enumerate(present, 1):
        for trace in traces(rows[rows["data"] == data], first=column == 1):
            figure.add_trace(trace, 1, column)
    epsilons = sorted(rows.loc[rows["epsilon"] < math.inf, "epsilon"].unique())
    edges = [math.log10(epsilons[0]) - 0.12, math.log10(epsilons[-1]) + 0.12]
    figure.update_xaxes(type="log", range=edges, tickvals=epsilons, title="ε (log scale)")
    figure.update_yaxes(tickformat=".2f")
    figure.update_yaxes(title="AUC on held-out records", col=1)
    table = summary(rows).rename(index=TITLES, level="data").rename(index=names(), level="method")
    table.columns = [("no privacy" if epsilon == math.inf else f"ε = {epsilon:g}") for epsilon in table]
    table.index.names = [None, None]
    caption = (
        "Mean over seeds, each with its own split and noise; bars and band are one standard deviation. "
        "δ = 10⁻⁴ (Private ERM: δ = 0). In the table, the number of seeds in brackets. "
        "VIPS paper and strong composition release alike in several full-batch steps, accounted differently; "
        "in one step they are the same."
    )
    write_page(path, "AUC against privacy loss ε", figure, caption, table)


def names() -> dict[str, str]:
    """Return each method's name in the legend."""
    return {"non-private": CEILING, **{method: style[0] for method, style in STYLES.items()}}


def traces(rows: pd.DataFrame, first: bool) -> list[go.Scatter]:
    """One panel: the non-private band and line, then a line with bars for each private method."""
    found = []
    ceiling = rows.loc[rows["method"] == "non-private", "auc"]
    if len(ceiling):
        mean, deviation, ends = ceiling.mean(), ceiling.std(ddof=0), [1e-3, 1e3]
        band = [mean - deviation] * 2 + [mean + deviation] * 2
        found.append(
            go.Scatter(
                x=[*ends, *ends[::-1]],
                y=band,
                fill="toself",
                fillcolor="rgba(127,138,149,0.22)",
                line={"width": 0},
                mode="lines",
                hoverinfo="skip",
                showlegend=False,
            )
        )
        found.append(
            go.Scatter(
                x=ends,
                y=[mean, mean],
                mode="lines",
                name=CEILING,
                legendgroup=CEILING,
                showlegend=first,
                line={"color": GREY, "width": 2},
            )
        )
    for place, (method, (name, colour, dash, symbol)) in enumerate(STYLES.items()):
        areas = (
            rows[rows["method"] == method].groupby("epsilon")["auc"].agg(["mean", lambda a: a.std(ddof=0)])
        )
        found.append(
            go.Scatter(
                x=areas.index * _APART ** (place - len(STYLES) / 2),
                y=areas["mean"],
                error_y={"array": areas.iloc[:, 1], "thickness": 1.2, "width": 3},
                mode="lines+markers",
                name=name,
                legendgroup=name,
                showlegend=first,
                line={"color": colour, "dash": dash, "width": 2.5},
                marker={"symbol": symbol, "size": 8},
                customdata=areas.index,
                hovertemplate=f"{name}, ε = %{{customdata:g}}: %{{y:.4f}}<extra></extra>",
            )
        )
    return found

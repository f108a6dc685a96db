"""Figure 7 of the paper: pixel accuracy against the batch size, as one self-contained page with its table."""

from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from tests.benchmarks.figure_page import write_page
from vips_core.reports.figures import BLUE, GREY, PURPLE, VERMILION

# run: name, colour, dash, symbol
STYLES = {
    "paper, not private": ("Paper, not private", GREY, "dash", "triangle-up"),
    "paper, moments": ("Paper, moments accountant", VERMILION, "solid", "square"),
    "paper, strong composition": ("Paper, strong composition", PURPLE, "dot", "diamond"),
    "refined, same S and T": ("Refined, same S and steps", BLUE, "dashdot", "circle-open"),
    "refined, one pass in 4 steps": ("Refined, one pass in 4 steps", BLUE, "solid", "circle"),
}
_APART = 1.02  # between neighbours on the log axis, so that bars do not hide each other


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean ± one standard deviation over seeds, and their number: a line per run, a column per batch size."""
    groups = rows.groupby(["run", "batch"])["accuracy"]
    cells = groups.agg(lambda found: f"{found.mean():.4f} ± {found.std(ddof=0):.4f} ({len(found)})")
    return cells.unstack().reindex([run for run in STYLES if run in set(rows["run"])]).fillna("")


def write_figure(rows: pd.DataFrame, path: Path) -> None:
    """Draw one line with bars for each run."""
    figure = go.Figure()
    for place, (run, (name, colour, dash, symbol)) in enumerate(STYLES.items()):
        groups = rows[rows["run"] == run].groupby("batch")["accuracy"]
        mean, deviation = groups.mean(), groups.std(ddof=0)
        figure.add_trace(
            go.Scatter(
                x=mean.index * _APART ** (place - len(STYLES) / 2),
                y=mean,
                error_y={"array": deviation, "thickness": 1.2, "width": 3},
                mode="lines+markers",
                name=name,
                line={"color": colour, "dash": dash, "width": 2.5},
                marker={"symbol": symbol, "size": 9},
                customdata=mean.index,
                hovertemplate=f"{name}, S = %{{customdata}}: %{{y:.4f}}<extra></extra>",
            )
        )
    batches = sorted(rows["batch"].unique())
    figure.update_xaxes(type="log", tickvals=batches, title="Batch size S (log scale)")
    figure.update_yaxes(tickformat=".0%", title="Pixels of held-out images that are right")
    table = summary(rows).rename(index={run: style[0] for run, style in STYLES.items()})
    table.columns = [f"S = {batch}" for batch in table]
    table.index.name = None
    caption = (
        f"MNIST, {rows['hidden'].iloc[0]} hidden units, one pass, noise 1 (moments) or what strong "
        "composition needs at that ε; refined runs spend the same ε by moments. Mean over seeds, each with "
        "100 test images of its own; bars are one standard deviation, seeds in brackets. δ = 10⁻⁴."
    )
    write_page(path, "Pixel accuracy against batch size", figure, caption, table)

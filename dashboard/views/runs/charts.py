"""Charts of the Runs page as plain Plotly figures."""

import pandas as pd

from dashboard.components.charts import steps_axis, with_level
from dashboard.views.runs.tables import budget_table
from vips_core.reports.figures import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    NO_LEGEND,
    PURPLE,
    VERMILION,
    Figure,
    figure,
    score_title,
)
from vips_core.reports.traces import axis, marked_line
from vips_core.store.budget import Budget

_LEAST_TIME = pd.Timedelta(minutes=10)  # beside a point: one alone would be drawn in milliseconds
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, GREY)


def score_curves(looks: pd.DataFrame, score: str) -> Figure:
    """The followed score of runs of one model while they trained."""
    traces = []
    for index, (name, of_run) in enumerate(looks.groupby("Run", sort=False)):
        style = _COLOURS[index % len(_COLOURS)], DASHES[index % len(DASHES)]
        hover = f"{name}: step %{{x}}, %{{y:.4g}}"
        traces.append(
            marked_line(str(name), of_run["Step"].tolist(), of_run["Score"].tolist(), *style, hover=hover)
        )
    return figure(traces, steps_axis("Step", looks["Step"].max()), axis(score_title(score)))


def budget_over_time(budget: Budget) -> Figure:
    """Share of the cap that all releases so far take, against time."""
    history = budget_table(budget)
    taken = marked_line(
        "Spent and reserved",
        [moment.isoformat() for moment in history["Time (UTC)"]],
        history["% of the cap"].tolist(),
        BLUE,
        hover="%{x}: %{y:.3g}% with run %{customdata}",
        customdata=history["Run"].tolist(),
        line={"color": BLUE, "width": 2.5, "shape": "hv"},
    )
    times = history["Time (UTC)"]
    margin = max(_LEAST_TIME, 0.05 * (times.max() - times.min()))
    around = [(times.min() - margin).isoformat(), (times.max() + margin).isoformat()]
    drawn = figure(
        [taken],
        axis("Time of reservation (UTC)", range=around),
        axis("% of today's cap", range=[0, 115]),
        height=300,
        showlegend=False,
        margin=NO_LEGEND,
    )
    return with_level(drawn, 100, "Today's cap", VERMILION, "left")

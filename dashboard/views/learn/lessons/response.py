"""Randomised response: privacy from a coin in one's own hand, and an estimate that sees through it."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import number
from dashboard.state import Number, log_stops
from dashboard.views.learn.lessons import surveys
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import LEGEND_BELOW, figure, swept
from vips_core.reports.figures import BLUE, VERMILION, Figure
from vips_core.reports.traces import axis, line

SURVEYS, SEED = 2000, 2
EPSILON = Number("response_eps", "ε", 1.1, 0.1, 5, "Odds of a true answer are e^ε to 1.", log_stops(0.1, 5))
PEOPLE = Number(
    "response_people",
    "People asked",
    1000,
    10,
    100_000,
    "The more, the better the estimate.",
    log_stops(10, 100_000, whole=True, mantissas=(1, 2, 5)),
    whole=True,
)
SHARE = Number(
    "response_share",
    "True share of yes",
    0.2,
    0.0,
    1.0,
    "What the survey wants to know.",
    tuple(round(0.05 * step, 2) for step in range(21)),
)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show what many surveys would estimate."""
    epsilon, people, share = values[EPSILON.name], int(values[PEOPLE.name]), values[SHARE.name]
    estimated = surveys.estimates(share, people, epsilon, SURVEYS, SEED)
    truth, error = surveys.truth_probability(epsilon), surveys.standard_error(people, epsilon)
    said = share * truth + (1 - share) * (1 - truth)
    edges = np.linspace(share - 4.5 * error, share + 4.5 * error, 24)

    def until(count: float) -> Figure:
        """Draw the first surveys."""
        return _figure(np.histogram(estimated[: int(count)], edges)[0] / count, edges, share)

    counts = np.geomspace(20, SURVEYS, 10).round()
    return Outcome(
        numbers=(
            ("True answers", f"{truth:.0%}"),
            ("Say yes", f"{said:.1%}"),
            ("Estimate, mean of surveys", f"{estimated.mean():.1%}"),
            ("Its standard error", f"±{error:.2%}"),
        ),
        figure=swept(until, counts, "Surveys") if revealed else _figure(None, edges, share),
        table=lambda: pd.DataFrame({"Survey": np.arange(1, SURVEYS + 1), "Estimated share": estimated}),
        explanation=(
            f"At ε = {number(epsilon)} an answer is true with probability {truth:.1%}: nobody can be held to "
            f"it: a yes moves anyone's odds by at most e^ε = {number(math.exp(epsilon))}. Over all, "
            f"**{said:.1%}** say yes. The coins' share is known, so it can be taken out: {SURVEYS:,} "
            f"simulated surveys give **{estimated.mean():.1%}** on average, give or take {error:.2%}."
        ),
    )


def _figure(shares: Any, edges: Any, share: float) -> Figure:
    traces = []
    if shares is not None:
        shade = {"fill": "tozeroy", "fillcolor": "rgba(31,131,196,0.10)"}
        hover = "estimate %{x:.1%}: %{y:.1%} of surveys"
        traces = [
            line("Estimates", (edges[1:] + edges[:-1]) / 2, shares, BLUE, "solid", hover, **shade),
            line("Truth", [share, share], [0, 0.22], VERMILION, "dash"),
        ]
    x = axis("Estimated share of yes", tickformat=".0%", range=[float(edges[0]), float(edges[-1])])
    y = axis("Share of surveys", tickformat=".0%", range=[0, 0.25])
    return figure(traces, x, y, legend=LEGEND_BELOW)


LESSON = lesson(__file__, parameters=(EPSILON, PEOPLE, SHARE), look=look)

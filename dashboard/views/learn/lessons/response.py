"""Randomised response: each person's coin protects the answer, and an estimate corrects for the coins."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import number
from dashboard.state import Number
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import SHADE, figure, swept
from vips_core.reports.figures import BLUE, VERMILION, Figure
from vips_core.reports.traces import axis, line

SURVEYS, SEED = 2000, 2  # simulated surveys, enough for a smooth histogram
EPSILON = base.epsilon("response", 1.1, "The odds of a true answer are e^ε to 1.")
_PEOPLE_HELP = "More people give a better estimate."
PEOPLE = base.count("response_people", "People asked", 1000, 10, 100_000, _PEOPLE_HELP)
_SHARES = tuple(round(0.05 * step, 2) for step in range(21))
SHARE = Number("response_share", "True share of yes", 0.2, 0.0, 1.0, "The quantity to estimate.", _SHARES)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show the estimates of many surveys."""
    epsilon, people, share = values[EPSILON.name], int(values[PEOPLE.name]), values[SHARE.name]
    estimated = base.survey_estimates(share, people, epsilon, SURVEYS, SEED)
    truth, error = base.truth_probability(epsilon), base.survey_error(people, epsilon)
    said = share * truth + (1 - share) * (1 - truth)
    edges = np.linspace(share - 4.5 * error, share + 4.5 * error, 24)

    def until(count: float) -> Figure:
        """Draw the estimates of the first surveys."""
        return _figure(np.histogram(estimated[: int(count)], edges)[0] / count, edges, share)

    counts = np.geomspace(20, SURVEYS, 10).round()
    return Outcome(
        numbers=(
            ("True answers", f"{truth:.0%}"),
            ("Answered yes", f"{said:.1%}"),
            ("Mean estimate", f"{estimated.mean():.1%}"),
            ("Standard error", f"±{error:.2%}"),
        ),
        figure=swept(until, counts, "Surveys") if revealed else _figure(None, edges, share),
        table=lambda: pd.DataFrame({"Survey": np.arange(1, SURVEYS + 1), "Estimated share": estimated}),
        explanation=(
            f"At ε = {number(epsilon)}, an answer is true with probability {truth:.1%}, so everyone can deny "
            f"it: a yes changes anyone's odds by at most a factor of e^ε = {number(math.exp(epsilon))}. "
            f"In total, **{said:.1%}** say yes. The coins' probabilities are known, so the estimate can "
            f"correct for them: {SURVEYS:,} simulated surveys give **{estimated.mean():.1%}** on average, "
            f"with a standard error of {error:.2%}."
        ),
    )


def _figure(shares: Any, edges: Any, share: float) -> Figure:
    traces = []
    if shares is not None:
        hover = "estimate %{x:.1%}: %{y:.1%} of surveys"
        traces = [
            line("Estimates", (edges[1:] + edges[:-1]) / 2, shares, BLUE, "solid", hover, **SHADE),
            line("Truth", [share, share], [0, 0.22], VERMILION, "dash"),
        ]
    x = axis("Estimated share of yes", tickformat=".0%", range=[float(edges[0]), float(edges[-1])])
    y = axis("Share of surveys", tickformat=".0%", range=[0, 0.25])
    return figure(traces, x, y)


LESSON = lesson(__file__, parameters=(EPSILON, PEOPLE, SHARE), look=look)

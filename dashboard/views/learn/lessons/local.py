"""Local against central differential privacy: the price of trusting nobody."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import number
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import figure, point, swept
from vips_core.reports.figures import BLUE, VERMILION, Figure, log_axis
from vips_core.reports.traces import line

MOST = 10**8  # people at the right end of the chart, enough to show the answer at the default ε
SURVEYS, SHARE, SEED = 500, 0.3, 4  # of the simulation: enough surveys to know a spread to about 3%
EPSILON = base.epsilon("local", 1.0, "The same for both models, with δ = 0.")
PEOPLE = base.count("local_people", "People", 10_000, 100, 10**6, "People who answer one yes-or-no question.")


def central_error(people: Any, epsilon: float) -> Any:
    """Return the error of the share if a trusted party adds Laplace noise of scale 1/ε to the sum."""
    return math.sqrt(2) / (epsilon * people)


def people_needed(people: float, epsilon: float) -> float:
    """Return the number of people at which the local model reaches the central model's error."""
    return float((base.survey_error(1, epsilon) / central_error(people, epsilon)) ** 2)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show both errors against the number of people."""
    epsilon, people = values[EPSILON.name], int(values[PEOPLE.name])
    local, central = base.survey_error(people, epsilon), central_error(people, epsilon)
    needed = people_needed(people, epsilon)
    return Outcome(
        numbers=(
            ("Error, central", f"±{central:.3%}"),
            ("Error, local", f"±{local:.2%}"),
            ("People needed locally", f"{float(f'{needed:.2g}'):,.0f}"),
        ),
        figure=_figure(people, epsilon, revealed),
        table=lambda: _table(epsilon),
        explanation=(
            f"In the local model, each of {people:,} people adds the noise of a coin, and the error of the "
            f"share falls like 1/√N, here to **{local:.2%}**. In the central model, a single draw of noise "
            f"hides one person in the sum, and the error falls like 1/N, here to **{central:.3%}**. To match "
            f"it, the local model needs about **{float(f'{needed:.2g}'):,.0f}** people. In return nobody, "
            "not even the analyst, can be sure of anyone's true answer. VIPS uses the central model. Both "
            f"models have ε = {number(epsilon)}."
        ),
    )


def simulated_error(people: int, epsilon: float) -> float:
    """Return the standard deviation of the estimates of simulated surveys."""
    return float(base.survey_estimates(SHARE, people, epsilon, SURVEYS, SEED).std())


def _figure(people: int, epsilon: float, revealed: bool) -> Figure:
    x, y = log_axis("People (log scale)", 1.9, 8.1), log_axis("Error of the share (log scale)", -9, 1)
    x |= {"tickvals": [1e2, 1e4, 1e6, 1e8], "ticktext": ["100", "10,000", "1 million", "100 million"]}
    if not revealed:
        return figure([], x, y)
    counts, hover = np.geomspace(100, MOST, 40), "%{x:,.0f} people: ±%{y:.2g}"
    local, central = base.survey_error(counts, epsilon), central_error(counts, epsilon)
    curves = [
        line("Local: everyone tosses a coin", counts, local, VERMILION, "dash", hover),
        line("Central: noise once on the sum", counts, central, BLUE, "solid", hover),
    ]

    def at(number: float) -> Figure:
        """Draw the curves, and a simulation of this many people."""
        simulated = simulated_error(int(number), epsilon)
        return figure([*curves, point("Simulated, local", number, simulated, hover)], x, y)

    return swept(at, np.geomspace(100, people, 8).round(), "People")


def _table(epsilon: float) -> pd.DataFrame:
    counts = np.logspace(2, 8, 7)
    return pd.DataFrame(
        {
            "People": counts.astype(int),
            "Error, central": central_error(counts, epsilon),
            "Error, local": base.survey_error(counts, epsilon),
        }
    )


LESSON = lesson(__file__, parameters=(EPSILON, PEOPLE), look=look)

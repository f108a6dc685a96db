"""Local against central: what it costs to trust nobody."""

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
from dashboard.views.learn.lessons.figures import LEGEND_BELOW, figure, point, swept
from vips_core.reports.figures import BLUE, VERMILION, Figure, log_axis
from vips_core.reports.traces import line

MOST, SURVEYS, SHARE = 10**8, 500, 0.3
EPSILON = Number("local_eps", "ε", 1.0, 0.1, 5, "The same for both, with δ = 0.", log_stops(0.1, 5))
PEOPLE = Number(
    "local_people",
    "People",
    10_000,
    100,
    10**6,
    "How many answer one yes-or-no question.",
    log_stops(100, 10**6, whole=True, mantissas=(1, 2, 5)),
    whole=True,
)


def central_error(people: Any, epsilon: float) -> Any:
    """Spread of the share when a trusted party adds Laplace noise of scale 1/ε to the number of yes."""
    return math.sqrt(2) / (epsilon * people)


def people_needed(people: float, epsilon: float) -> float:
    """Return how many people the local way needs for the error that the central one has."""
    return float((surveys.standard_error(1, epsilon) / central_error(people, epsilon)) ** 2)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show both errors over the number of people."""
    epsilon, people = values[EPSILON.name], int(values[PEOPLE.name])
    local, central = surveys.standard_error(people, epsilon), central_error(people, epsilon)
    counts = np.geomspace(100, people, 8).round()
    needed = people_needed(people, epsilon)
    return Outcome(
        numbers=(
            ("Error, central", f"±{central:.3%}"),
            ("Error, local", f"±{local:.2%}"),
            ("People that local needs instead", f"{float(f'{needed:.2g}'):,.0f}"),
        ),
        figure=swept(lambda n: _figure(int(n), epsilon), counts, "People") if revealed else _axes([]),
        table=lambda: _table(epsilon),
        explanation=(
            f"Locally, each of {people:,} people adds a coin's noise: the sum has as many noises as people, "
            f"and the error of the share falls like 1/√N, here to **{local:.2%}**. Centrally, one noise "
            f"hides one person in the whole sum: the error falls like 1/N, here to **{central:.3%}**. For "
            f"that, the local way would need about **{float(f'{needed:.2g}'):,.0f}** people. In return "
            "nobody, not even whoever counts, learns a true answer. The wall of VIPS is central; both have "
            f"ε = {number(epsilon)}."
        ),
    )


def simulated_error(people: int, epsilon: float) -> float:
    """Spread of the estimates of simulated surveys."""
    return float(surveys.estimates(SHARE, people, epsilon, SURVEYS, 4).std())


def _figure(people: int, epsilon: float) -> Figure:
    counts, hover = np.geomspace(100, MOST, 40), "%{x:,.0f} people: ±%{y:.2g}"
    local = [surveys.standard_error(n, epsilon) for n in counts]
    return _axes(
        [
            line("Local: everyone tosses a coin", counts, local, VERMILION, "dash", hover),
            line(
                "Central: one noise on the sum", counts, central_error(counts, epsilon), BLUE, "solid", hover
            ),
            point(
                "Simulated, local",
                people,
                simulated_error(people, epsilon),
                f"{people:,} people: ±%{{y:.2g}}",
            ),
        ]
    )


def _axes(traces: list[dict[str, Any]]) -> Figure:
    x, y = log_axis("People (log scale)", 1.9, 8.1), log_axis("Error of the share (log scale)", -9, 1)
    x |= {"tickvals": [1e2, 1e4, 1e6, 1e8], "ticktext": ["100", "10,000", "1 million", "100 million"]}
    return figure(traces, x, y, legend=LEGEND_BELOW)


def _table(epsilon: float) -> pd.DataFrame:
    counts = np.logspace(2, 8, 7)
    return pd.DataFrame(
        {
            "People": counts.astype(int),
            "Error, central": central_error(counts, epsilon),
            "Error, local": [surveys.standard_error(n, epsilon) for n in counts],
        }
    )


LESSON = lesson(__file__, parameters=(EPSILON, PEOPLE), look=look)

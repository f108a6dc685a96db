"""Neighbours and groups: the guarantee for a person with several rows, and for a family."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import at_most, brief, number
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import figure, point, swept
from vips_core import rounding
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.reports.figures import BLUE, GREEN, VERMILION, Figure, log_axis
from vips_core.reports.traces import axis, line

DELTA = 1e-6
MOST = 20  # rows of one person; at the default ε, δ of the general rule reaches 1 at 13
EPSILON = base.epsilon("neighbours", 1.0, "The ε that the plan states.", "ε of one row")
_ROWS_HELP = "Number of rows that belong to the same person."
ROWS = base.whole("neighbours_rows", "Rows of one person", 10, range(1, MOST + 1), _ROWS_HELP)


def group_delta(rows: float, epsilon: float, delta: float) -> float:
    """Return δ of the general rule for groups, k e^((k−1)ε) δ, capped at 1, where it guarantees nothing."""
    return min(1.0, rows * math.exp((rows - 1) * epsilon) * delta)


def gaussian_epsilon(rows: Any, epsilon: float, delta: float) -> Array:
    """Return the exact ε of k rows at the same δ under Gaussian noise: k rows move a sum k times as far."""
    mu = gaussian.mu(epsilon, delta)
    return np.array([gaussian.epsilon(k * mu, delta) for k in np.atleast_1d(rows)])


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show the guarantee for several rows."""
    epsilon, rows = values[EPSILON.name], int(values[ROWS.name])
    exact = float(gaussian_epsilon(rows, epsilon, DELTA)[0])
    general, table = group_delta(rows, epsilon, DELTA), _table(epsilon)
    grown = brief(float(f"{general:.2g}")) + (", which guarantees nothing" if general == 1 else "")
    more = ", larger because its δ has not grown" if exact > rows * epsilon * 1.001 else ""
    return Outcome(
        numbers=(
            ("ε by the general rule", number(rows * epsilon)),
            ("δ by the general rule", brief(float(f"{general:.2g}"))),
            ("ε of Gaussian noise, same δ", at_most(exact)),
        ),
        figure=_figure(table, rows, revealed),
        table=lambda: table,
        explanation=(
            f"Neighbours differ in one row, so ε = {number(epsilon)} protects one row. {rows} rows are "
            f"{rows} steps from neighbour to neighbour: for any mechanism, ε = {rows} × {number(epsilon)} = "
            f"**{number(rows * epsilon)}**, and δ grows to {grown}. Gaussian noise at the unchanged "
            f"δ = {brief(DELTA)} has ε = **{at_most(exact)}**{more}. If a column names the person, the wall "
            "weights all rows of a person as one: ε then protects the person, without more noise."
        ),
    )


def _figure(table: pd.DataFrame, rows: int, revealed: bool) -> Figure:
    counts, general, _, exact = table.to_numpy().T
    ends = (math.log10(general[0]) - 0.15, math.log10(max(general[-1], exact[-1])) + 0.15)
    x = axis("Rows k of one person", range=[0.5, MOST + 0.5])
    y = log_axis("ε for the person (log scale)", *ends)
    if not revealed:
        return figure([], x, y)
    drawn, hover = rounding.each_up(exact), "%{x} rows: ε = %{y:.4g}"
    curves = [
        line("Any mechanism: kε, with a larger δ", counts, general, VERMILION, "dash", hover),
        line("Gaussian noise, the same δ", counts, drawn, BLUE, "solid", hover),
        line("Person column: rows count as one", counts, np.full(MOST, general[0]), GREEN, "dot", hover),
    ]
    here = [point("Here", k, drawn[k - 1], hover) for k in range(1, rows + 1)]
    return swept(lambda k: figure([*curves, here[int(k) - 1]], x, y), range(1, rows + 1), "Rows")


def _table(epsilon: float) -> pd.DataFrame:
    counts = np.arange(1, MOST + 1)
    return pd.DataFrame(
        {
            "Rows": counts,
            "ε, any mechanism": counts * epsilon,
            "δ, any mechanism": [group_delta(k, epsilon, DELTA) for k in range(1, MOST + 1)],
            "ε, Gaussian noise": gaussian_epsilon(counts, epsilon, DELTA),
        }
    )


LESSON = lesson(__file__, parameters=(EPSILON, ROWS), look=look)

"""Subsampling: small batches reduce ε, and efficiency."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.charts import WAITING
from dashboard.components.formats import at_most
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import Plot, point, side_by_side, swept
from vips_core import rounding
from vips_core.reports.figures import BLUE, FOOT, GREEN, GREY, Figure, log_axis, log_ends
from vips_core.reports.traces import axis, line

LEAST_RATE = 1e-3  # left end of the chart: batches with a thousandth of the records
RATE = base.sampling_rate("subsampling", 0.05, least=LEAST_RATE)
NOISE = base.noise_multiplier("subsampling", 1.24)
STEPS = base.steps("subsampling", 20, least=1, most=1000)
DELTA = 1e-4  # the paper's
EPSILON, EFFICIENCY = "ε (PLD)", "Efficiency"  # columns


def sampled(rates: tuple[float, ...], noise: float, steps: int) -> pd.DataFrame:
    """Return ε and efficiency, one row for each of these rates."""
    plans = [base.sampled_plan(noise, rate, steps, DELTA) for rate in rates]
    rows = [(plan.sampling_rate, plan.epsilon("pld"), plan.efficiency) for plan in plans]
    return pd.DataFrame(rows, columns=["q", EPSILON, EFFICIENCY])


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show ε and efficiency against the sampling rate."""
    rate, noise, steps = (values[p.name] for p in (RATE, NOISE, STEPS))
    at_rate = later(sampled, (rate,), noise, steps)
    grid = later(sampled, tuple(np.geomspace(LEAST_RATE, 1, 13)), noise, steps)
    here = None if at_rate is None else (float(at_rate[EPSILON][0]), float(at_rate[EFFICIENCY][0]))
    return Outcome(
        numbers=(
            ("ε at this q", None if here is None else at_most(here[0])),
            ("ε of full batches", None if grid is None else at_most(float(grid[EPSILON].iloc[-1]))),
            ("Efficiency at this q", None if here is None else f"{here[1]:.0%}"),
        ),
        figure=_played(grid, rate, here, revealed) if here and grid is not None else None,
        table=lambda: pd.DataFrame() if grid is None else grid,
        explanation=WAITING if here is None else _explanation(rate, *here),
    )


def _played(grid: pd.DataFrame, rate: float, here: tuple[float, float], revealed: bool) -> Figure:
    """Return a figure whose frames move the dot from full batches down the curve to this rate."""
    way = {q: (epsilon, efficiency) for q, epsilon, efficiency in grid[::-1].to_numpy() if q > rate}
    way[rate] = here
    return swept(lambda q: _figure(grid, q, *way[q], revealed), way, "q")


def _figure(grid: pd.DataFrame, rate: float, epsilon: float, efficiency: float, revealed: bool) -> Figure:
    q_axis = log_axis("Sampling rate q (log scale)", np.log10(LEAST_RATE) - 0.08, 0.08)
    rates, epsilons, efficiencies = grid.to_numpy().T
    drawn = rounding.each_up(np.maximum(epsilons, FOOT))
    saved = [
        line("ε", rates, drawn, BLUE, "solid", "q = %{x:.3g}: ε = %{y:.4g}"),
        point("Here", rate, max(epsilon, FOOT), f"here: ε = {at_most(epsilon)}"),
    ]
    cost = [
        line("Full batches", [LEAST_RATE, 1], [1, 1], GREY, "dash"),
        line("Efficiency", rates, efficiencies, GREEN, "solid", "q = %{x:.3g}: %{y:.0%}"),
        point("Here", rate, efficiency, f"here: {efficiency:.0%}"),
    ]
    epsilon_axis = log_axis("ε by PLD (log scale)", *log_ends(epsilons, 0.1))
    share_axis = axis("Efficiency", range=[0, 1.08], tickformat=".0%")
    return side_by_side(
        Plot("Privacy gained by sampling", saved, q_axis, epsilon_axis),
        Plot("Signal lost, at the same ε", cost if revealed else cost[:1], q_axis, share_axis),
    )


def _explanation(rate: float, epsilon: float, efficiency: float) -> str:
    return (
        f"Sampling a share of {rate:.3g} of the records hides who was included: ε falls to "
        f"{at_most(epsilon)}. But each step also sees fewer records. Full batches with more noise, at the "
        f"same ε, have a signal-to-noise ratio {1 / efficiency:.3g} times as high: this plan's efficiency "
        f"is **{efficiency:.0%}**. At an equal signal-to-noise ratio, small batches save computing time, not "
        "privacy. Efficiency counts privacy noise only; it ignores the sampling variance, which makes "
        "sampled sums vary even more."
    )


LESSON = lesson(__file__, parameters=(RATE, NOISE, STEPS), look=look)

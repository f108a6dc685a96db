"""The guarantee of (ε, δ), as odds and as the attacker's ROC."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from dashboard.background import Later
from dashboard.components.formats import at_most, brief, number
from dashboard.state import Number, log_stops
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import figure, point, swept
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.reports.figures import BLUE, RATES, VERMILION, Figure, guessing
from vips_core.reports.traces import axis, line

FALSE_ALARMS = 0.01  # false positive rate of the test in the question
_ODDS = "The largest effect of one person on the odds of any output."
EPSILON = Number("promise_eps", "ε", 1.0, 0.01, 10, _ODDS, log_stops(0.01, 10))
DELTA = base.delta("promise")
_PERCENT = tuple(round(0.01 * percent, 2) for percent in range(1, 100))
_PRIOR_HELP = "The attacker's belief that you took part, before seeing the output."
PRIOR = Number("promise_prior", "Prior belief", 0.5, 0.01, 0.99, _PRIOR_HELP, _PERCENT)
_RATES = np.unique(np.concatenate([np.geomspace(1e-4, 0.1, 60), np.linspace(0, 1, 101)]))
_FALSE = axis("Outsiders falsely accused (FPR)", range=[-0.015, 1.015], dtick=0.2, tickformat=".0%")
_TRUE = axis("Participants found (TPR)", range=[0, 1.02], tickformat=".0%")


def most_found(false_alarms: Any, epsilon: float, delta: float) -> Array:
    """Return the highest TPR of any test under (ε, δ) (equation 1, for the test and its opposite)."""
    rate = np.asarray(false_alarms, float)
    steep = delta + math.exp(epsilon) * rate
    flat = 1 - math.exp(-epsilon) * (1 - delta - rate)
    return np.clip(np.minimum(steep, flat), rate, 1)


def most_found_gaussian(false_alarms: Any, epsilon: float, delta: float) -> Array:
    """Return the highest TPR of any test of the Gaussian mechanism whose noise just meets (ε, δ)."""
    return np.asarray(ndtr(ndtri(np.asarray(false_alarms, float)) + gaussian.mu(epsilon, delta)))


def odds_factor(epsilon: float, delta: float) -> float:
    """Return the largest factor on the odds by a positive test with 1% false alarms; e^ε if δ = 0."""
    return float(most_found(FALSE_ALARMS, epsilon, delta)) / FALSE_ALARMS


def belief(prior: float, epsilon: float, delta: float) -> float:
    """Return the highest belief after a positive test with 1% false alarms."""
    odds = odds_factor(epsilon, delta) * prior / (1 - prior)
    return odds / (1 + odds)


def advantage(epsilon: float, delta: float) -> float:
    """Return the largest TPR − FPR under (ε, δ), where its two lines meet."""
    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show the limits on any attack."""
    epsilon, delta, prior = (values[p.name] for p in (EPSILON, DELTA, PRIOR))
    after = belief(prior, epsilon, delta)
    normal = float(2 * ndtr(gaussian.mu(epsilon, delta) / 2) - 1)
    return Outcome(
        numbers=(
            ("Factor on the odds, at most", f"×{at_most(odds_factor(epsilon, delta))}"),
            ("Posterior belief, at most", f"{after:.1%}"),
            ("Advantage, any mechanism", f"{advantage(epsilon, delta):.1%}"),
            ("Advantage, Gaussian noise", f"{normal:.1%}"),
        ),
        figure=swept(lambda e: _figure(_table(e, delta)), np.geomspace(0.01, epsilon, 12), "ε")
        if revealed
        else figure([guessing()], _FALSE, _TRUE),
        table=lambda: _table(epsilon, delta),
        explanation=(
            f"With δ = 0, odds would grow by at most e^ε = {number(math.exp(epsilon))}. Here δ = "
            f"{brief(delta)} adds to the true positive rate: at 1% false alarms, odds grow by at most a "
            f"factor of **{at_most(odds_factor(epsilon, delta))}**. So a belief of {prior:.0%} becomes at "
            f"most **{after:.1%}**, whatever else the attacker knows. At lower false positive rates δ "
            "matters more, so it must be tiny. Gaussian noise reveals less than this bound."
        ),
    )


def _figure(rocs: pd.DataFrame) -> Figure:
    """Draw the ROC curves of the best tests."""
    rates, any_test, gaussian_noise = rocs.to_numpy().T
    shade = {"fill": "tozeroy", "fillcolor": "rgba(213,94,0,0.08)"}
    at_one_percent = float(np.interp(FALSE_ALARMS, rates, any_test))
    attacks = [
        line("Bound by (ε, δ)", rates, any_test, VERMILION, "solid", RATES, **shade),
        line("Gaussian noise at this (ε, δ)", rates, gaussian_noise, BLUE, "dot", RATES),
        point("1% false alarms", FALSE_ALARMS, at_one_percent, RATES),
    ]
    return figure([guessing(), *attacks], _FALSE, _TRUE)


def _table(epsilon: float, delta: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "False positive rate": _RATES,
            "TPR, (ε, δ)": most_found(_RATES, epsilon, delta),
            "TPR, Gaussian": most_found_gaussian(_RATES, epsilon, delta),
        }
    )


LESSON = lesson(__file__, parameters=(EPSILON, DELTA, PRIOR), look=look)

"""Lesson 1: what (ε, δ) promises, as odds and as the attacker's ROC."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from dashboard import charts
from dashboard.background import Later
from dashboard.formats import brief, number
from dashboard.lessons.base import Formula, Lesson, Outcome
from dashboard.lessons.figures import figure, line, point
from dashboard.session import Number, log_stops
from vips_core.privacy import gaussian

FALSE_ALARMS = 0.01
EPSILON = Number(
    "eps1", "ε", 1.0, 0.01, 10, "How far one person may tilt the odds of any output.", log_stops(0.01, 10)
)
DELTA = Number(
    "delta1", "δ", 1e-5, 1e-12, 0.1, "Probability mass for which ε need not hold.",
    log_stops(1e-12, 0.1, mantissas=(1, 2, 5)),
)  # fmt: skip
PRIOR = Number(
    "prior1", "Belief before", 0.5, 0.01, 0.99,
    "How sure the attacker was that you took part, before looking.",
    tuple(round(0.01 * percent, 2) for percent in range(1, 100)),
)  # fmt: skip


def most_found(false_alarms: Any, epsilon: float, delta: float) -> charts.Array:
    """Highest true positive rate that (ε, δ) allows any test (equation 1, for the test and its opposite)."""
    rate = np.asarray(false_alarms, float)
    steep = delta + math.exp(epsilon) * rate
    flat = 1 - math.exp(-epsilon) * (1 - delta - rate)
    return np.clip(np.minimum(steep, flat), rate, 1)


def most_found_gaussian(false_alarms: Any, epsilon: float, delta: float) -> charts.Array:
    """The same for the Gaussian mechanism whose noise just meets (ε, δ)."""
    return np.asarray(ndtr(ndtri(np.asarray(false_alarms, float)) + gaussian.mu(epsilon, delta)))


def belief(prior: float, epsilon: float, delta: float) -> float:
    """Highest belief after a positive test with 1% false alarms."""
    hits = prior * float(most_found(FALSE_ALARMS, epsilon, delta))
    return hits / (hits + (1 - prior) * FALSE_ALARMS)


def advantage(epsilon: float, delta: float) -> float:
    """Largest TPR − FPR that (ε, δ) allows, where its two lines meet."""
    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show what an attacker can reach."""
    epsilon, delta, prior = (values[p.name] for p in (EPSILON, DELTA, PRIOR))
    rates = np.unique(np.concatenate([np.geomspace(1e-4, 0.1, 60), np.linspace(0, 1, 101)]))
    any_test, by_gaussian = (f(rates, epsilon, delta) for f in (most_found, most_found_gaussian))
    after = belief(prior, epsilon, delta)
    normal = float(2 * ndtr(gaussian.mu(epsilon, delta) / 2) - 1)
    hover = "false alarms %{x:.1%}, found %{y:.1%}"
    traces = [line("Guessing", [0, 1], [0, 1], charts.GREY, "dash")]
    if revealed:
        traces += [
            line("All that (ε, δ) allows", rates, any_test, charts.VERMILION, "solid", hover,
                 fill="tozeroy", fillcolor="rgba(213,94,0,0.08)"),
            line("Gaussian noise at this (ε, δ)", rates, by_gaussian, charts.BLUE, "dot", hover),
            point("1% false alarms", FALSE_ALARMS, float(most_found(FALSE_ALARMS, epsilon, delta)), hover),
        ]  # fmt: skip
    drawn = figure(
        traces,
        {
            "title": {"text": "Outsiders falsely accused (FPR)"},
            "range": [-0.015, 1.015],
            "dtick": 0.2,
            "tickformat": ".0%",
        },
        {"title": {"text": "Participants found (TPR)"}, "range": [0, 1.02], "tickformat": ".0%"},
    )
    return Outcome(
        (
            ("Odds grow at most", f"×{number(math.exp(epsilon))}"),
            ("Belief after, at most", f"{after:.1%}"),
            ("Advantage, any mechanism", f"{advantage(epsilon, delta):.1%}"),
            ("Advantage, Gaussian noise", f"{normal:.1%}"),
        ),
        drawn,
        lambda: pd.DataFrame(
            {"False positive rate": rates, "TPR, (ε, δ)": any_test, "TPR, Gaussian": by_gaussian}
        ),
        f"Odds can grow by e^ε = {math.exp(epsilon):.3g}, plus δ = {brief(delta)}: a belief of {prior:.0%} "
        f"becomes at most **{after:.1%}** after a positive test with 1% false alarms. Whatever the attacker "
        "knows already, this holds. Gaussian noise gives away less than the pair (ε, δ) allows.",
    )


LESSON = Lesson(
    1,
    "Promise",
    "What ε and δ promise",
    "Differential privacy compares two worlds: one with your record, one without it.",
    "A model is trained with ε = 1 and a tiny δ. An attacker thinks it a coin toss whether you took part, "
    "and gets a positive test result with 1% false alarms. How sure can the attacker be now, at most?",
    ("50%: nothing is learned", "About 62%", "About 73%", "Nearly 100%"),
    2,
    "Write the belief before as odds, multiply by e^ε, and turn the odds back into a probability. "
    "Compare with the numbers of the solution, which also count δ.",
    "Odds p/(1 − p) become e^ε p/(1 − p), so the belief is at most e^ε p/(1 − p + e^ε p). δ adds to the true "
    "positive rate, which matters only where the false alarm rate is of the order of δ.",
    (EPSILON, DELTA, PRIOR),
    (
        Formula(
            r"\Pr(\mathcal M(X)\in S)\;\le\;e^{\varepsilon}\,\Pr(\mathcal M(X')\in S)+\delta",
            "Pr(M(X) ∈ S) ≤ e<sup>ε</sup> · Pr(M(X′) ∈ S) + δ",
            "The paper's Definition 1, equation (1); X and X′ differ by one record.",
        ),
        Formula(
            r"\mathrm{TPR}\;\le\;\min\{\delta+e^{\varepsilon}\,\mathrm{FPR},\;"
            r"1-e^{-\varepsilon}(1-\delta-\mathrm{FPR})\}",
            "TPR ≤ min{ δ + e<sup>ε</sup> · FPR, 1 − e<sup>−ε</sup>(1 − δ − FPR) }",
            "Equation (1) with S = “the test says yes”, then with its opposite and X, X′ exchanged.",
        ),
        Formula(
            r"\frac{p'}{1-p'}\;\le\;\frac{\mathrm{TPR}}{\mathrm{FPR}}\cdot\frac{p}{1-p}",
            "p′/(1 − p′) ≤ (TPR/FPR) · p/(1 − p)",
            "Bayes' rule in odds: p is the belief before, p′ after a positive test.",
        ),
    ),
    look,
    "Upper bounds on any test, with any knowledge. Dot: a test with 1% false alarms.",
    "Participants found against outsiders falsely accused: guessing, the bound by (ε, δ), Gaussian noise.",
)

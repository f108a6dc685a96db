"""Lesson 3: composition. Basic, strong, moments and PLD over the steps, and why they differ."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard import charts, words
from dashboard.background import Later
from dashboard.formats import number
from dashboard.lessons.base import Formula, Lesson, Outcome
from dashboard.lessons.figures import figure, line
from dashboard.session import Number, log_stops
from vips_core import ACCOUNTANTS, PrivacyPlan

RECORDS = 1_000_000  # only the ratio q = S/N counts
STYLES = {
    "basic": (charts.PURPLE, "longdash", 20),
    "strong": (charts.VERMILION, "dash", 20),
    "moments": (charts.BLUE, "solid", 30),
    "pld": (charts.GREEN, "dot", 7),
}
NOISE = Number(
    "noise3", "Noise multiplier", 1.0, 0.5, 100, "Noise over what one record can move, in every step.",
    log_stops(0.5, 100),
)  # fmt: skip
RATE = Number(
    "q3", "Sampling rate q", 0.01, 1e-4, 1.0, "Chance of each record to be in a step's batch.",
    log_stops(1e-4, 1.0),
)  # fmt: skip
STEPS = Number(
    "steps3", "Steps T", 1000, 2, 10_000, "How often the data are used.",
    log_stops(2, 10_000, whole=True), whole=True,
)  # fmt: skip
DELTA = 1e-5


def plan_of(noise: float, rate: float, steps: int, delta: float) -> PrivacyPlan:
    """Return the plan with this sampling rate, to a millionth."""
    return PrivacyPlan(
        records=RECORDS, expected_batch=max(1, round(rate * RECORDS)), steps=steps,
        noise_multiplier=noise, delta=delta,
    )  # fmt: skip


def curve(plan: PrivacyPlan, accountant: str, points: int) -> tuple[charts.Array, charts.Array]:
    """ε after 1 to T steps, at about so many of them, equally far apart in logarithm."""
    steps = np.unique(np.geomspace(1, plan.steps, points).round().astype(int))
    return steps, np.array([plan.replace(steps=int(t)).epsilon(accountant) for t in steps])


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show ε over the steps by four accountants."""
    plan = plan_of(*(values[p.name] for p in (NOISE, RATE, STEPS)), DELTA)
    curves = {
        name: later(curve, plan, name, points) if ACCOUNTANTS[name].slow else curve(plan, name, points)
        for name, (_, _, points) in STYLES.items()
    }
    found = {name: each for name, each in curves.items() if each is not None}
    last = {name: float(each[1][-1]) for name, each in found.items()}
    traces = [
        line(ACCOUNTANTS[name].label, *each, *STYLES[name][:2], "T = %{x:,}: ε = %{y:.3g}",
             mode="lines+markers" if name == "pld" else "lines")
        for name, each in found.items()
        if revealed or name == "basic"
    ]  # fmt: skip
    spread = np.log10(np.clip([ends for each in found.values() for ends in each[1][[0, -1]]], 1e-6, None))
    drawn = figure(
        traces,
        charts.log_axis("Steps T (log scale)", -0.06, float(np.log10(plan.steps)) + 0.08),
        charts.log_axis("ε (log scale)", float(spread.min()) - 0.15, float(spread.max()) + 0.15),
    )
    return Outcome(
        tuple((f"ε, {ACCOUNTANTS[name].label}", name in last and number(last[name]) or None)
              for name in STYLES),
        drawn,
        lambda: pd.concat(
            [pd.DataFrame({"Accountant": ACCOUNTANTS[name].label, "Steps": steps, "ε": values})
             for name, (steps, values) in found.items()]
        ),
        _explanation(last, plan),
    )  # fmt: skip


def _explanation(last: Mapping[str, float], plan: PrivacyPlan) -> str:
    if "pld" not in last:
        return words.WAITING
    best, share = last["pld"], last["pld"] / last["basic"]
    return (
        f"After {plan.steps:,} steps the tightest ε is **{number(best)}**, {share:.2%} of the sum "
        f"{number(last['basic'])}. Basic and strong composition know one pair (ε, δ) of each step and assume "
        "the worst. Moments keep a curve for each step, and losses that are seldom large average out. PLD "
        "keeps the whole distribution."
    )


LESSON = Lesson(
    3,
    "Composition",
    "Composition: many small releases",
    "Training looks at the data again and again. Every look costs; accountants say how much in total.",
    "A training run takes 1,000 noisy steps. Basic composition adds up the steps' ε. How much of that sum "
    "does the tightest accountant charge for the very same run?",
    ("All of it: ε adds up", "About a half", "About a thirtieth, 1/√1,000", "Less than a hundredth"),
    3,
    "From α(λ) = λ(λ + 1)Δ²/(2σ²) for one full-batch step (paper §3.2), derive ε after T steps by equation "
    "(4) at the best real λ, and show that it grows like √T while T is small.",
    "With Δ = 1, ε(λ) = T(λ + 1)/(2σ²) + ln(1/δ)/λ. The best λ is σ√(2 ln(1/δ)/T), which gives "
    "ε = T/(2σ²) + √(2T ln(1/δ))/σ. The second term, in √T, leads while T < 8σ² ln(1/δ).",
    (NOISE, RATE, STEPS),
    (
        Formula(
            r"\textstyle\left(\sum_k\varepsilon_k,\;\sum_k\delta_k\right)",
            "(Σ ε<sub>k</sub>, Σ δ<sub>k</sub>)",
            "Basic composition: the paper's §2.3.",
        ),
        Formula(
            r"\alpha_{\mathcal M}(\lambda)\le\sum_{t=1}^{T}\alpha_{\mathcal M_t}(\lambda),\quad "
            r"\alpha_{\mathcal M_t}(\lambda)=\sup\log\mathbb E\,e^{\lambda L_{\mathcal M_t}}",
            "α(λ) ≤ Σ<sub>t</sub> α<sub>t</sub>(λ), α<sub>t</sub>(λ) = sup log E[exp(λ L<sub>t</sub>)]",
            "Moments add up: the paper's equations (2) and (3).",
        ),
        Formula(
            r"\delta=\min_\lambda \exp\left(\alpha_{\mathcal M}(\lambda)-\lambda\varepsilon\right)"
            r"\;\Longleftrightarrow\;\varepsilon=\min_\lambda"
            r"\frac{\alpha_{\mathcal M}(\lambda)+\ln(1/\delta)}{\lambda}",
            "δ = min<sub>λ</sub> exp(α(λ) − λε), so ε = min<sub>λ</sub> (α(λ) + ln(1/δ))/λ",
            "The paper's equation (4), solved for ε. Every integer λ up to 255 is tried here.",
        ),
    ),
    look,
    "The same noisy steps, judged in four ways, at δ = 1e-5. All are upper bounds. PLD is known at the dots.",
    "ε against the number of steps on logarithmic scales, by basic, strong, moments and PLD accounting.",
)

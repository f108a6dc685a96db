"""Composition: ε over the steps by basic and strong composition, moments and PLD, and why they differ."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.charts import WAITING
from dashboard.components.formats import at_most, brief
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import figure, swept
from vips_core import ACCOUNTANTS, PrivacyPlan, rounding
from vips_core.reports.figures import BLUE, FOOT, GREEN, PURPLE, VERMILION, Figure, log_axis, log_ends
from vips_core.reports.traces import Trace, line

STYLES = {  # colour, dash and number of points, fewer for slower accountants
    "basic": (PURPLE, "longdash", 20),
    "strong": (VERMILION, "dash", 20),
    "moments": (BLUE, "solid", 30),
    "pld": (GREEN, "dot", 7),
}
NOISE = base.noise_multiplier("composition", 50.0)
RATE = base.sampling_rate("composition", 1.0, least=1e-4)
STEPS = base.steps("composition", 1000, least=2, most=10_000)
DELTA = 1e-5


def curve(plan: PrivacyPlan, accountant: str, points: int) -> pd.DataFrame:
    """Return ε after 1 to T steps, at about `points` of them, equally spaced in logarithm."""
    steps = np.unique(np.geomspace(1, plan.steps, points).round().astype(int))
    epsilons = [plan.replace(steps=int(t)).epsilon(accountant) for t in steps]
    return pd.DataFrame({"Steps": steps, "ε": epsilons})


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show ε over the steps by four accountants."""
    plan = base.sampled_plan(values[NOISE.name], values[RATE.name], values[STEPS.name], DELTA)
    curves: dict[str, pd.DataFrame] = {}
    for name, (_, _, points) in STYLES.items():
        found = later(curve, plan, name, points) if ACCOUNTANTS[name].slow else curve(plan, name, points)
        if found is not None:
            curves[name] = found
    last = {name: float(found["ε"].iloc[-1]) for name, found in curves.items()}
    shown = {name: found for name, found in curves.items() if revealed or name == "basic"}
    ends = [end for found in curves.values() for end in found["ε"].iloc[[0, -1]]]
    axes = (
        log_axis("Steps T (log scale)", -0.06, float(np.log10(plan.steps)) + 0.08),
        log_axis("ε (log scale)", *log_ends(ends, 0.15)),
    )

    def until(last: float) -> Figure:
        """Draw the curves of the first steps."""
        return figure([_trace(name, found[found["Steps"] <= last]) for name, found in shown.items()], *axes)

    labelled = {ACCOUNTANTS[name].label: found for name, found in curves.items()}
    return Outcome(
        numbers=tuple(
            (f"ε, {ACCOUNTANTS[name].label}", at_most(last[name]) if name in last else None)
            for name in STYLES
        ),
        figure=swept(until, np.geomspace(1, plan.steps, 16).round(), "T"),
        table=lambda: pd.concat(labelled, names=["Accountant"]).reset_index("Accountant"),
        explanation=_explanation(last, plan, curves["moments"]),
    )


def _trace(name: str, found: pd.DataFrame) -> Trace:
    colour, dash, _ = STYLES[name]
    mode = "lines+markers" if name == "pld" else "lines"
    hover, drawn = "T = %{x:,}: ε = %{y:.4g}", rounding.each_up(np.maximum(found["ε"], FOOT))
    return line(ACCOUNTANTS[name].label, found["Steps"], drawn, colour, dash, hover, mode=mode)


def _explanation(last: Mapping[str, float], plan: PrivacyPlan, by_moments: pd.DataFrame) -> str:
    if "pld" not in last:
        return WAITING
    single, exact = (plan.replace(steps=1).epsilon(name) for name in ("moments", "basic"))
    return (
        f"After {plan.steps:,} steps the tightest ε is **{at_most(last['pld'])}**, "
        f"{_relative_to_sum(last['pld'], last['basic'])}. Basic and strong composition keep one pair (ε, δ) "
        "for each step, with a share of δ each, and assume the worst case. Moments keep a curve for each "
        "step, so that rare large losses average out. PLD keeps the whole distribution of the loss. For a "
        f"single step, moments give {at_most(single)} and basic {at_most(exact)}: converting a curve into "
        f"one ε (equation 4) wastes a little, once. {_crossing(plan, by_moments)}"
    )


def _relative_to_sum(best: float, basic: float) -> str:
    if basic == 0:
        return f"as is the sum: δ = {brief(DELTA)} alone covers everything these steps reveal"
    return f"{best / basic:.1%} of the sum {at_most(basic)}"


def _crossing(plan: PrivacyPlan, by_moments: pd.DataFrame) -> str:
    """State the last number of steps at which moments exceed basic composition."""
    at_steps = zip(by_moments["Steps"].tolist(), by_moments["ε"], strict=True)
    above = [t for t, epsilon in at_steps if epsilon > plan.replace(steps=t).epsilon("basic")]
    if not above:
        return "Here moments never exceed basic composition."
    if max(above) == plan.steps:
        return "Here moments exceed basic composition up to the last step."
    return f"So moments exceed basic composition up to T = {max(above):,}, and are far below it after that."


LESSON = lesson(__file__, parameters=(NOISE, RATE, STEPS), look=look)

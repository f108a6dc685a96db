"""The plan that the Plan page's inputs describe, its privacy cost, and the cost of similar plans."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import at_most
from dashboard.components.price import Price
from dashboard.state import log_stops
from dashboard.views.plan.form import BATCH, EPOCHS, NOISE, PlanInputs
from vips_core import ACCOUNTANTS, AttackRisk, PrivacyPlan, rounding
from vips_core.kernels import Array
from vips_core.privacy import calibration, moments
from vips_core.privacy.accountants import Account
from vips_core.privacy.events import MOST_STEPS

FALSE_ALARMS = (0.001, 0.01, 0.05)  # false positive rates that the page quotes, as membership audits do
LARGE_EPSILON = 10.0  # ε above which published guarantees are rare and the page warns
USUAL_NOISE = (0.3, 30.0)  # range of σ on the surface: from ε far above 10 to ε far below 1 for most plans
# Cells of the surface: about equally spaced in logarithm, and wide enough to click.
_CELLS = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)  # round values in a decade
SIGNAL = "Signal-to-noise ratio (this plan: 1)"  # column and axis
_TIMES_THE_EPOCHS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)  # lengths of training compared with the plan's


def make_plan(inputs: PlanInputs) -> PrivacyPlan:
    """Return the plan that the inputs describe, or raise `ValueError` with one sentence."""
    if inputs.solve == EPOCHS.name:
        plan = _plan(inputs, inputs.expected_batch, steps=1)
        return plan.calibrate(inputs.target, inputs.accountant, solve="steps")
    if inputs.solve == BATCH.name:
        return _with_largest_batch(inputs)
    plan = _plan_within_epochs(inputs, inputs.expected_batch)
    if inputs.by_risk:
        return plan.calibrate_to_risk(inputs.risk_limit)
    return plan.calibrate(inputs.target, inputs.accountant) if inputs.solve == NOISE.name else plan


def _with_largest_batch(inputs: PlanInputs) -> PrivacyPlan:
    def excess(batch: int) -> float:
        return _plan_within_epochs(inputs, batch).epsilon(inputs.accountant) - inputs.target

    batch = calibration.largest_batch(excess, inputs.epochs * inputs.records, inputs.records)
    if batch < 1:
        raise ValueError(
            f"No batch size meets ε = {inputs.target:g} with noise σ = {inputs.noise_multiplier:g} in "
            f"{inputs.epochs:g} epochs: choose more noise or fewer epochs."
        )
    return _plan_within_epochs(inputs, batch)


def _plan_within_epochs(inputs: PlanInputs, batch: int) -> PrivacyPlan:
    steps = inputs.epochs * inputs.records / batch
    if steps > MOST_STEPS:
        raise ValueError(
            f"This plan would take {steps:,.0f} steps, but accountants handle at most {MOST_STEPS:,}: "
            "choose a larger batch or fewer epochs."
        )
    return _plan(inputs, batch, epochs=inputs.epochs)


def _plan(inputs: PlanInputs, batch: int, **length: Any) -> PrivacyPlan:
    """Return the plan with this batch size, and with its length given as `epochs` or `steps`."""
    noise = None if inputs.solve == NOISE.name else inputs.noise_multiplier
    return PrivacyPlan(
        records=inputs.records, expected_batch=batch, noise_multiplier=noise, delta=inputs.delta, **length
    )


def all_accounts(item: Price) -> dict[str, Account]:
    """Return ε by every accountant."""
    missing = [name for name in ACCOUNTANTS if name not in item.accounts]
    return {**item.accounts, **item.plan.accounts(missing)}


def participants_found(risk: AttackRisk) -> list[tuple[float, float]]:
    """Return the false positive rates that the page quotes, with the share of participants found at each."""
    return list(zip(FALSE_ALARMS, risk.true_positive_rate(FALSE_ALARMS).tolist(), strict=True))


def cautions(item: Price) -> list[str]:
    """Return warnings about this plan's guarantee and its accounting."""
    notes = [f"Moments: {item.accounts['moments'].note}"] if item.accounts["moments"].note else []
    if item.tightest_epsilon > LARGE_EPSILON:
        notes.append(
            f"ε = {at_most(item.tightest_epsilon)} promises little: a release may expose anyone in its "
            "batch. Values up to 10 are usual; below 1 is strong."
        )
    return item.plan.warnings() + notes


def trajectory(plan: PrivacyPlan, accountant: str, points: int) -> pd.DataFrame:
    """Return ε after 1 to T steps, at about `points` of them."""
    steps = np.unique(np.linspace(1, plan.steps, points).round().astype(int))
    epsilons = [plan.replace(steps=int(t)).epsilon(accountant) for t in steps]
    return pd.DataFrame({"Iterations": steps, "ε": epsilons})


def trajectories(plan: PrivacyPlan, later: Later) -> dict[str, pd.DataFrame]:
    """Return ε over the steps by moments, and by the slower accountants as soon as they are done."""
    curves = {"moments": trajectory(plan, "moments", 60)}
    for name, points in (("strong", 30), ("pld", 10)):
        curve = later(trajectory, plan, name, points)
        if curve is not None:
            curves[name] = curve
    return curves


@dataclass(frozen=True, eq=False)
class Surface:
    """ε by moments (batch × noise) at round batch sizes and noise multipliers."""

    batches: Array
    noise: Array
    epsilon: Array


def surface(records: int, epochs: float, delta: float, noise_range: tuple[float, float]) -> Surface:
    """Return ε over all batch sizes and a range of noise multipliers."""
    noise = _round_values(*noise_range)
    least = max(1, math.ceil(epochs * records / MOST_STEPS))  # longer plans are refused
    batches = np.unique(_round_values(least, records).round())
    steps = np.maximum(1, np.floor(epochs * records / batches + 1e-9))
    epsilon = moments.surface(batches / records, steps, noise, delta)
    return Surface(batches, noise, np.reshape(rounding.each_up(epsilon.ravel()), epsilon.shape))


def _round_values(low: float, high: float) -> Array:
    """Return the round numbers in a range, which a click on the surface takes; fewer in a wide range."""
    every = 1 if math.log10(high / low) < 6.5 else 2
    return np.array(log_stops(low, high, mantissas=_CELLS[::every]))


def surface_window(plan: PrivacyPlan, inputs: PlanInputs) -> tuple[int, float, float, tuple[float, float]]:
    """Return the arguments of the surface around a plan; most moves of σ or S leave them unchanged.

    The range of σ is the usual one, extended to the decade of the plan's σ if necessary.
    """
    noise, (low, high) = plan.require_noise_multiplier(), USUAL_NOISE
    decade = math.log10(noise)
    noise_range = (
        low if noise >= low else 10.0 ** math.floor(decade),
        high if noise <= high else 10.0 ** math.ceil(decade),
    )
    return plan.records, _epochs(plan, inputs), plan.delta, noise_range


def more_epochs(plan: PrivacyPlan) -> pd.DataFrame:
    """Return the noise that keeps ε by moments, and the resulting signal, at ¼ to 32 times the epochs."""
    epsilon, rows = plan.epsilon("moments"), []
    for times in _TIMES_THE_EPOCHS:
        other = _at_epsilon(epsilon, plan, round(times * plan.steps))
        if other is not None:
            rows.append((other.epochs, other.noise_multiplier, other.signal_to_noise / plan.signal_to_noise))
    return pd.DataFrame(rows, columns=["Epochs", "Noise σ", SIGNAL])


def _at_epsilon(epsilon: float, plan: PrivacyPlan, steps: int) -> PrivacyPlan | None:
    """Return the plan with this many steps and this ε by moments, or None if no noise gives it."""
    if steps == plan.steps:
        return plan
    if not (1 <= steps <= MOST_STEPS and epsilon > 0):
        return None
    try:
        return plan.replace(steps=steps).calibrate(epsilon, "moments")
    except ValueError:
        return None


def hand_over(plan: PrivacyPlan, inputs: PlanInputs) -> dict[str, str]:
    """Return the plan as values in a model page's address."""
    if inputs.solve == NOISE.name and not inputs.by_risk:
        noise = {"epsilon": str(inputs.target), "accountant": inputs.accountant}
    else:
        sigma = plan.require_noise_multiplier()
        # Rounding up adds noise, so that the target still holds.
        noise = {"noise": str(rounding.up(sigma) if inputs.solve == NOISE.name else sigma)}
    return noise | {
        "n": str(plan.records),
        "batch": str(plan.expected_batch),
        "epochs": f"{_epochs(plan, inputs):.6g}",
        "delta": str(plan.delta),
    }


def _epochs(plan: PrivacyPlan, inputs: PlanInputs) -> float:
    """Return the epochs as typed unless they were solved for, because the plan rounds T down."""
    return plan.epochs if inputs.solve == EPOCHS.name else inputs.epochs

"""What the Plan page asks of the core: the plan that its inputs make, its costs, and those of others."""

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st

from dashboard.background import Later
from dashboard.components.bounds import at_most
from dashboard.components.price import Price, price
from dashboard.state import log_stops
from dashboard.views.plan.parameters import BATCH, EPOCHS, NOISE, PlanInputs
from vips_core import PrivacyPlan, rounding
from vips_core.kernels import Array
from vips_core.privacy import calibration, moments
from vips_core.privacy.accountants import Account
from vips_core.privacy.events import MOST_STEPS

FALSE_ALARMS = (0.001, 0.01, 0.05)
LARGE_EPSILON = 10.0
USUAL_NOISE = (0.3, 30.0)
_CELLS = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)  # of a decade of the surface
_TIMES_THE_EPOCHS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)


def make_plan(inputs: PlanInputs) -> PrivacyPlan:
    """Return the plan that is asked for; `ValueError` with one sentence where there is none."""
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
            f"This plan would take {steps:,.0f} steps, more than the {MOST_STEPS:,} that are accounted for "
            "here: choose a larger batch or fewer epochs."
        )
    return _plan(inputs, batch, epochs=inputs.epochs)


def _plan(
    inputs: PlanInputs, batch: int, epochs: float | None = None, steps: int | None = None
) -> PrivacyPlan:
    return PrivacyPlan(
        records=inputs.records,
        expected_batch=batch,
        epochs=epochs,
        steps=steps,
        noise_multiplier=None if inputs.solve == NOISE.name else inputs.noise_multiplier,
        delta=inputs.delta,
    )


@st.cache_data(max_entries=2000, show_spinner=False)
def all_accounts(plan: PrivacyPlan) -> dict[str, Account]:
    """Return what every accountant says."""
    return plan.accounts()


@dataclass(frozen=True)
class Outlook:
    """What a plan costs, what it gives away to subsampling, and what attacks can do."""

    price: Price
    efficiency: float
    roc: tuple[Array, Array]

    @property
    def participants_found(self) -> list[tuple[float, float]]:
        """The false alarm rates that are spoken of, with the share of participants found."""
        return list(zip(FALSE_ALARMS, self.price.risk.true_positive_rate(FALSE_ALARMS).tolist(), strict=True))


def outlook(plan: PrivacyPlan) -> Outlook:
    """Return what follows from a plan's privacy loss distribution."""
    priced = price(plan)
    return Outlook(priced, plan.efficiency, priced.risk.curve())


def cautions(item: Price) -> list[str]:
    """Return what weakens this plan's guarantee or its accounting."""
    notes = [f"Moments: {item.accounts['moments'].note}"] if item.accounts["moments"].note else []
    if item.tightest_epsilon > LARGE_EPSILON:
        notes.append(
            f"ε = {at_most(item.tightest_epsilon)} promises little: whoever is drawn into a batch may be "
            "laid open. Values up to 10 are usual, and below 1 is strong."
        )
    return item.plan.warnings() + notes


def trajectory(plan: PrivacyPlan, accountant: str, points: int) -> tuple[Array, Array]:
    """ε after 1 to T steps, at about so many of them."""
    steps = np.unique(np.linspace(1, plan.steps, points).round().astype(int))
    return steps, np.array([plan.replace(steps=int(t)).epsilon(accountant) for t in steps])


def trajectories(plan: PrivacyPlan, later: Later) -> dict[str, tuple[Array, Array]]:
    """ε over the steps by moments, and by the slower accountants once they have answered."""
    curves = {"moments": trajectory(plan, "moments", 60)}
    for name, points in (("strong", 30), ("pld", 10)):
        curve = later(trajectory, plan, name, points)
        if curve is not None:
            curves[name] = curve
    return curves


@dataclass(frozen=True, eq=False)
class Surface:
    """ε by moments (batch × noise) for every pair of a batch size and a noise multiplier, at round values."""

    batches: Array
    noise: Array
    epsilon: Array


def surface(records: int, epochs: float, delta: float, noise_range: tuple[float, float]) -> Surface:
    """Return the surface over all batch sizes, and over noise multipliers in a range."""
    noise = _round_values(*noise_range)
    least = max(1, math.ceil(epochs * records / MOST_STEPS))  # no plan of more steps comes here
    batches = np.unique(_round_values(least, records).round())
    steps = np.maximum(1, np.floor(epochs * records / batches + 1e-9))
    epsilon = moments.surface(batches / records, steps, noise, delta)
    return Surface(batches, noise, np.reshape(rounding.each_up(epsilon.ravel()), epsilon.shape))


def _round_values(low: float, high: float) -> Array:
    """Return round numbers, so that a click on the surface takes round values; fewer where it is wide."""
    every = 1 if math.log10(high / low) < 6.5 else 2
    return np.array(log_stops(low, high, mantissas=_CELLS[::every]))


def surface_window(plan: PrivacyPlan, inputs: PlanInputs) -> tuple[int, float, float, tuple[float, float]]:
    """Return the arguments of the surface that shows this plan; moving σ or S keeps them.

    The range of σ is the usual one, or goes on to the decade that the plan's σ lies in.
    """
    noise, (low, high) = plan.require_noise_multiplier(), USUAL_NOISE
    decade = math.log10(noise)
    noise_range = (
        low if noise >= low else 10.0 ** math.floor(decade),
        high if noise <= high else 10.0 ** math.ceil(decade),
    )
    return plan.records, _epochs(plan, inputs), plan.delta, noise_range


@dataclass(frozen=True)
class Gain:
    """What other numbers of epochs give at the same ε and S: noise, and signal over noise against now."""

    epochs: Array
    noise: Array
    factor: Array


def more_epochs(plan: PrivacyPlan) -> Gain:
    """Return what a quarter to 32 times the epochs would buy, each with the noise that keeps ε by moments."""
    others = [_at_same_epsilon(plan, round(times * plan.steps)) for times in _TIMES_THE_EPOCHS]
    rows = [
        (other.epochs, other.noise_multiplier, other.signal_to_noise / plan.signal_to_noise)
        for other in others
        if other is not None
    ]
    return Gain(*np.array(rows).T)


def _at_same_epsilon(plan: PrivacyPlan, steps: int) -> PrivacyPlan | None:
    """Return the plan of so many steps with the same ε by moments; None where no noise gives it."""
    if steps == plan.steps:
        return plan
    epsilon = plan.epsilon("moments")
    if not (1 <= steps <= MOST_STEPS and epsilon > 0):
        return None
    try:
        return plan.replace(steps=steps).calibrate(epsilon, "moments")
    except ValueError:
        return None


def hand_over(plan: PrivacyPlan, inputs: PlanInputs) -> dict[str, str]:
    """Return the plan as values of a model page's address."""
    if inputs.solve == NOISE.name and not inputs.by_risk:
        noise = {"epsilon": str(inputs.target), "accountant": inputs.accountant}
    else:
        sigma = plan.require_noise_multiplier()
        # More noise keeps what was asked for.
        noise = {"noise": str(rounding.up(sigma) if inputs.solve == NOISE.name else sigma)}
    return noise | {
        "n": str(plan.records),
        "batch": str(plan.expected_batch),
        "epochs": f"{_epochs(plan, inputs):.6g}",
        "delta": str(plan.delta),
    }


def _epochs(plan: PrivacyPlan, inputs: PlanInputs) -> float:
    """Return the epochs as they were typed, where the plan is not solved for them: T is rounded down."""
    return plan.epochs if inputs.solve == EPOCHS.name else inputs.epochs

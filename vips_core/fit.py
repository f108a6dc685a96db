"""The only training loop (the paper's Algorithm 2): release, update, repeat."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from vips_core.models.base import Data, Model, Params
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import release


@dataclass(frozen=True)
class Progress(Generic[Params]):
    """Where a run stands after a step: all of it is public."""

    step: int
    plan: PrivacyPlan
    params: Params
    ledger: Ledger


@dataclass(frozen=True)
class Fit(Generic[Params]):
    """A trained model with the ledger of what its training released."""

    model: Any
    params: Params
    ledger: Ledger
    plan: PrivacyPlan

    def epsilon(self, accountant: str = "pld", delta: float | None = None) -> float:
        """ε of what was really released, at the plan's δ unless another is given."""
        return self.ledger.epsilon(self.plan.delta if delta is None else delta, accountant)


def fit(
    model: Model[Params, Data],
    data: Data,
    plan: PrivacyPlan,
    *,
    seed: int | None = None,
    on_step: Callable[[Progress[Params]], object] | None = None,
) -> Fit[Params]:
    """Train `model` on `data` within `plan`.

    Parameters
    ----------
    seed
        None draws from the operating system's entropy. A number repeats the run exactly, and the ledger
        marks it as a demonstration, because whoever knows the seed can subtract the noise.
    on_step
        Called after every step with its `Progress`; if it returns True, the run stops there, and the
        result holds what was released until then.
    """
    plan.require_noise_multiplier()
    if len(data) != plan.records:
        raise ValueError(f"the plan is for {plan.records} records, but the data has {len(data)}")
    init_rng, wall_rng = np.random.default_rng(seed).spawn(2)
    ledger = Ledger(plan.records, seeded=seed is not None)
    params = model.init(plan, init_rng)
    for step in range(plan.steps):
        released = release(model, params, data, plan, step, wall_rng, ledger)
        params = model.m_step(params, released, step)
        if on_step is not None and on_step(Progress(step + 1, plan, params, ledger)) is True:
            break
    return Fit(model, params, ledger, plan)


def recommend(model: Any, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
    """Return the plan that suits `model` best within a compute of `epochs` passes; public quantities only.

    A model may have a rule of its own. Without one, `efficiency` decides: full batches lose nothing to
    subsampling, so they are taken as soon as one pass is allowed; below that, one batch as large as the
    compute allows.
    """
    if not (math.isfinite(epochs) and epochs > 0):
        raise ValueError(f"epochs must be a finite number above 0, got {epochs}")
    rule = getattr(model, "recommend", None)
    if rule is not None:
        plan: PrivacyPlan = rule(records=records, epsilon=epsilon, delta=delta, epochs=epochs)
        return plan
    return most_efficient(records=records, epsilon=epsilon, delta=delta, epochs=epochs)


def most_efficient(*, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
    """Return the plan with the highest efficiency within `epochs`, and with the most steps among equals."""
    batch = records if epochs >= 1 else max(1, math.floor(epochs * records))
    steps = math.floor(epochs) if epochs >= 1 else 1
    return PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta).calibrate(epsilon)

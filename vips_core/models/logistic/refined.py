"""Refined logistic regression: `descent`, or without noise `exact`.

What did not help: one release at m = 0 with ⟨ξ⟩ = ¼ (the class imbalance hides the signal), the majoriser
⟨ξ⟩xxᵀ as curvature of Newton steps, rescaling long rows instead of weighting them, a choice of regimes by
N, d and μ (no threshold is right for all tables).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vips_core.kernels import Array
from vips_core.models.base import Block, Released, most_efficient
from vips_core.models.logistic.coordinates import RADIUS
from vips_core.models.logistic.descent import A_PRIORI, STEPS, Descent
from vips_core.models.logistic.exact import Exact
from vips_core.models.logistic.paces import PRIOR
from vips_core.models.logistic.params import LogisticParams
from vips_core.models.logistic.state import DescentParams
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

if TYPE_CHECKING:
    from vips_core.models.logistic.model import BayesianLogistic


def expected_signal(plan: PrivacyPlan, features: int) -> float:
    """Return the signal over noise of an average coefficient of balanced classes, from public quantities.

    It is s of `descent`. Below 1 noise is larger than what most coefficients can show.

    Examples
    --------
    >>> plan = PrivacyPlan(records=400, expected_batch=400, steps=16, noise_multiplier=60.0, delta=1e-6)
    >>> round(expected_signal(plan, 32), 1)
    0.6
    """
    curvature = plan.records * A_PRIORI[0] / 2 / (RADIUS**2 * (features + 1))
    return float(curvature * PRIOR / math.sqrt(plan.signal_to_noise**-2 + curvature))


class Refined:
    """The variant's answers to the loop; see `vips_core.models.base.Variant`."""

    def __init__(self, model: "BayesianLogistic") -> None:
        self.exact, self.descent = Exact(model), Descent(model)

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> LogisticParams | DescentParams:
        """Return the prior."""
        return self._way(plan).init(plan, rng)

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the statistics of a step."""
        return self._way(plan).blocks(plan, step)

    def sums(
        self, params: LogisticParams | DescentParams, batch: Table, blocks: Mapping[str, Block]
    ) -> dict[str, Array]:
        """Return the sums of a step."""
        if isinstance(params, DescentParams):
            return self.descent.sums(params, batch, blocks)
        return self.exact.sums(params, batch, blocks)

    def update(
        self, params: LogisticParams | DescentParams, released: Released, step: int
    ) -> LogisticParams | DescentParams:
        """Parameters after a release."""
        if isinstance(params, DescentParams):
            return self.descent.update(params, released, step)
        return self.exact.update(params, released, step)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Full batches, which lose nothing to subsampling, and at most 16 steps of them."""
        return most_efficient(records=records, epsilon=epsilon, delta=delta, epochs=min(epochs, STEPS))

    def _way(self, plan: PrivacyPlan) -> Exact | Descent:
        return self.exact if plan.noise_multiplier == 0 else self.descent

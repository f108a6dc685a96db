"""Logistic regression by differentially private gradient descent (Abadi et al. 2016), on the same wall.

| symbol | code      | shape |
|--------|-----------|-------|
| w      | `weights` | (d,)  |
| w̄      | `mean`    | (d,), average of the iterates of the second half |
| C      | `clip`    | scalar, norm to which a record's gradient is clipped |

Clip (a third of the norm bound), batches (a hundredth of the records) and learning rate √(N·μ/d)/(3C²), with
μ = q√T/noise_multiplier, were fitted by eye to AUC on generated cohorts (`stroke_cohort`, seeds 100 to 102,
4,000 or 40,000 patients, 60 or 1,000 features). The rate's limits, 1/C² and 16/C², were set after looking
at two of the compared data sets (a cohort of the paper's shape and a health survey), in this rival's favour.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from vips_core import validate
from vips_core.kernels import Array
from vips_core.models.base import Block, Fitted, Raw, Released
from vips_core.models.logistic.statistics import clipped_gradient
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

STEPS_PER_EPOCH = 100
RATE_RANGE = (1.0, 16.0)


@dataclass(frozen=True)
class GradientParams:
    """The current iterate and the average of the iterates so far in the second half."""

    rate: float
    steps: int
    weights: Array
    mean: Array


@dataclass(frozen=True)
class PrivateGradientDescent:
    """DP-SGD: clipped gradient sums on Poisson batches, averaged iterates.

    Parameters
    ----------
    features
        Names of the columns.
    norm_bound
        Public bound on the L2 norm of a row.
    clip
        Norm to which each record's gradient is clipped; None is a third of norm_bound.
    learning_rate
        Step on the average gradient, in units of 1/clip²; None follows the plan.

    Examples
    --------
    >>> import vips_core as vips
    >>> rows = Table([[1.0], [1.0], [-1.0]] * 50, [1, 1, 0] * 50, ("a",), norm_bound=1.0)
    >>> plan = vips.PrivacyPlan(records=150, expected_batch=30, steps=20, noise_multiplier=1.0, delta=1e-3)
    >>> fit = vips.fit(PrivateGradientDescent(rows.feature_names), rows, plan, seed=0)
    >>> bool(fit.params.mean[0] > 0)
    True
    """

    features: tuple[str, ...]
    norm_bound: float = 1.0
    clip: float | None = None
    learning_rate: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise ValueError(f"features must be at least one name, got {self.features!r}")
        validate.positive("norm_bound", self.norm_bound)
        if self.clip is not None:
            validate.positive("clip", self.clip)
        validate.number("the clip", self._clip, low=1e-100)  # its square is divided by
        if self.learning_rate is not None:
            validate.positive("learning_rate", self.learning_rate)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Batches of a hundredth of the records, as many as `epochs` allows, calibrated by PLD."""
        batch = max(1, records // STEPS_PER_EPOCH)
        plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
        return plan.calibrate(epsilon)

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> GradientParams:
        """Zero weights, and the step on a sum of gradients."""
        zeros, rate = np.zeros(len(self.features)), self.learning_rate
        if rate is None:
            rate = math.sqrt(plan.records * plan.signal_to_noise / len(self.features)) / 3
            rate = min(max(rate, RATE_RANGE[0]), RATE_RANGE[1])
        return GradientParams(rate / (self._clip**2 * plan.records), plan.steps, zeros, zeros)

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """One block, the gradient."""
        return {"gradient": Block(self._clip, shape=(len(self.features),))}

    def e_step(self, params: GradientParams, batch: Table, blocks: Mapping[str, Block]) -> Raw:
        """Sum of clipped gradients at the current weights."""
        return Raw({"gradient": clipped_gradient(batch, params.weights, blocks["gradient"])})

    def m_step(self, params: GradientParams, released: Released, step: int) -> GradientParams:
        """One gradient step; iterates of the second half are averaged."""
        weights = params.weights + params.rate * released.total("gradient")
        counted = max(step + 1 - params.steps // 2, 1)
        mean = params.mean + (weights - params.mean) / counted
        return GradientParams(params.rate, params.steps, weights, mean)

    def predict_probability(self, fit: Fitted[GradientParams], rows: Table) -> Array:
        """Return P(y = 1 | x) at the averaged weights.

        Parameters
        ----------
        fit
            This model, fitted.
        rows
            People; their labels are not read.

        Returns
        -------
        array
            One probability a row.
        """
        return np.asarray(expit(rows.x @ fit.params.mean))

    @property
    def _clip(self) -> float:
        return self.norm_bound / 3 if self.clip is None else self.clip

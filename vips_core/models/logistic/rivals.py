"""Rivals of Bayesian logistic regression: DP-SGD, and private ERM by objective perturbation.

DP-SGD (Abadi et al. 2016) runs on the same wall:

| symbol | code      | shape |
|--------|-----------|-------|
| w      | `weights` | (d,)  |
| w̄      | `mean`    | (d,), average of the iterates of the second half |
| C      | `clip`    | scalar, norm to which a record's gradient is clipped |

The clip (a third of the norm bound), batches (a hundredth of the records) and the learning rate
√(N·μ/d)/(3C²), with μ = q√T/noise_multiplier, were fitted by eye to AUC on generated cohorts
(`stroke_cohort`, seeds 100 to 102, 4,000 or 40,000 patients, 60 or 1,000 features). The rate's limits, 1/C²
and 16/C², were set after looking at two of the compared data sets (a cohort of the paper's shape and a health
survey), in this rival's favour.

Objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2) adds noise to the loss:

| symbol | code       | shape |
|--------|------------|-------|
| n, d   | `n`, `d`   | scalars |
| Λ      | `penalty`  | scalar, strength of the ridge per record |
| Δ      | `extra`    | scalar, extra ridge if ε is too small for Λ |
| b      | `noise`    | (d,), density ∝ exp(−ε'‖b‖/2) |

Its guarantee is pure ε-DP (δ = 0), in that respect stronger than the other methods' (ε, δ). It is for
replacing one record by another, while the rest of the package replaces a record by nothing. It holds for the
exact minimiser, so the solver runs until the gradient is below 1e-8. Rows are scaled to length 1 at most.

If a person may have several rows, a record's loss is their average. Step 1 of the algorithm then charges
2c/(nΛ) instead of 2·log(1 + c/(nΛ)): the Hessian of an average has trace ≤ c, but not rank 1, and the
determinant of I + E is at most exp(trace norm of E).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used
from scipy import sparse
from scipy.special import expit

from vips_core import validate
from vips_core.kernels import Array
from vips_core.kernels.exact import lowered
from vips_core.models.base import Block, Fitted, Raw, Released
from vips_core.models.logistic import kernels
from vips_core.models.logistic.sums import at_most, norms, row_sum
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

STEPS_PER_EPOCH = 100  # batches in one pass over the data, in a recommended plan of DP-SGD
RATE_RANGE = (1.0, 16.0)  # limits of DP-SGD's default learning rate, in units of 1/clip²
SMOOTHNESS = 0.25  # c, the largest second derivative of the logistic loss
PENALTY_PER_NOISE = 0.1  # Λ over the noise's length per record; `public_penalty` explains the choice


@dataclass(frozen=True)
class GradientParams:
    """Current iterate, and average of the iterates in the second half of the steps."""

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
        Norm to which each record's gradient is clipped; None takes a third of norm_bound.
    learning_rate
        Step on the average gradient, in units of 1/clip²; None computes it from the plan.

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
        validate.number("the clip", self._clip, low=1e-100)  # its square is a divisor
        if self.learning_rate is not None:
            validate.positive("learning_rate", self.learning_rate)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return a plan with batches of a hundredth of the records, calibrated by PLD."""
        batch = max(1, records // STEPS_PER_EPOCH)
        plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
        return plan.calibrate(epsilon)

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> GradientParams:
        """Return zero weights, and the step on a sum of gradients."""
        zeros, rate = np.zeros(len(self.features)), self.learning_rate
        if rate is None:
            rate = math.sqrt(plan.records * plan.signal_to_noise / len(self.features)) / 3
            rate = min(max(rate, RATE_RANGE[0]), RATE_RANGE[1])
        return GradientParams(rate / (self._clip**2 * plan.records), plan.steps, zeros, zeros)

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return one block, the gradient."""
        return {"gradient": Block(self._clip, shape=(len(self.features),))}

    def e_step(self, params: GradientParams, batch: Table, blocks: Mapping[str, Block]) -> Raw:
        """Return the sum of clipped gradients at the current weights."""
        return Raw({"gradient": clipped_gradient(batch, params.weights, blocks["gradient"])})

    def m_step(self, params: GradientParams, released: Released, step: int) -> GradientParams:
        """Take one gradient step, and average the iterates of the second half."""
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


def clipped_gradient(batch: Table, point: Array, block: Block) -> Array:
    """Return Σ of each row's gradient (y − p)x, scaled down to the block's bound if it is longer."""
    x, y, row_weights = batch.x, batch.y.astype(np.float64), batch.row_weights
    bound = lowered(block.bound, cells=x.shape[1])
    if sparse.issparse(x):
        residual = y - expit(x @ point)
        within = at_most(bound, np.abs(residual) * norms(x))
        return row_sum(x, row_weights * residual * within, block.grid)
    steps = np.zeros(x.shape[1])
    kernels.add_clipped_gradients(x, y, row_weights, point, bound, block.grid, steps)
    return steps * block.grid


def public_penalty(n: int, d: int, epsilon: float) -> float:
    """Return Λ from public quantities: the noise's length per record, 2d/(nε), times a constant.

    The constant was chosen among powers of 10 from 0.001 to 10 by AUC on generated cohorts (`stroke_cohort`,
    4,000 patients, seeds 100 to 102): it was best with 60 features; with 1,000, 0.01 was slightly better. It
    was not chosen on the data that are compared.

    Parameters
    ----------
    n, d
        Records and features.
    epsilon
        ε.

    Returns
    -------
    float
        Λ.

    Examples
    --------
    >>> public_penalty(n=1000, d=10, epsilon=1.0)
    0.002
    """
    return PENALTY_PER_NOISE * 2 * d / (n * epsilon)


def fit_objective_perturbation(
    rows: Table,
    epsilon: float,
    rng: np.random.Generator,
    penalty: float | None = None,
    radius: float | None = None,
) -> Array:
    """Return ε-DP weights for rows in their own units.

    Parameters
    ----------
    rows
        The records.
    epsilon
        ε, for replacing one record at δ = 0.
    rng
        Source of the noise; the guarantee requires the operating system's entropy.
    penalty
        Λ; None takes `public_penalty`.
    radius
        Public length that becomes 1; longer rows are scaled down to it. None takes norm_bound/4.

    Returns
    -------
    array
        One weight for each feature.

    Examples
    --------
    >>> rows = Table([[1.0], [1.0], [-1.0]] * 50, [1, 1, 0] * 50, ("a",), norm_bound=1.0)
    >>> fit_objective_perturbation(rows, epsilon=1.0, rng=np.random.default_rng(0)).shape
    (1,)
    """
    n, d = len(rows), rows.x.shape[1]
    epsilon = validate.positive("epsilon", epsilon)
    radius = validate.positive("radius", rows.norm_bound / 4 if radius is None else radius)
    penalty = validate.positive("penalty", public_penalty(n, d, epsilon) if penalty is None else penalty)
    budget, extra = noise_budget(n, penalty, epsilon, several_rows=rows.persons is not None)
    direction = rng.standard_normal(d)
    noise = rng.gamma(d, 2 / budget) * direction / np.linalg.norm(direction)
    scale = lowered(1.0, cells=d) / np.maximum(norms(rows.x), radius)
    x = sparse.diags_array(scale) @ rows.x if sparse.issparse(rows.x) else rows.x * scale[:, None]
    sign, row_weights = 2.0 * rows.y - 1.0, rows.row_weights
    ridge = penalty + extra

    def objective(w: Array) -> tuple[float, Array]:
        margin = sign * (x @ w)
        loss = row_weights @ np.logaddexp(0.0, -margin) / n + noise @ w / n + ridge / 2 * (w @ w)
        return loss, x.T @ (-row_weights * sign * expit(-margin)) / n + noise / n + ridge * w

    options = {"maxiter": 10_000, "maxfun": 20_000, "gtol": 1e-8, "ftol": 0.0}
    solution = scipy.optimize.minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(solution.x / radius)


def noise_budget(n: int, penalty: float, epsilon: float, several_rows: bool = False) -> tuple[float, float]:
    """Return the noise's part of ε, and the extra ridge that it requires (steps 1 and 2 of the algorithm).

    Parameters
    ----------
    n
        Records.
    penalty
        Λ.
    epsilon
        ε.
    several_rows
        Whether a record may be a person with several rows.

    Returns
    -------
    budget, extra
        ε' of the noise, and the extra ridge Δ, for loss smoothness c = ¼.

    Examples
    --------
    >>> budget, extra = noise_budget(n=1000, penalty=0.01, epsilon=1.0)
    >>> round(budget, 4), extra
    (0.9506, 0.0)
    """
    ratio = SMOOTHNESS / (n * penalty)
    budget = epsilon - (2 * ratio if several_rows else math.log(1 + 2 * ratio + ratio**2))
    if budget > 0:
        return budget, 0.0
    allowed = epsilon / 4 if several_rows else math.expm1(epsilon / 4)
    return epsilon / 2, SMOOTHNESS / (n * allowed) - penalty

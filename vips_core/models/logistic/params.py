"""What Pólya–Gamma training remembers between steps: a posterior, and the averages of sums behind it.

| symbol   | code                | shape                                  |
|----------|---------------------|----------------------------------------|
| ⟨m⟩      | `mean`              | (d,)                                   |
| Σ        | `covariance`        | (d, d)                                 |
| ⟨α⟩      | `precision`         | scalar                                 |
| s̄₁, s̄₂   | `average_linear`, `average_curvature` | averages over steps  |
| a₀, b₀   | `prior_shape`, `prior_rate` | scalars, of the Gamma prior on α |
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vips_core.kernels import Array
from vips_core.models.base import Block, Released
from vips_core.models.logistic import statistics
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

if TYPE_CHECKING:
    from vips_core.models.logistic.model import BayesianLogistic


@dataclass(frozen=True)
class LogisticParams:
    """A Gaussian over the weights, ⟨α⟩, and the averages of sums that they come from.

    `privacy_variance` (d,) is how far the mean may lie from the estimate that the same data would give
    without noise.
    """

    records: int
    mean: Array
    covariance: Array
    precision: float
    privacy_variance: Array
    average_linear: Array
    average_curvature: Array
    linear_variance: float
    widening: ClassVar[float] = 1.0  # of intervals, as of `DescentParams`

    @property
    def coefficient_variance(self) -> Array:
        """Variance of each weight."""
        return np.asarray(np.diagonal(self.covariance))

    def log_odds(self, x: Any) -> tuple[Array, Array]:
        """Mean and variance of ψ = xᵀm over the posterior."""
        return np.asarray(x @ self.mean), statistics.quadratic_forms(x, self.covariance)


class PolyaGamma:
    """What variants with Pólya–Gamma statistics share of their answers to the loop."""

    def __init__(self, model: "BayesianLogistic") -> None:
        self.model = model

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> LogisticParams:
        """Return the prior: zero mean, covariance I/⟨α⟩, ⟨α⟩ = a₀/b₀."""
        d, precision = len(self.model.features), self.model.prior_shape / self.model.prior_rate
        return LogisticParams(
            records=plan.records,
            mean=np.zeros(d),
            covariance=np.eye(d) * (1 / precision),
            precision=precision,
            privacy_variance=np.zeros(d),
            average_linear=np.zeros(d),
            average_curvature=np.zeros((d, d)),
            linear_variance=0.0,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the two Pólya–Gamma statistics, with equal shares."""
        return statistics.polya_gamma_blocks(self.model.norm_bound, len(self.model.features))

    def sums(self, params: LogisticParams, batch: Table, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return Σ(y−½)x and Σ⟨ξ⟩xxᵀ."""
        return statistics.polya_gamma_sums(batch, params.mean, params.covariance, blocks)


def averaged(params: LogisticParams, released: Released, rate: float) -> LogisticParams:
    """Move every average by `rate` towards a release."""

    def moved(old: Array, name: str) -> Array:
        return (1 - rate) * old + rate * released.total(name)

    noise = (rate * released.total_std("linear")) ** 2
    return replace(
        params,
        average_linear=moved(params.average_linear, "linear"),
        average_curvature=moved(params.average_curvature, "curvature"),
        linear_variance=(1 - rate) ** 2 * params.linear_variance + noise,
    )

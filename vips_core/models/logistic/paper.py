"""Pólya–Gamma logistic regression: the paper's variant, and the refined one without noise (Algorithm 5).

Each step releases Σ(y−½)x and Σ⟨ξ⟩xxᵀ, with ξ ~ PG(1, c) and c² = xᵀ(Σ + mmᵀ)x. The paper averages them with
step sizes ρₜ = (1024 + t)^−0.7 and projects negative eigenvalues. Without noise, full-batch sums are exact,
and coordinate ascent converges to the exact variational posterior.

| symbol   | code                | shape                                  |
|----------|---------------------|----------------------------------------|
| ⟨m⟩      | `mean`              | (d,)                                   |
| Σ        | `covariance`        | (d, d)                                 |
| ⟨α⟩      | `precision`         | scalar                                 |
| s̄₁, s̄₂   | `average_linear`, `average_curvature` | averages over steps  |
| a₀, b₀   | `prior_shape`, `prior_rate` | scalars, of the Gamma prior on α |
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import linalg, sparse

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, left_bits, lowered, right_factor, square_step
from vips_core.kernels.pool import grouped_sums
from vips_core.kernels.special import pg_means
from vips_core.kernels.symmetric import symmetrised
from vips_core.models.base import Block, Released, most_efficient
from vips_core.models.logistic import kernels, sums
from vips_core.models.logistic.posterior import flattening
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

if TYPE_CHECKING:
    from vips_core.models.logistic.model import BayesianLogistic

DELAY, FORGETTING = 1024.0, 0.7  # τ₀ and κ of the paper's schedule
EIGENVALUE_FLOOR = 1e-4  # curvature per record that replaces a negative eigenvalue, as in the paper
USEFUL_STEPS = 16  # full batches in a recommended plan: more neither helped nor hurt
SINGLE_FROM = 1000  # features from which on eigenvectors have single precision: twice as fast, error ≪ noise


@dataclass(frozen=True)
class PolyaGammaPosterior:
    """A Gaussian over the weights, ⟨α⟩, and the averaged sums behind them.

    `privacy_variance` (d,) is the variance of the mean around the estimate from the same data without noise.
    """

    records: int
    mean: Array
    covariance: Array
    precision: float
    privacy_variance: Array
    average_linear: Array
    average_curvature: Array
    linear_variance: float
    widening: ClassVar[float] = 1.0  # factor on the variance in intervals, as in `posterior.Posterior`

    @property
    def coefficient_variance(self) -> Array:
        """Variance of each weight."""
        return np.asarray(np.diagonal(self.covariance))

    def log_odds(self, x: Any) -> tuple[Array, Array]:
        """Return mean and variance of ψ = xᵀm over the posterior."""
        return np.asarray(x @ self.mean), sums.quadratic_forms(x, self.covariance)

    def predictive_log_odds(self, x: Any) -> Array:
        """Return the log odds of P(y = 1 | x) with the weights integrated out, ψ/√(1 + π·var(ψ)/8)."""
        psi, variance = self.log_odds(x)
        return np.asarray(psi / flattening(variance))

    def averaged(self, released: Released, rate: float) -> "PolyaGammaPosterior":
        """Move every average by `rate` towards a release."""

        def moved(old: Array, name: str) -> Array:
            return (1 - rate) * old + rate * released.total(name)

        noise = (rate * released.total_std("linear")) ** 2
        return replace(
            self,
            average_linear=moved(self.average_linear, "linear"),
            average_curvature=moved(self.average_curvature, "curvature"),
            linear_variance=(1 - rate) ** 2 * self.linear_variance + noise,
        )


class PolyaGamma:
    """The statistics, bounds and prior of both Pólya–Gamma variants."""

    def __init__(self, model: "BayesianLogistic") -> None:
        self.model, self.d = model, len(model.features)

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> PolyaGammaPosterior:
        """Return the prior: zero mean, covariance I/⟨α⟩, ⟨α⟩ = a₀/b₀."""
        precision = self.model.prior_shape / self.model.prior_rate
        return PolyaGammaPosterior(
            records=plan.records,
            mean=np.zeros(self.d),
            covariance=np.eye(self.d) * (1 / precision),
            precision=precision,
            privacy_variance=np.zeros(self.d),
            average_linear=np.zeros(self.d),
            average_curvature=np.zeros((self.d, self.d)),
            linear_variance=0.0,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the two statistics with equal shares: ‖(y − ½)x‖ ≤ norm/2 and ‖⟨ξ⟩xxᵀ‖ ≤ norm²/4."""
        half, norm_bound = math.sqrt(0.5), self.model.norm_bound
        return {
            "linear": Block(0.5 * norm_bound, half, (self.d,)),
            "curvature": Block(0.25 * norm_bound**2, half, (self.d, self.d)),
        }

    def sums(
        self, params: PolyaGammaPosterior, batch: Table, blocks: Mapping[str, Block]
    ) -> dict[str, Array]:
        """Return Σ(y−½)x and Σ⟨ξ⟩xxᵀ."""
        return polya_gamma_sums(batch, params.mean, params.covariance, blocks)

    def updated_precision(self, mean: Array, trace: float) -> float:
        """Return ⟨α⟩ = (a₀ + d/2)/(b₀ + (‖m‖² + tr Σ)/2)."""
        spread = (mean @ mean + trace) / 2
        return float((self.model.prior_shape + self.d / 2) / (self.model.prior_rate + spread))


class Paper(PolyaGamma):
    """The paper's variant; see `vips_core.models.base.Algorithm`."""

    def update(self, params: PolyaGammaPosterior, released: Released, step: int) -> PolyaGammaPosterior:
        """Average the released sums by ρₜ, then solve for the posterior."""
        params = params.averaged(released, 1.0 if step == 0 else (DELAY + step) ** -FORGETTING)
        linear, floor = params.average_linear, EIGENVALUE_FLOOR * params.records
        values, vectors = _eigen(symmetrised(params.average_curvature))
        values = np.where(values < 0, floor, values.astype(np.float64)) + params.precision
        mean = vectors @ ((vectors.T @ linear) / values)
        vectors /= np.sqrt(values)
        covariance = (vectors @ vectors.T).astype(np.float64)  # equal factors: BLAS computes one triangle
        return replace(
            params,
            mean=mean,
            covariance=covariance,
            precision=self.updated_precision(mean, (1 / values).sum()),
            privacy_variance=params.linear_variance * (covariance**2).sum(axis=1),
        )

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return at most 16 full batches, which lose nothing to subsampling."""
        epochs = min(epochs, USEFUL_STEPS)
        return most_efficient(records=records, epsilon=epsilon, delta=delta, epochs=epochs)


class NoiseFree(PolyaGamma):
    """The refined variant for plans without noise: the exact variational posterior by coordinate ascent."""

    def update(self, params: PolyaGammaPosterior, released: Released, step: int) -> PolyaGammaPosterior:
        """Take the sums of full batches as they are, average others, then solve for the posterior."""
        params = params.averaged(released, 1.0 if released.sampling_rate == 1 else 2 / (step + 2))
        curvature = symmetrised(params.average_curvature)
        # Σ = (M + ⟨α⟩I)⁻¹ by Cholesky, then ⟨α⟩ (the paper's alpha update).
        factor = linalg.cho_factor(curvature + params.precision * np.eye(self.d), lower=True)
        covariance = linalg.cho_solve(factor, np.eye(self.d))
        mean = covariance @ params.average_linear
        precision = self.updated_precision(mean, np.trace(covariance))
        return replace(params, mean=mean, covariance=symmetrised(covariance), precision=precision)


def polya_gamma_sums(
    batch: Table, mean: Array, covariance: Array, blocks: Mapping[str, Block]
) -> dict[str, Array]:
    """Return Σ(y−½)x and Σ⟨ξ⟩xxᵀ, each record within its two bounds (Algorithm 5)."""
    x, y, row_weights, d = batch.x, batch.y.astype(np.float64), batch.row_weights, batch.x.shape[1]
    linear, curvature = blocks["linear"], blocks["curvature"]
    bounds = lowered(linear.bound, cells=d), lowered(curvature.bound, cells=d)
    if sparse.issparse(x):
        norm, xi = (
            sums.norms(x),
            pg_means(np.sqrt(sums.quadratic_forms(x, covariance + np.outer(mean, mean)))),
        )
        factors = row_weights * (y - 0.5) * sums.at_most(bounds[0], 0.5 * norm)
        within = sums.at_most(bounds[1], 0.25 * norm**2)
        return {
            "linear": sums.row_sum(x, factors, linear.grid),
            "curvature": _sparse_products(x, row_weights * xi * within, curvature.grid),
        }
    step, bits = square_step(curvature.grid), left_bits(d)
    factor = right_factor(covariance, bits)

    def chunk_sums(start: int, stop: int) -> tuple[Array, Array]:
        rows, weights, steps = x[start:stop], row_weights[start:stop], np.zeros(d)
        left = np.empty(rows.shape)
        kernels.write_left_factor(rows, bits, left)
        norm, form = kernels.norms_and_forms(rows, left @ factor, mean)
        finite = (norm < kernels.LARGEST) & (form < kernels.LARGEST)
        norm, form = np.where(finite, norm, 0.0), np.where(finite, form, 0.0)
        factors = weights * (y[start:stop] - 0.5) * bounds[0] / np.maximum(0.5 * norm, bounds[0])
        xi = weights * pg_means(np.sqrt(np.maximum(form, 0.0)))
        roots = np.sqrt(xi * bounds[1] / np.maximum(0.25 * norm * norm, bounds[1]))
        kernels.add_rows(rows, np.where(finite, factors / linear.grid, 0.0), steps)
        kernels.write_rows(rows, np.where(finite, roots / step, 0.0), left)
        return steps, sums.products(left)

    steps, total = grouped_sums(chunk_sums, lambda: (np.zeros(d), np.zeros((d, d))), len(y), sums.ROWS)
    return {"linear": steps * linear.grid, "curvature": sums.mirrored(total) * step**2}


def _sparse_products(x: Any, coefficient: Array, grid: float) -> Array:
    """Return Σ coefficient·xxᵀ over rows of a CSR matrix, on the grid."""
    cells = cut(x.data * np.repeat(np.sqrt(coefficient), np.diff(x.indptr)), square_step(grid))
    scaled = sparse.csr_array((cells, x.indices, x.indptr), shape=x.shape)
    return np.asarray((scaled.T @ scaled).toarray())


def _eigen(curvature: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors."""
    single = len(curvature) >= SINGLE_FROM
    work = np.array(curvature, np.float32 if single else np.float64, order="F")
    values, vectors = linalg.eigh(work, overwrite_a=True, check_finite=False, driver="evd")
    return values, vectors

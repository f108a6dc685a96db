"""The paper's logistic regression (§5–6, Algorithm 5): averaged Pólya–Gamma statistics, projected.

Σ(y−½)x and Σ⟨ξ⟩xxᵀ in every step, averaged by ρₜ = (1024 + t)^−0.7, negative eigenvalues projected.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from vips_core.kernels import Array
from vips_core.kernels.symmetric import symmetrised
from vips_core.models.base import Released, most_efficient
from vips_core.models.logistic.params import LogisticParams, PolyaGamma, averaged
from vips_core.privacy.plan import PrivacyPlan

if TYPE_CHECKING:
    pass

DELAY, FORGETTING = 1024.0, 0.7  # τ₀ and κ of the paper's schedule
EIGENVALUE_FLOOR = 1e-4  # of the curvature per record, as in the paper
USEFUL_STEPS = 16  # of full batches: more neither helped nor hurt
SINGLE_FROM = 1000  # features from which eigenvectors are found in single precision


class Paper(PolyaGamma):
    """The variant's answers to the loop; see `vips_core.models.base.Variant`."""

    def update(self, params: LogisticParams, released: Released, step: int) -> LogisticParams:
        """Average the released sums by ρₜ, then solve for the posterior."""
        params = averaged(params, released, 1.0 if step == 0 else (DELAY + step) ** -FORGETTING)
        linear, floor = params.average_linear, EIGENVALUE_FLOOR * params.records
        values, vectors = _eigen(symmetrised(params.average_curvature))
        values = np.where(values < 0, floor, values.astype(np.float64)) + params.precision
        mean = vectors @ ((vectors.T @ linear) / values)
        vectors /= np.sqrt(values)
        covariance = (vectors @ vectors.T).astype(np.float64)  # of one factor: BLAS computes one triangle
        spread = (mean @ mean + (1 / values).sum()) / 2
        precision = (self.model.prior_shape + len(linear) / 2) / (self.model.prior_rate + spread)
        return replace(
            params,
            mean=mean,
            covariance=covariance,
            precision=float(precision),
            privacy_variance=params.linear_variance * (covariance**2).sum(axis=1),
        )

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Full batches, which lose nothing to subsampling, and at most 16 steps of them."""
        epochs = min(epochs, USEFUL_STEPS)
        return most_efficient(records=records, epsilon=epsilon, delta=delta, epochs=epochs)


def _eigen(curvature: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors; for many features in single precision, twice as fast, far below the noise."""
    single = len(curvature) >= SINGLE_FROM
    work = np.array(curvature, np.float32 if single else np.float64, order="F")
    values, vectors = linalg.eigh(work, overwrite_a=True, check_finite=False, driver="evd")
    return values, vectors

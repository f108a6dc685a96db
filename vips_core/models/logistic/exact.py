"""Logistic regression without noise: the Pólya–Gamma variational posterior by coordinate ascent."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from vips_core.kernels.symmetric import symmetrised
from vips_core.models.base import Released
from vips_core.models.logistic.params import LogisticParams, PolyaGamma, averaged

if TYPE_CHECKING:
    pass


class Exact(PolyaGamma):
    """The refined variant's answers to the loop, for plans without noise."""

    def update(self, params: LogisticParams, released: Released, step: int) -> LogisticParams:
        """Take the sums as they are on full batches, otherwise average sampling out."""
        params = averaged(params, released, 1.0 if released.sampling_rate == 1 else 2 / (step + 2))
        linear, d = params.average_linear, len(self.model.features)
        curvature = symmetrised(params.average_curvature)
        # Σ = (M + ⟨α⟩I)⁻¹ by Cholesky, then ⟨α⟩ (the paper's alpha update).
        factor = linalg.cho_factor(curvature + params.precision * np.eye(d), lower=True)
        covariance = linalg.cho_solve(factor, np.eye(d))
        mean = covariance @ linear
        spread = (mean @ mean + np.trace(covariance)) / 2
        precision = (self.model.prior_shape + d / 2) / (self.model.prior_rate + spread)
        return replace(params, mean=mean, covariance=symmetrised(covariance), precision=float(precision))

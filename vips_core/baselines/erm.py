"""Non-private regularised logistic regression: the ceiling of every comparison, not a private release."""

import math

import numpy as np
from sklearn.linear_model import LogisticRegression

from vips_core.data import LabelledRows
from vips_core.models.base import FloatArray


def fit_erm(rows: LabelledRows, penalty: float = 1.0) -> FloatArray:
    """Weights that minimise Σ log(1 + exp(−(2y−1)xᵀw)) + penalty/2·‖w‖², by scikit-learn."""
    if not (math.isfinite(penalty) and penalty > 0):
        raise ValueError(f"penalty must be a finite number above 0, got {penalty}")
    solver = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=10_000, tol=1e-8)
    return np.asarray(solver.fit(rows.x, rows.y).coef_[0])

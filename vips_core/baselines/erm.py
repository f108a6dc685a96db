"""Non-private regularised logistic regression: the ceiling of every comparison, not a private release."""

import numpy as np

from vips_core import validate
from vips_core.kernels import Array
from vips_core.records import Table


def fit_erm(rows: Table, penalty: float = 1.0) -> Array:
    """Return the weights that minimise Σ log(1 + exp(−(2y−1)xᵀw)) + penalty/2·‖w‖², by scikit-learn.

    Where a person has several rows, their losses are averaged.

    Parameters
    ----------
    rows
        With an intercept among their columns, where there is to be one.
    penalty
        Strength of the ridge.

    Returns
    -------
    array
        One weight a feature.

    Examples
    --------
    >>> rows = Table([[1.0], [1.0], [-1.0]], [1, 1, 0], ("a",), norm_bound=1.0)
    >>> fit_erm(rows).round(2)
    array([0.88])
    """
    from sklearn.linear_model import LogisticRegression  # here: it is slow to import and seldom used

    inverse = 1 / validate.positive("penalty", penalty)
    solver = LogisticRegression(C=inverse, fit_intercept=False, max_iter=10_000, tol=1e-8)
    return np.asarray(solver.fit(rows.x, rows.y, sample_weight=rows.row_weights).coef_[0])

"""Private ERM by objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2).

| symbol | code       | shape |
|--------|------------|-------|
| n, d   | `n`, `d`   | scalars |
| Λ      | `penalty`  | scalar, strength of the ridge per record |
| Δ      | `extra`    | scalar, added ridge where ε is too small for Λ |
| b      | `noise`    | (d,), density ∝ exp(−ε'‖b‖/2) |

The guarantee is pure ε-DP (δ = 0), stronger in that respect than the other methods' (ε, δ), and for replacing
one record; the rest of the package counts replacing one by nothing. It holds for the exact minimiser, so the
solver runs to a gradient of 1e-8. Rows are scaled so that none is longer than 1.

Where a person may have several rows, a record's loss is their average. Step 1 of the algorithm then charges
2c/(nΛ) instead of 2·log(1 + c/(nΛ)): the Hessian of an average has trace ≤ c, but not rank 1, and the
determinant of I + E is at most exp(trace norm of E).
"""

import math

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from vips_core import validate
from vips_core.kernels import Array
from vips_core.kernels.exact import lowered
from vips_core.models.logistic.statistics import norms
from vips_core.records import Table

SMOOTHNESS = 0.25  # c, the largest second derivative of the logistic loss
PENALTY_PER_NOISE = 0.1


def public_penalty(n: int, d: int, epsilon: float) -> float:
    """Λ from public quantities: the noise's length per record, 2d/(nε), times a constant.

    The constant is a compromise between powers of 10 from 0.001 to 10, by AUC on generated cohorts
    (`stroke_cohort`, 4,000 patients, seeds 100 to 102): best with 60 features, where 0.01 was slightly better
    with 1,000. It was not chosen on the data that are compared.

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
        Source of the noise: for a guarantee, of the operating system's entropy.
    penalty
        Λ; None is `public_penalty`.
    radius
        Public length that becomes 1; longer rows are scaled down to it. None is a quarter of norm_bound.

    Returns
    -------
    array
        One weight a feature.

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
    solution = minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(solution.x / radius)


def noise_budget(n: int, penalty: float, epsilon: float, several_rows: bool = False) -> tuple[float, float]:
    """Return how much of ε the noise gets, and what ridge that takes (steps 1 and 2 of the algorithm).

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

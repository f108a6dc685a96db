"""The estimate from averages over steps, and what is uncertain about it: free post-processing.

An average over few late steps has more noise; one over nearly all of them holds the way to the answer, and
what a wrong curvature makes of it. Along each direction both are weighed by what is expected of that: a part
of the estimate, or as much as the two differ beyond what noise explains (as James and Stein would).
"""

import numpy as np

from vips_core.kernels import Array
from vips_core.models.logistic import paces
from vips_core.models.logistic.answer import answer
from vips_core.models.logistic.paces import Pace
from vips_core.models.logistic.posterior import Directions
from vips_core.models.logistic.state import DescentParams

MISMATCH = 0.2  # of an estimate, that the way to it may be wrong by


def estimate(params: DescentParams, directions: Directions, pace: Pace, saved: float) -> Array:
    """Return the estimate; `saved` is how much less variance the longer average of gradients has."""
    late, longer = _corrected(params, directions, pace)
    return longer + directions.apply(_trust(directions, late, longer, saved), late - longer)


def _corrected(params: DescentParams, directions: Directions, pace: Pace) -> tuple[Array, Array]:
    """Return the average points, late and longer, after as much of a Newton step as there was no time for."""
    newton = pace.time / (2 + pace.time) / directions.curvature
    return (
        params.average_point + directions.apply(newton, params.average_gradient),
        params.longer_point + directions.apply(newton, params.longer_gradient),
    )


def _trust(directions: Directions, late: Array, longer: Array, saved: float) -> Array:
    """Return the weight of the late average along each direction."""
    if saved == 0:
        return np.ones(len(directions.curvature))
    size, apart = directions.components(late), directions.components(late - longer)
    bias = (MISMATCH * directions.curvature * size) ** 2
    beyond_noise = float(np.mean((directions.curvature * apart) ** 2)) / saved
    return np.maximum(bias / (bias + saved), 1 - 1 / max(beyond_noise, 1.0))


def with_uncertainty(
    params: DescentParams,
    directions: Directions,
    found: Array,
    noise_std: float,
    taken: int,
    late: float,
    longer: float,
) -> DescentParams:
    """Return the answer: an estimate and its variances, in the columns' units.

    Parameters
    ----------
    params, directions
        With all that is known of the curvature, also where it does not guide steps.
    found
        The estimate.
    noise_std, taken
        Of a gradient, and how many there were before.
    late, longer
        One over the numbers of steps in the averages.
    """
    pace, curvature = paces.pace(params, directions, noise_std), directions.curvature
    trust = _trust(directions, *_corrected(params, directions, pace), saved=noise_std**2 * (late - longer))
    variance = noise_std**2 * (longer + trust**2 * (late - longer))
    information, seen = (
        known**2 / (pace.sampling + variance) + 1 / pace.prior for known in (curvature, directions.seen)
    )
    without_noise = curvature**2 / variance + 1 / (pace.prior + 1 / curvature)
    # Where slopes are larger than a priori, what shrinkage took from them is uncertainty, and so is what the
    # steps had no time for. (The square of shrinkage would be right were the curvature known exactly.)
    shrinkage = 1 / (pace.prior * information)
    beyond = _beyond_prior(directions, found, 1 / information)
    first = min(taken + 1 - round(1 / late), taken)
    away = np.mean((1 - pace.step[:, None]) ** np.arange(first, taken + 1), axis=1) * 2 / (2 + pace.time)
    bias = shrinkage * beyond + np.maximum(away - shrinkage, 0.0) ** 2 * (paces.PRIOR**2 + beyond)
    excess = shrinkage / 2 * beyond  # the estimate without noise is not shrunk at all
    # A direction in which no curvature is seen keeps the prior's width: predictions do not need to know.
    unseen = (1 / seen - 1 / information) * (1 + beyond / pace.prior)
    noise = 1 / without_noise + bias + excess + unseen
    return answer(params, directions, found, 1 / information, bias, unseen, noise)


def _beyond_prior(directions: Directions, found: Array, variance: Array) -> float:
    """Return by how much the slopes' variance exceeds the prior's, by MacKay's count of determined slopes."""
    determined = float(np.maximum(1 - directions.diagonal(variance)[1:] / paces.PRIOR**2, 0.0).sum())
    return max(float(found[1:] @ found[1:]) / max(determined, 1.0) - paces.PRIOR**2, 0.0)

"""From the descent's state to its answer: weights, their variances, and a level that fits predictions."""

from dataclasses import replace

import numpy as np

from vips_core.kernels import Array
from vips_core.models.logistic import posterior
from vips_core.models.logistic.coordinates import NO_CONSTANT, RADIUS
from vips_core.models.logistic.posterior import Directions
from vips_core.models.logistic.state import DescentParams


def over_records(params: DescentParams, directions: Directions, point: Array) -> tuple[float, float]:
    """Mean and variance over records of the log odds that slopes give: centres are not quite the means."""
    slopes = np.append(0.0, point[1:])
    curved, own = directions.apply(directions.seen, slopes), params.diagonal[0]
    variance = (slopes @ curved - curved[0] ** 2 / own) / unit_curvature(params)
    return float(curved[0] / own * params.where.constant), max(float(variance), 0.0)


def unit_curvature(params: DescentParams) -> float:
    """Return the slopes' curvature of log odds of variance 1; a typical record has κ² + ‖z‖² = 1/RADIUS²."""
    return float(params.diagonal[1:].sum() / (RADIUS**-2 - params.where.constant**2))


def answer(
    params: DescentParams,
    directions: Directions,
    estimate: Array,
    variance: Array,
    bias: Array,
    unseen: Array,
    variance_of_noise: Array,
) -> DescentParams:
    """Return to the columns' units.

    `bias` is what shrinkage may have taken from slopes. It widens intervals, but predictions do not integrate
    it out: that would pull them to one half, where shrinkage has already pulled them.

    The steps find a level that suits the spread of log odds along the way. Those of the estimate spread less
    or more, and predictions integrate the posterior out: the level moves so that predictions stay right on
    average, and as far as it moved it is uncertain. It is found with the predictions' own integral, which is
    above the exact one where targets are rare.
    """
    where = params.where
    scale = np.append(where.constant, where.scale)
    found_level, slopes = float(estimate[0]) * where.constant, estimate[1:] * where.scale
    covariance = directions.matrix(variance, scale)
    level_variance = float(directions.diagonal(variance)[0]) * where.constant**2
    unknown, with_bias = (_of_log_odds(params, directions, each) for each in (variance, variance + bias))
    offset, spread = over_records(params, directions, estimate)
    probability = posterior.mean_probability(found_level + offset, params.spread)
    flatter = posterior.flattening(unknown)
    level = float(flatter * posterior.level_of(probability, spread / flatter**2)) - offset
    coefficient_variance = posterior.weight_variances(directions, variance + bias + unseen, scale, where)
    privacy_variance = posterior.weight_variances(directions, variance_of_noise, scale, where)
    if where.column != NO_CONSTANT:
        shift = ((level - found_level) / where.value) ** 2
        coefficient_variance[where.column] += shift
        privacy_variance[where.column] += shift
    return replace(
        params,
        mean=posterior.weights(level, slopes, where),
        coefficient_variance=coefficient_variance,
        privacy_variance=privacy_variance,
        slopes=slopes,
        level=level,
        covariance=covariance[1:] if covariance.ndim == 1 else covariance[1:, 1:],
        level_variance=level_variance,
        widening=with_bias / unknown,
    )


def _of_log_odds(params: DescentParams, directions: Directions, variance: Array) -> float:
    """Return the average over records of the variance of their log odds."""
    own = float(directions.diagonal(variance)[0]) * params.where.constant**2
    return own + directions.over_slopes(variance) / unit_curvature(params)

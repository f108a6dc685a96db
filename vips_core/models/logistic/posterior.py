"""The refined variant's Laplace posterior, computed from an estimate.

All of this is post-processing of noisy releases and costs no privacy. `OptimiserState` is the state of
`refined` between steps.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its parts load when they are used
from scipy import sparse
from scipy.special import expit

from vips_core.kernels import Array
from vips_core.models.logistic import sums
from vips_core.models.logistic.calibration import Calibration
from vips_core.models.logistic.constants import Constants
from vips_core.models.logistic.coordinates import NO_CONSTANT, Coordinates
from vips_core.models.logistic.curvature import Directions, LowRankCurvature

LARGEST_SPREAD = 25.0  # largest variance of log odds over records; a normal law does not fit a larger one
LEAST_SPREAD = 1e-4  # smallest variance of log odds over records for which a calibration is measured
REACH = 2.0  # standard deviations of log odds beyond which records weigh less in the calibration
CHANGE = 0.1  # relative change of the slope from which the level's change is computed
RAREST = 1e-6  # smallest mean probability that `level_of` inverts
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
NODE_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Schedule:
    """The release of each step, which is public."""

    moments: int  # number of steps that release moments, the first ones
    matrix: int  # number of steps for each curvature matrix; 0 for no matrix
    early: int  # first step of the early matrix; equal to `late` if there is only one
    late: int  # first step of the late matrix
    calibration: int  # number of steps that measure the calibration, the last ones
    gradients: int  # number of all other steps
    averaging: float  # power of a gradient step's number in its weight in averages

    def matrix_number(self, step: int) -> int | None:
        """Return a step's place among the steps of its matrix; None for other steps."""
        for start in (self.early, self.late):
            if start <= step < start + self.matrix:
                return step - start
        return None

    def gradients_before(self, step: int) -> int:
        """Return the number of gradients before a step."""
        return sum(self.matrix_number(other) is None for other in range(self.moments, step))

    def step_weights(self, taken: int) -> Array:
        """Return the weights of the first `taken` + 1 gradient steps in an average."""
        weights = np.arange(1.0, taken + 2) ** self.averaging
        return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class OptimiserState:
    """State of noisy gradient descent between steps; predictions do not use it.

    | symbol | code                          | what                                             |
    |--------|-------------------------------|--------------------------------------------------|
    | θ      | `point`                       | (d+1,), the iterate in coordinates, level first  |
    | g      | `last_gradient`               | (d+1,), at `last_point`                          |
    |        | `mean_point`, `mean_gradient` | (d+1,), averages over steps                      |
    |        | `mean_measured`               | (d+2,), average of squares and totals            |
    |        | `mean_spread`                 | average variance of log odds over records        |
    |        | `moments`                     | (2d+2,), average of released moments             |
    |        | `positive`                    | share of positive labels                         |
    |        | `minority`                    | mean of min(p, 1−p)                              |
    |        | `diagonal`                    | (d+1,), curvature along the axes                 |
    |        | `matrix`                      | (d+1, d+1), average of releases, or (0, 0)       |
    |        | `released`                    | its eigenvectors, in units of the diagonal's mean |
    |        | `learned`                     | shared directions, in units of the diagonal's sum |
    """

    schedule: Schedule
    records: int
    moments: Array
    positive: float
    point: Array
    last_point: Array
    last_gradient: Array
    mean_point: Array
    mean_gradient: Array
    mean_measured: Array
    mean_spread: float
    diagonal: Array
    matrix: Array
    released: LowRankCurvature
    learned: LowRankCurvature
    minority: float


@dataclass(frozen=True)
class Posterior:
    """A Gaussian over level and slopes: the estimate, its variances, and its coordinates.

    `mean` (d,) are the columns' weights, with the level's log odds at the constant column if there is one.
    `coefficient_variance` includes sampling error and privacy noise; `privacy_variance` is the variance
    around the estimate that the same data would give without noise. ψ = level + (x − c)ᵀslopes; `covariance`
    of the slopes is (d, d), or (d,) if diagonal. `widening` multiplies the variance of log odds in intervals,
    to account for shrinkage. `usual_variance` is the mean variance of (x − c)ᵀslopes over records.
    """

    mean: Array
    coefficient_variance: Array
    privacy_variance: Array
    slopes: Array
    level: float
    covariance: Array
    level_variance: float
    widening: float
    usual_variance: float
    coordinates: Coordinates
    calibration: Calibration
    state: OptimiserState

    def log_odds(self, x: Any) -> tuple[Array, Array]:
        """Return mean and variance of ψ over the posterior."""
        x, centre = self.coordinates.filled(x), self.coordinates.centre
        psi = self.level + x @ self.slopes - centre @ self.slopes
        if self.covariance.ndim == 1:
            crossed = self.covariance * centre
            squares = x.multiply(x) if sparse.issparse(x) else x**2
            variance = squares @ self.covariance - 2 * (x @ crossed) + centre @ crossed
        else:
            crossed = self.covariance @ centre
            variance = sums.quadratic_forms(x, self.covariance) - 2 * (x @ crossed) + centre @ crossed
        return np.asarray(psi), np.maximum(variance, 0.0) + self.level_variance

    def predictive_log_odds(self, x: Any) -> Array:
        """Return the log odds of P(y = 1 | x).

        Calibrated log odds are right for usual records. The posterior is integrated over where a record's
        variance differs from the usual one, but only half of it: the prior takes columns as independent, and
        correlated columns vary less than it expects. The uncertainty of the level flattens all alike.
        """
        psi, variance = self.log_odds(x)
        unusual = (variance - self.level_variance) / 2
        return np.asarray(
            psi * flattening(self.usual_variance / 2) / flattening(unusual + self.level_variance)
        )


@dataclass(frozen=True)
class Pace:
    """Length of steps along each direction."""

    prior: Array  # τ²
    sampling: Array  # variance of a gradient over samples of people
    total_step: Array  # s²/(1+s), the sum of all steps, in Newton steps
    step: Array  # length of one step, in Newton steps


def laplace(
    params: Posterior,
    estimate: Array,
    directions: Directions,
    pace: Pace,
    variance: float,
    constants: Constants,
) -> Posterior:
    """Return the Laplace posterior around an estimate.

    Parameters
    ----------
    params
        The previous posterior, with the optimiser's state.
    estimate
        Level and slopes, in coordinates.
    directions, pace
        The known curvature, and the length of steps along its directions.
    variance
        Variance of the privacy noise on the average gradient, in any direction.
    constants
        Constants of the prior and the units.
    """
    values = directions.curvature
    information = values**2 / (pace.sampling + variance) + 1 / pace.prior
    without_noise = values**2 / variance + 1 / (pace.prior + 1 / values)
    # If slopes are larger than the prior expects, the amount of shrinkage counts as uncertainty. (Its square
    # would be correct if the curvature were known exactly.) The calibration undoes much of it: half counts.
    shrinkage = 1 / (pace.prior * information)
    prior = constants.prior_log_odds**2
    beyond = _beyond_prior(directions, estimate, 1 / information, prior)
    bias = shrinkage / 2 * beyond
    bias[0] = shrinkage[0] * max(estimate[0] ** 2 - pace.prior[0], 0.0)
    noise = 1 / without_noise + bias
    return to_column_units(params, directions, estimate, 1 / information, bias, noise, constants)


def _beyond_prior(directions: Directions, estimate: Array, variance: Array, prior: float) -> float:
    """Return the excess of the slopes' variance over the prior's, by MacKay's count of determined slopes."""
    determined = max(_determined(directions, variance, prior), 1.0)
    return max(float(estimate[1:] @ estimate[1:]) / determined - prior, 0.0)


def _determined(directions: Directions, variance: Array, prior: float) -> float:
    """Return MacKay's count of the slopes that data determine, from their posterior and prior variances."""
    return float(np.maximum(1 - directions.diagonal(variance)[1:] / prior, 0.0).sum())


def to_column_units(
    params: Posterior,
    directions: Directions,
    estimate: Array,
    variance: Array,
    bias: Array,
    variance_of_noise: Array,
    constants: Constants,
) -> Posterior:
    """Return the posterior in the columns' units, with the prior of its calibration.

    `bias` is the variance that allows for the shrinkage of slopes. It widens intervals, but predictions do
    not integrate over it, because this would pull them towards one half, as shrinkage already does.

    Gradient steps find a level for the average spread of log odds along the path. The estimate's spread
    differs, so the level is moved until predictions are right on average, and the constant column's variances
    grow by the square of the move.
    """
    state, found = params.state, params.coordinates
    scale = np.append(found.constant, found.scale)
    found_level, slopes = float(estimate[0]) * found.constant, estimate[1:] * found.scale
    covariance = directions.matrix(variance, scale)
    level_variance = float(directions.diagonal(variance)[0]) * found.constant**2
    per_curvature = unit_curvature(state, found.constant)
    usual, with_bias = (
        directions.trace_over_slopes(each) / per_curvature for each in (variance, variance + bias)
    )
    offset, spread = over_records(state, found.constant, directions, estimate)
    probability = mean_probability(found_level + offset, state.mean_spread)
    flatter = flattening(usual / 2 + level_variance)
    level = float(flatter * level_of(probability, spread / flatter**2)) - offset
    coefficient_variance = weight_variances(directions, variance + bias, scale, found)
    privacy_variance = weight_variances(directions, variance_of_noise, scale, found)
    if found.column != NO_CONSTANT:
        shift = ((level - found_level) / found.value) ** 2
        coefficient_variance[found.column] += shift
        privacy_variance[found.column] += shift
    return replace(
        params,
        mean=weights(level, slopes, found),
        coefficient_variance=coefficient_variance,
        privacy_variance=privacy_variance,
        slopes=slopes,
        level=level,
        covariance=covariance[1:] if covariance.ndim == 1 else covariance[1:, 1:],
        level_variance=level_variance,
        widening=(with_bias + level_variance) / (usual + level_variance),
        usual_variance=usual,
        calibration=Calibration(
            slopes=estimate[1:],
            place=np.array([level, REACH * math.sqrt(max(spread, LEAST_SPREAD))]),
            covariance=None,
            reach=REACH * math.sqrt(max(spread, LEAST_SPREAD)),
            determined=_determined(directions, variance, constants.prior_log_odds**2),
        ),
    )


def prior_of_calibration(params: Posterior, constants: Constants) -> Array:
    """Return the covariance of level and slope before a release: the level as estimated, the slope around 1.

    A larger slope needs a level further from 0 for predictions that are right on average, so both correlate.
    """
    found = params.calibration
    spread = (found.reach / REACH) ** 2
    share = mean_probability(found.level, spread)
    moved = level_of(share, spread * (1 + CHANGE) ** 2) - level_of(share, spread)
    along = constants.slope_std * np.array([moved / CHANGE, found.reach])
    return np.outer(along, along) + np.diag([params.level_variance, 0.0])


def calibrated(params: Posterior, total: Array, noise_std: float, constants: Constants) -> Posterior:
    """Return the posterior after a release that measures its calibration."""
    before, found = params.calibration, params.coordinates
    prior = prior_of_calibration(params, constants) if before.covariance is None else before.covariance
    after = before.after(prior, total, noise_std, params.state.records)
    ratio = after.slope / before.slope
    slopes = params.slopes * ratio
    # A smaller slope corrects for noise, and leaves the intervals as wide.
    wider, doubt = max(ratio, 1.0) ** 2, after.slope_variance() - before.slope_variance()
    scaled = doubt * weights(0.0, slopes, found) ** 2
    return replace(
        params,
        mean=weights(after.level, slopes, found),
        coefficient_variance=params.coefficient_variance * wider + scaled,
        privacy_variance=params.privacy_variance * wider + scaled,
        slopes=slopes,
        level=after.level,
        covariance=params.covariance * ratio**2,
        level_variance=float(np.diagonal(np.asarray(after.covariance))[0]),
        usual_variance=params.usual_variance * ratio**2,
        calibration=after,
    )


def over_records(
    state: OptimiserState, constant: float, directions: Directions, point: Array
) -> tuple[float, float]:
    """Return mean and variance of the slopes' log odds over records; noisy centres make the mean nonzero."""
    slopes = np.append(0.0, point[1:])
    curved, own = directions.apply(directions.curvature, slopes), state.diagonal[0]
    variance = (slopes @ curved - curved[0] ** 2 / own) / unit_curvature(state, constant)
    return float(curved[0] / own * constant), max(float(variance), 0.0)


def unit_curvature(state: OptimiserState, constant: float) -> float:
    """Return slopesᵀH·slopes of log odds of variance 1, if a typical record has norm 1.

    If columns hardly vary, records are shorter; half the level's curvature is then the least value.
    """
    level, slopes = state.diagonal[0] / constant**2, state.diagonal[1:].sum() / (1 - constant**2)
    return float(max(slopes, level / 2))


def flattening(variance: Any) -> Any:
    """Return the divisor of ψ that integrates σ(ψ) over a posterior of this variance (MacKay 1992)."""
    return np.sqrt(1 + math.pi / 8 * variance)


def mean_probability(level: float, variance: float) -> float:
    """Return the mean of σ(ψ) for ψ ~ N(level, variance)."""
    return float(NODE_WEIGHTS @ expit(level + math.sqrt(min(variance, LARGEST_SPREAD)) * NODES))


def level_of(probability: float, variance: float) -> float:
    """Return the level at which `mean_probability` is `probability`."""
    target = min(max(probability, RAREST), 1 - RAREST)
    return float(scipy.optimize.brentq(lambda level: mean_probability(level, variance) - target, -60.0, 60.0))


def weights(level: float, slopes: Array, coordinates: Coordinates) -> Array:
    """Return the columns' weights, with the level's log odds at the constant column if there is one."""
    moved = slopes.copy()
    if coordinates.missing is not None:
        columns, indicators = coordinates.missing.T
        moved[indicators] += coordinates.centre[columns] * slopes[columns]
    if coordinates.column != NO_CONSTANT:
        moved[coordinates.column] += (level - coordinates.centre @ slopes) / coordinates.value
    return moved


def weight_variances(directions: Directions, values: Array, scale: Array, coordinates: Coordinates) -> Array:
    """Return the variance of each of `weights`, given variances along directions in coordinates."""
    variances = directions.diagonal(values)[1:] * scale[1:] ** 2
    if coordinates.missing is not None:
        columns, indicators = coordinates.missing.T
        moves, each = np.zeros((len(columns), len(scale))), np.arange(len(columns))
        moves[each, 1 + indicators], moves[each, 1 + columns] = 1.0, coordinates.centre[columns]
        variances[indicators] = directions.forms(values, moves * scale)
    if coordinates.column != NO_CONSTANT:
        moves = np.append(1.0, -coordinates.centre) / coordinates.value
        moves[1 + coordinates.column] += 1
        variances[coordinates.column] = directions.forms(values, moves * scale)
    return variances

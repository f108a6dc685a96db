"""From noisy sums to a posterior over logistic regression's weights: free post-processing.

Each solves for q(m) = N(mean, covariance) and ⟨α⟩, given a linear statistic u with noise of known variance V
and a curvature M. The noise is part of the model: u = M m* + N(0, M + V·I), where M is the data's own
randomness, hence a precision of M(M + V)⁻¹M + α instead of M + α, and mean = (M + α + αVM⁻¹)⁻¹u. A direction
with little curvature λ is thus shrunk by αV/λ more than by a ridge.

| symbol  | code        | shape            |
|---------|-------------|------------------|
| u       | `linear`    | (d,)             |
| M       | `curvature` | (d, d)           |
| V       | `variance`  | scalar           |
| Σωx, Σωx² | `moments` | (2, d)           |
| a₀, b₀  | `shape`, `rate` | scalars, of the Gamma prior on α |
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit, log_ndtr, logsumexp

from vips_core.models.base import FloatArray

_ROUNDS = 10  # updates of ⟨α⟩ per step; the steps go on from there
_FLAT = 1e-2  # precision of the intercept's prior where it is exempt from shrinkage
_PRECISION_RANGE = (1e-3, 1e4)
_SMALLEST_SPREAD = 0.05  # a feature's variance as a share of its mean square, at least
_LARGEST_SPREAD = 25.0  # variance of ψ over records, beyond which the normal approximation means little
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_SINGLE_FROM = 1000  # features from which the paper's eigenvectors are found in single precision


@dataclass(frozen=True)
class Posterior:
    """Gaussian over the weights (covariance (d, d), or its diagonal (d,)) and ⟨α⟩.

    `privacy_variance` (d,) is how far the mean may lie from the estimate that the same data would give
    without noise. `point` (d,) is where to expand the bound next. `scale_variance` (d,) is what an unknown
    common factor on all weights adds to both; it moves no record past another, and predictions leave it out.
    """

    mean: FloatArray
    covariance: FloatArray
    precision: float
    privacy_variance: FloatArray
    point: FloatArray
    scale_variance: FloatArray


@dataclass(frozen=True)
class Intercept:
    """The column of ones: its place, the log odds it gives alone, the share of steps that had it alone."""

    index: int
    log_odds: float
    alone: float


def exact(
    linear: FloatArray, curvature: FloatArray, precision: float, shape: float, rate: float
) -> Posterior:
    """One M-step without noise: Σ = (M + ⟨α⟩I)⁻¹ by Cholesky, then ⟨α⟩ (the paper's alpha update)."""
    d = len(linear)
    factor = linalg.cho_factor(curvature + precision * np.eye(d), lower=True)
    covariance = linalg.cho_solve(factor, np.eye(d))
    mean = covariance @ linear
    precision = (shape + d / 2) / (rate + (mean @ mean + np.trace(covariance)) / 2)
    return Posterior(mean, (covariance + covariance.T) / 2, float(precision), np.zeros(d), mean, np.zeros(d))


def projected(
    linear: FloatArray,
    curvature: FloatArray,
    variance: float,
    precision: float,
    shape: float,
    rate: float,
    floor: float,
) -> Posterior:
    """The paper's M-step: negative eigenvalues of the noisy curvature are set to `floor`.

    For many features in single precision, twice as fast: rounding is far below the noise of d × d cells.
    """
    single = len(linear) >= _SINGLE_FROM
    work = np.array(curvature, np.float32 if single else np.float64, order="F")
    values, vectors = linalg.eigh(work, overwrite_a=True, check_finite=False, driver="evd")
    values = np.where(values < 0, floor, values.astype(np.float64)) + precision
    mean = vectors @ ((vectors.T @ linear) / values)
    vectors /= np.sqrt(values)
    covariance = (vectors @ vectors.T).astype(np.float64)  # of one factor: BLAS computes one triangle only
    precision = (shape + len(linear) / 2) / (rate + (mean @ mean + (1 / values).sum()) / 2)
    privacy_variance = variance * (covariance**2).sum(axis=1)
    return Posterior(mean, covariance, float(precision), privacy_variance, mean, np.zeros_like(mean))


def noise_aware(
    gradient: FloatArray,
    point: FloatArray,
    curvature: FloatArray,
    variance: float,
    curvature_std: float,
    precision: float,
    shape: float,
    rate: float,
) -> Posterior:
    """Posterior with a released curvature M and the average gradient at `point`: u = gradient + M·point.

    Half the spectral norm of the curvature's own noise, known without looking, is added to M as a ridge.
    In the eigenbasis of M every update of ⟨α⟩ costs O(d).
    """
    d = len(gradient)
    values, vectors = np.linalg.eigh(curvature)
    values = np.maximum(values, 0.0) + 0.5 * curvature_std * math.sqrt(d)
    along = vectors.T @ gradient + values * (vectors.T @ point)
    for _ in range(_ROUNDS):
        mean = values * along / (values**2 + precision * (values + variance))
        information = values**2 / (values + variance) + precision
        precision = (2 * shape + d) / (2 * rate + mean @ mean + (1 / information).sum())
    covariance = (vectors / information) @ vectors.T
    privacy_variance = vectors**2 @ _privacy_variance(values, variance, precision)
    mean = vectors @ mean
    return Posterior(mean, covariance, float(precision), privacy_variance, mean, np.zeros(d))


def noise_aware_diagonal(
    gradient: FloatArray,
    point: FloatArray,
    moments: FloatArray,
    variance: float,
    moment_std: float,
    largest: float,
    intercept: Intercept | None,
    precision: float,
    shape: float,
    rate: float,
) -> Posterior:
    """Posterior with diagonal curvature plus its mean direction, from the average gradient at `point`.

    `moments` are noisy sums of ω x and ω x², with ω a record's curvature. Their rank-one part vvᵀ is what an
    intercept shares with every feature; without it the class imbalance would leak into the weights.

    Two things follow from the spread of ψ = xᵀm over records. The steps find an intercept that suits the mean
    weights; predictions spread ψ further, by the weights' uncertainty, and the intercept moves with it. And a
    step that expands at the intercept alone measures more curvature than lies between it and the answer: the
    weights come out too small by a factor that counts as uncertainty, since correlated features, which the
    diagonal overlooks, make them too large.
    """
    squares = expected_mass(moments[1], moment_std, largest)
    shared, own, shrunk = np.zeros_like(squares), squares, np.ones(len(squares), bool)
    if intercept is not None:
        total = squares[intercept.index] = max(squares[intercept.index], moment_std)
        first = moments[0] * squares**2 / (squares**2 + moment_std**2)  # as large as the squares, a priori
        first[intercept.index] = total
        shared = first / math.sqrt(total)
        own = np.maximum(squares - shared**2, _SMALLEST_SPREAD * squares)
        own[intercept.index] = 0.0
        shrunk[intercept.index] = False
    linear = gradient + own * point + shared * (shared @ point)
    curvature = np.where(shrunk, own, squares)
    for _ in range(_ROUNDS):
        ridge = np.where(shrunk, precision * (1 + variance / curvature), _FLAT)
        scaled, direction = linear / (own + ridge), shared / (own + ridge)
        mean = scaled - direction * (shared @ scaled) / (1 + shared @ direction)  # Sherman–Morrison
        information = curvature**2 / (curvature + variance) + np.where(shrunk, precision, _FLAT)
        determined = (1 - precision / information)[shrunk].sum()  # MacKay's count of determined weights
        precision = (2 * shape + determined) / (2 * rate + mean[shrunk] @ mean[shrunk])
        precision = min(max(precision, _PRECISION_RANGE[0]), _PRECISION_RANGE[1])
    privacy_variance = _privacy_variance(curvature, variance, np.where(shrunk, precision, _FLAT))
    covariance, answer, scale_variance = 1 / information, mean.copy(), np.zeros_like(mean)
    if intercept is not None:
        known, unknown = (own @ part / total for part in (mean**2, covariance))
        growth = 1.0
        for _ in range(_ROUNDS):
            seen = _spread_out(intercept.log_odds, (known + unknown) * growth**2)[1]
            growth = 1 / (1 - intercept.alone * (1 - seen))
        scale_variance = (growth**2 - 1) * covariance + ((growth - 1) * mean) ** 2
        predicted = known + squares @ covariance / total
        before, after = (_spread_out(intercept.log_odds, spread)[0] for spread in (known, predicted))
        answer[intercept.index] += after - before
    return Posterior(answer, covariance, float(precision), privacy_variance, mean, scale_variance)


def _spread_out(log_odds: float, variance: float) -> tuple[float, float]:
    """Intercept a and curvature for ψ ~ N(a, variance) that keep the mean of σ(ψ) at σ(log_odds).

    By Stein's lemma Cov(σ(ψ), ψ) = E[σ'(ψ)]·variance: seen from the intercept alone, the curvature is
    E[σ'(ψ)], returned as a part of σ'(log_odds).
    """
    mean, found = expit(log_odds), log_odds
    steps = math.sqrt(min(variance, _LARGEST_SPREAD)) * _NODES
    for _ in range(_ROUNDS):
        p = expit(found + steps)
        slope = _WEIGHTS @ (p * (1 - p))
        found -= (_WEIGHTS @ p - mean) / slope
    return float(found), float(slope / (mean * (1 - mean)))


def _privacy_variance(curvature: FloatArray, variance: float, precision: FloatArray | float) -> FloatArray:
    """Variance of the noise-free estimate given the noisy one: λ²/V by noise, 1/(1/α + 1/λ) a priori."""
    estimate = 1 / precision + 1 / curvature
    return np.asarray(estimate * variance / (variance + estimate * curvature**2))


def expected_mass(noisy: FloatArray, noise_std: float, largest: float) -> FloatArray:
    """Posterior mean of non-negative sums whose sizes have a long tail, given noisy ones.

    The prior is a mixture of exponentials with means `largest`/4ᵏ; its weights are fitted to the noisy sums.
    """
    smallest = largest * 4.0**-12
    if noise_std <= smallest:
        return np.maximum(noisy, smallest)
    scales = largest * 4.0 ** -np.arange(10.0)
    z = noisy[:, None] / noise_std - noise_std / scales
    log_tail = log_ndtr(z)
    log_density = -np.log(scales) + (noise_std / scales) ** 2 / 2 - noisy[:, None] / scales + log_tail
    mean = noise_std * (z + np.exp(-(z**2) / 2 - math.log(2 * math.pi) / 2 - log_tail))  # truncated normal
    log_weight = np.full(len(scales), -math.log(len(scales)))
    for _ in range(_ROUNDS):
        joint = log_density + log_weight
        part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        log_weight = np.log((part.sum(axis=0) + 1) / (len(noisy) + len(scales)))
    found: FloatArray = np.maximum((part * mean).sum(axis=1), smallest)
    return found

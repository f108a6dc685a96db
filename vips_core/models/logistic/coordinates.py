"""Coordinates in which noise costs least: columns centred and scaled by noisy moments.

Noise is proportional to the longest record that counts in full, so columns are centred at their means and
divided by the square roots of their standard deviations. This is halfway between raw columns, where noise
drowns a narrow column, and standardised columns, where rare values make records long. Means and variances are
measured with noise, and shrunk by it: means towards each other, and together towards the middle of the public
ranges, which is taken as it is where the noise would exceed it. In these coordinates noise and prior are the
same in all directions. The model's own constant comes first, so the result depends neither on the place or
name of a constant column nor on whether one exists.

A missing value is 0 in its column and 1 in another, its indicator. Here the missing value is replaced by the
noisy mean of the known values, so the column does not duplicate its indicator. This reparametrises the same
model, so it would also be valid if the indicator were an ordinary column.

| symbol | code       | shape  |
|--------|------------|--------|
| c      | `centre`   | (d,), in units of the columns; 0 where a column is mostly 0 |
| s      | `scale`    | (d,), z = s(x − c); a typical record (constant, z) has norm 1 |
| κ      | `constant` | scalar, value of the constant |
| a      | `reach`    | (d,), |z| of a column at the far end of [0, 1] |
|        | `missing`  | (columns with an indicator, 2), places of a column and of its indicator |
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_ndtr, logsumexp

from vips_core.kernels import Array
from vips_core.models.logistic import kernels
from vips_core.models.logistic.constants import Constants
from vips_core.records.base import frozen

NO_CONSTANT = -1
ROUNDS = 10  # EM rounds that fit the prior of `nonnegative_shrinkage`
FAR = -1e4  # z-score below which a normal tail is computed from its expansion, to nine digits


@dataclass(frozen=True)
class Coordinates:
    """A centre and scale for each column, and the value of the constant before them."""

    centre: Array
    scale: Array
    reach: Array
    constant: float
    column: int  # place of a column that appears constant, or NO_CONSTANT
    value: float  # value of that column
    missing: NDArray[np.int64] | None = None

    def filled(self, x: Any) -> Any:
        """Return rows with missing values at their columns' centres; `x` itself if none can be missing."""
        if self.missing is None:
            return x
        if sparse.issparse(x):
            columns, indicators = self.missing.T
            shifts = (self.centre[columns], (indicators, columns))
            added = x @ sparse.csr_array(shifts, (x.shape[1], x.shape[1]))
            added.sort_indices()  # otherwise the order of a row's cells depends on other rows' missing values
            return sparse.csr_array(x + added)
        rows = x.copy()
        kernels.fill_missing(x, self.missing, self.centre, rows)
        return frozen(rows)


def unit(norm_bound: float, d: int) -> float:
    """Return the largest values of a column that a norm bound implies; 1 for columns in [0, 1]."""
    return max(norm_bound / math.sqrt(d), min(1.0, norm_bound))


def middle(norm_bound: float, d: int) -> float:
    """Return the columns' mean if they are spread evenly over public ranges that imply this norm bound."""
    return (norm_bound / unit(norm_bound, d)) ** 2 / d / 2


def unmeasured(norm_bound: float, d: int, missing: NDArray[np.int64], constants: Constants) -> Coordinates:
    """Return coordinates without measurements: columns centred in the middle, and scaled as if uniform."""
    size, mean = unit(norm_bound, d), middle(norm_bound, d)
    centre = np.full(d, mean if mean > constants.common_mean else 0.0)
    scale = np.full(d, math.sqrt(12 / (d + 1)))
    reach = scale * np.maximum(centre, 1 - centre)
    found = Coordinates(centre * size, scale / size, reach, 1 / math.sqrt(d + 1), NO_CONSTANT, 1.0)
    return replace(found, missing=missing) if centre.any() and len(missing) else found


def from_moments(
    sums: Array,
    noise_std: float,
    norm_bound: float,
    bound: float,
    records: int,
    missing: NDArray[np.int64],
    constants: Constants,
) -> Coordinates:
    """Return the coordinates estimated from noisy moments whose records are within `bound`."""
    d = len(sums) // 2 - 1
    size = unit(norm_bound, d)
    total = max(sums[-2:].sum() / bound, 0.1 * records, noise_std / bound)  # total weight, at least N/10
    noise = noise_std / total
    first, second = sums[:d] / total, sums[d : 2 * d] / total
    column, value = _constant(first, second, noise, constants)
    missing = missing[(missing != column).all(axis=1)]
    columns, indicators = missing.T
    varying = np.arange(d) != column
    guess = middle(norm_bound, d)
    mean = shrunk_means(first, noise, guess, varying, constants.mean_std)
    known = np.ones(d)  # share of known values, at least their mean, because no value is above 1
    least_known = np.maximum(mean[columns], constants.common_mean)
    known[columns] = np.clip(1 - mean[indicators] * size, least_known, 1.0)
    square = shrunk_means(second, noise, guess, varying, constants.mean_std)
    centre = np.where(mean**2 > constants.common_mean * square, mean / known, 0.0)
    steepness = np.sqrt(1 + 4 * centre**2)  # noise of the variance over `noise`, by the delta method
    spread = second - 2 * centre * first + known * centre**2
    variance = nonnegative_shrinkage(spread / steepness, noise, 1.0) * steepness
    deviation = np.sqrt(variance)
    scale = 1 / np.sqrt(deviation * deviation.mean() * (d + 1))
    reach = scale * np.maximum(np.abs(centre), np.abs(1 - centre))
    missing = missing[centre[columns] != 0]
    found = Coordinates(centre * size, scale / size, reach, 1 / math.sqrt(d + 1), column, value * size)
    return replace(found, missing=missing) if len(missing) else found


def shrunk_means(noisy: Array, noise: float, guess: float, varying: NDArray[np.bool_], std: float) -> Array:
    """Return the posterior means of columns' means, under a normal prior that is fitted to all of them.

    The prior's centre is N(guess, std²), and its variance near std², which counts as two columns. A column
    that does not vary is no part of the prior, and keeps its noisy mean.
    """
    if not varying.any():
        return noisy
    own, count = noisy[varying], int(varying.sum())
    error = noise**2 / count
    centre = (own.mean() * std**2 + guess * error) / (std**2 + error)
    variance = (max(own.var() - noise**2, 0.0) * count + 2 * std**2) / (count + 2)
    shrunk = (noisy * variance + centre * noise**2) / (variance + noise**2)
    return np.where(varying, np.clip(shrunk, -1.0, 1.0), noisy)


def positive_share(sums: Array, noise_std: float) -> float:
    """Return the share of positive labels from noisy moments; the noise bounds it away from 0 and 1."""
    negative, positive = np.maximum(sums[-2:], noise_std)
    return float(positive / (negative + positive))


def _constant(first: Array, second: Array, noise: float, constants: Constants) -> tuple[int, float]:
    """Return the column with the largest mean among those whose variance may be noise, and its value.

    With much noise, that column may not be constant; predictions do not depend on the choice.
    """
    certain = constants.min_z_moment * noise
    steady = second - first**2 <= certain * np.sqrt(1 + 4 * first**2) + constants.constant_variance
    steady &= first > certain
    if not steady.any():
        return NO_CONSTANT, 1.0
    column = int(np.argmax(np.where(steady, first, 0.0)))
    return column, 1.0 if abs(first[column] - 1) <= certain else float(first[column])


def nonnegative_shrinkage(noisy: Array, noise_std: float, largest: float) -> Array:
    """Return the posterior means of non-negative, long-tailed quantities from noisy measurements.

    The prior is a mixture of exponentials with means `largest`/4ᵏ; its weights are fitted to `noisy`.
    """
    smallest = largest * 4.0**-12
    if noise_std <= smallest:
        return np.maximum(noisy, smallest)
    scales = largest * 4.0 ** -np.arange(10.0)
    z = noisy[:, None] / noise_std - noise_std / scales
    near, far = np.maximum(z, FAR), np.minimum(z, FAR)
    log_tail, log_root = log_ndtr(near), math.log(2 * math.pi) / 2
    log_density = np.where(
        z < FAR,
        -((noisy[:, None] / noise_std) ** 2) / 2 - log_root - np.log(-far),
        (noise_std / scales) ** 2 / 2 - noisy[:, None] / scales + log_tail,
    ) - np.log(scales)
    mean = noise_std * np.where(z < FAR, -1 / far, near + np.exp(-(near**2) / 2 - log_root - log_tail))
    log_weight = np.full(len(scales), -math.log(len(scales)))
    for _ in range(ROUNDS):
        joint = log_density + log_weight
        responsibility = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        log_weight = np.log((responsibility.sum(axis=0) + 1) / (len(noisy) + len(scales)))
    return np.asarray(np.maximum((responsibility * mean).sum(axis=1), smallest))

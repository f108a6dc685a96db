"""Empirical Bayes for many noisy cells at once: what is left of each when the noise is known.

A cell is noisy = mean·x + noise with known mean and noise_std, and x ≥ 0 has a prior that is a mixture of
narrow bumps around public grid points. The mixture's weights are learned by EM from the noisy cells of a
group of columns, so that heavy tails and sparsity are found rather than assumed. The answer is the posterior
mean of mean·x, and without noise the cell itself.
"""

import math

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.pool import map_chunks

CHUNK = 256
Float64 = npt.NDArray[np.float64]


def shrink(
    noisy: Float64,
    mean: Float64,
    noise_std: Float64,
    groups: npt.NDArray[np.int64],
    mixture: Float64,
    grid: Float64,
    iterations: int,
) -> tuple[Float64, Float64, float]:
    """Return the posterior means, rows × columns, the mixture after `iterations` of EM, and its fit.

    The fit is the logarithm of the likelihood before the last iteration, but for a constant.

    Parameters
    ----------
    noisy, mean
        Rows × columns; means are positive.
    noise_std
        Of each cell, or of each column.
    groups
        Each column's group, whose cells share one prior.
    mixture
        Groups × grid points: the weights to start from; each row sums to 1.
    grid
        Positive centres of the bumps of x, increasing; a bump's width is the gap below it over 2.
    """
    widths = np.diff(grid, prepend=0) / 2
    estimate = np.empty_like(noisy)
    noise_std = np.ascontiguousarray(np.broadcast_to(noise_std, noisy.shape))
    likelihood = 0.0
    for _ in range(iterations):
        logs = np.log(mixture)

        def shrink_chunk(start: int, stop: int, logs: Float64 = logs) -> tuple[Float64, float]:
            cells = np.zeros(logs.shape)
            span = start, stop
            return cells, shrink_columns(
                noisy, mean, noise_std, groups, logs, grid, widths, *span, estimate, cells
            )

        cells_of_bumps, likelihood = np.full(mixture.shape, 1e-3), 0.0
        for cells, likelihood_of_chunk in map_chunks(shrink_chunk, noisy.shape[1], CHUNK):
            cells_of_bumps += cells
            likelihood += likelihood_of_chunk
        mixture = cells_of_bumps / cells_of_bumps.sum(axis=1, keepdims=True)
    return estimate, mixture, likelihood


def exponential(groups: int, grid: Float64) -> Float64:
    """Return weights of bumps on a geometric grid for an exponential density of mean 1, for all groups."""
    weights = grid * np.exp(-grid)
    return np.tile(weights / weights.sum(), (groups, 1))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def shrink_columns(
    noisy: Float64,
    mean: Float64,
    noise_std: Float64,
    groups: npt.NDArray[np.int64],
    logs: Float64,
    grid: Float64,
    widths: Float64,
    start: int,
    stop: int,
    estimate: Float64,
    cells: Float64,
) -> float:
    """Write the posterior means of columns `start` to `stop`; add each bump's share of them to `cells`.

    Returns the logarithm of the likelihood, but for a constant.
    """
    score = np.empty(grid.size)
    inside = np.empty(grid.size)
    likelihood = 0.0
    for v in range(start, stop):
        group = groups[v]
        for k in range(noisy.shape[0]):
            noise, best = noise_std[k, v] ** 2, -math.inf
            for g in range(grid.size):
                spread = (mean[k, v] * widths[g]) ** 2
                gap = noisy[k, v] - mean[k, v] * grid[g]
                variance = noise + spread
                score[g] = logs[group, g] - 0.5 * (gap * gap / variance + math.log(variance))
                inside[g] = max(0.0, mean[k, v] * grid[g] + spread / variance * gap)
                best = max(best, score[g])
            total, value = 0.0, 0.0
            for g in range(grid.size):
                score[g] = math.exp(score[g] - best)
                total += score[g]
                value += score[g] * inside[g]
            estimate[k, v] = value / total
            likelihood += best + math.log(total)
            for g in range(grid.size):
                cells[group, g] += score[g] / total
    return likelihood

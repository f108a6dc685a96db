"""Empirical Bayes for many noisy cells at once: what is left of each when the noise is known.

A cell is noisy = mean·x + noise with known mean and noise_std, and x ≥ 0 has a prior that is a mixture of
narrow bumps around public grid points. Every column is of one of some classes, which it does not show, and
each row has a mixture of its own for the columns of a class: a word that is common to all topics has cells of
another kind than one that belongs to a few, and all its cells tell which it is. The mixtures and how frequent
classes are in a group of columns are learned by EM from the noisy cells, so that heavy tails and sparsity are
found rather than assumed. The answer is the posterior mean of mean·x, and without noise the cell itself.
"""

import math
from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.pool import map_chunks
from vips_core.models.lda.block_kernels import FAST

CHUNK = 256
BUMP_CELLS, CLASS_COLUMNS = 1e-3, 1.0  # that every bump and every possible class has beforehand
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Mixtures of bumps, rows × classes × grid points, and groups' shares of the classes: each sums to 1."""

    mixture: Float64
    shares: Float64


def shrink(
    noisy: Float64,
    mean: Float64,
    noise_std: Float64,
    groups: npt.NDArray[np.int64],
    prior: Prior,
    grid: Float64,
    iterations: int,
) -> tuple[Float64, Prior]:
    """Return the posterior means, rows × columns, and the prior after `iterations` of EM.

    Parameters
    ----------
    noisy, mean
        Rows × columns; means are positive.
    noise_std
        Of each cell, or of each column.
    groups
        Each column's group, whose columns share how frequent classes are.
    prior
        The prior to start from. A class that a group lacks stays so.
    grid
        Positive centres of the bumps of x, increasing; a bump's width is the gap below it over 2.
    """
    widths = np.diff(grid, prepend=0) / 2
    estimate = np.empty_like(noisy)
    noise_std = np.ascontiguousarray(np.broadcast_to(noise_std, noisy.shape))
    for _ in range(iterations):

        def shrink_chunk(start: int, stop: int, prior: Prior = prior) -> tuple[Float64, Float64]:
            cells, columns = np.zeros(prior.mixture.shape), np.zeros(prior.shares.shape)
            known = noisy, mean, noise_std, groups, prior.mixture, prior.shares, grid, widths
            shrink_columns(*known, start, stop, estimate, cells, columns)
            return cells, columns

        cells, columns = np.full(prior.mixture.shape, BUMP_CELLS), CLASS_COLUMNS * (prior.shares > 0)
        for own_cells, own_columns in map_chunks(shrink_chunk, noisy.shape[1], CHUNK):
            cells += own_cells
            columns += own_columns
        prior = Prior(cells / cells.sum(axis=2, keepdims=True), columns / columns.sum(axis=1, keepdims=True))
    return estimate, prior


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def shrink_columns(
    noisy: Float64,
    mean: Float64,
    noise_std: Float64,
    groups: npt.NDArray[np.int64],
    mixture: Float64,
    shares: Float64,
    grid: Float64,
    widths: Float64,
    start: int,
    stop: int,
    estimate: Float64,
    cells: Float64,
    columns: Float64,
) -> None:
    """Write the posterior means of columns `start` to `stop`; add what each bump and class has of them."""
    rows, classes, bumps = mixture.shape
    density, inside = np.empty((rows, bumps)), np.empty((rows, bumps))
    evidence, weight = np.empty((rows, classes)), np.empty(classes)
    exponent, height = np.empty(bumps), np.empty(bumps)
    for v in range(start, stop):
        group = groups[v]
        for c in range(classes):
            weight[c] = math.log(shares[group, c]) if shares[group, c] > 0 else -math.inf
        for k in range(rows):
            noise, best = noise_std[k, v] ** 2, -math.inf
            for g in range(bumps):
                spread = (mean[k, v] * widths[g]) ** 2
                gap = noisy[k, v] - mean[k, v] * grid[g]
                inverse = 1 / (noise + spread)
                exponent[g] = -0.5 * gap * gap * inverse
                height[g] = math.sqrt(inverse)
                inside[k, g] = max(0.0, mean[k, v] * grid[g] + spread * inverse * gap)
                best = max(best, exponent[g])
            for g in range(bumps):
                density[k, g] = height[g] * math.exp(exponent[g] - best)
            for c in range(classes):
                if weight[c] > -math.inf:
                    total = 0.0
                    for g in range(bumps):
                        total += density[k, g] * mixture[k, c, g]
                    evidence[k, c] = total
                    weight[c] += math.log(total)
        weight[:] = np.exp(weight - weight.max())
        weight /= weight.sum()
        for c in range(classes):
            columns[group, c] += weight[c]
        for k in range(rows):
            value = 0.0
            for c in range(classes):
                if weight[c] > 0:
                    factor = weight[c] / evidence[k, c]
                    for g in range(bumps):
                        part = factor * density[k, g] * mixture[k, c, g]
                        value += part * inside[k, g]
                        cells[k, c, g] += part
            estimate[k, v] = value

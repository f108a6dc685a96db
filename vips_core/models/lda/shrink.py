"""Empirical Bayes for many noisy cells at once: what is left of each when the noise is known.

A cell is noisy = mean·x + noise with known mean and noise_std, and x ≥ 0 has a prior that is a mixture of
narrow bumps around public grid points. Every column is of one of some classes, which it does not show, and
each row has a mixture of its own for the columns of a class: a word that is common to all topics has cells of
another kind than one that belongs to a few, and all its cells tell which it is. The mixtures and how frequent
classes are in a group of columns are learned by EM from the noisy cells, so that heavy tails and sparsity are
found rather than assumed. The answer is the posterior mean of mean·x, in single precision.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks
from vips_core.models.lda.shrink_kernels import LANES, Float32, shrink_columns

CHUNK = 512  # columns
BUMP_CELLS, CLASS_COLUMNS = 1e-3, 1.0  # that every bump and every possible class has beforehand
LARGEST = 1e15  # cell or noise over the mean: their squares stay inside float32
Float64 = Array


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
    rows, columns = noisy.shape
    prior_shape = rows, prior.shares.shape[1], len(grid)
    if prior.mixture.shape != prior_shape:  # the kernel relies on it
        raise ValueError(f"the prior's mixtures must have the shape {prior_shape}, got {prior.mixture.shape}")
    variances = _padded((noise_std / mean) ** 2, high=LARGEST**2)
    cells, wide = _padded(noisy / mean, high=LARGEST), (np.diff(grid, prepend=0) / 2) ** 2
    known = cells, variances
    bump_shapes = grid.astype(np.float32), wide.astype(np.float32)
    estimate = np.empty_like(cells)
    for _ in range(iterations):
        weights = _padded(prior.shares[groups].T)
        mixture = prior.mixture.astype(np.float32).reshape(-1)

        def shrink_chunk(
            start: int, stop: int, weights: Float32 = weights, mixture: Float32 = mixture
        ) -> Float64:
            share = np.zeros((*prior_shape, LANES), np.float32)
            shrink_columns(*known, weights, mixture, *bump_shapes, start, stop, estimate, share.reshape(-1))
            return np.asarray(share.sum(axis=3, dtype=np.float64))

        own = np.full(prior.mixture.shape, BUMP_CELLS)
        for share in map_chunks(shrink_chunk, cells.shape[1], CHUNK):
            own += share
        of_classes = CLASS_COLUMNS * (prior.shares > 0)
        for number, of_class in enumerate(weights[:, :columns]):
            of_classes[:, number] += np.bincount(groups, of_class, len(prior.shares))
        prior = Prior(
            own / own.sum(axis=2, keepdims=True), of_classes / of_classes.sum(axis=1, keepdims=True)
        )
    return mean * estimate[:, :columns], prior


def _padded(numbers: Float64, high: float = 1.0) -> Float32:
    """Return numbers between ±`high` with columns of 0 up to a multiple of the lanes."""
    rows, columns = numbers.shape
    padded = np.zeros((rows, -(-columns // LANES) * LANES), np.float32)
    np.clip(numbers, -high, high, out=padded[:, :columns], casting="same_kind")
    return padded

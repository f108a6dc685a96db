"""Posterior means of noisy cells under mixtures of bumps, for a few columns at a time.

symbol  code          shape
------  ------------  -----------------------------------------------------------------------------------
x       cells         (K, P) float32: noisy cells over their means; P = columns padded to LANES
s²      variances     (K, P) float32: variances of their noise
        class_weights (C, P) float32: class probabilities of each column, prior, then posterior
        mixture       (K, C, G) float32: weights of the bumps for each row and class
        grid, spread  (G,) float32: centres and variances of the bumps
        bump_cells    (K, C, G) float32: expected number of cells under each bump, by row and class
"""

import numba as nb
import numpy as np

from vips_core.kernels.special import exp_negative
from vips_core.models.lda.sweep_kernels import FAST, HALF, ZERO, Float32

LANES = 32  # columns at a time: a multiple of the register width, and few enough for the nearest cache
LEAST = np.float32(1e-37)  # least probability, which prevents division by 0


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def bump_densities(
    x: Float32, variance: Float32, grid: Float32, spread: Float32, density: Float32, inside: Float32
) -> None:
    """Write the likelihood of x under each bump, up to a common factor, and its posterior mean there."""
    best = np.full(LANES, np.float32(-1e30))
    for g in range(grid.size):
        exponents, means = density[g], inside[g]
        for i in range(LANES):
            gap = x[i] - grid[g]
            pull = gap / (variance[i] + spread[g])
            means[i] = max(ZERO, spread[g] * pull + grid[g])
            exponents[i] = -HALF * gap * pull
            best[i] = max(best[i], exponents[i])
    for g in range(grid.size):
        densities = density[g]
        for i in range(LANES):
            height = np.sqrt((variance[i] + spread[0]) / (variance[i] + spread[g]))
            densities[i] = height * exp_negative(densities[i] - best[i])


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def shrink_columns(
    cells: Float32,
    variances: Float32,
    class_weights: Float32,
    mixture: Float32,
    grid: Float32,
    spread: Float32,
    start: int,
    stop: int,
    estimate: Float32,
    bump_cells: Float32,
) -> None:
    """Write posterior means and class probabilities of columns `start` to `stop`; count cells for each bump.

    A column whose class probabilities are all 0, such as padding, adds nothing.
    """
    rows, classes, bumps = mixture.shape
    shape = rows, bumps, LANES
    density, inside = np.empty(shape, np.float32), np.empty(shape, np.float32)
    evidence, factor = np.empty((rows, classes, LANES), np.float32), np.empty((classes, LANES), np.float32)
    most = np.empty(LANES, np.float32)
    for first in range(start, stop, LANES):
        columns = slice(first, first + LANES)
        for k in range(rows):
            bump_densities(cells[k, columns], variances[k, columns], grid, spread, density[k], inside[k])
            most[:] = LEAST
            for c in range(classes):
                found, weights = evidence[k, c], class_weights[c, columns]
                found[:] = LEAST
                for g in range(bumps):
                    part, share = density[k, g], mixture[k, c, g]
                    for i in range(LANES):
                        found[i] += share * part[i]
                for i in range(LANES):
                    weights[i] *= found[i]
                    most[i] = max(most[i], weights[i])
            for c in range(classes):
                class_weights[c, columns] /= most
        most[:] = LEAST
        for c in range(classes):
            most += class_weights[c, columns]
        for c in range(classes):
            class_weights[c, columns] /= most
        for k in range(rows):
            value = estimate[k, columns]
            value[:] = ZERO
            for c in range(classes):
                factor[c] = class_weights[c, columns] / evidence[k, c]
            for c in range(classes):
                of_class = factor[c]
                for g in range(bumps):
                    part, means, share, number = density[k, g], inside[k, g], mixture[k, c, g], ZERO
                    for i in range(LANES):
                        likely = share * of_class[i] * part[i]
                        number += likely
                        value[i] += likely * means[i]
                    bump_cells[k, c, g] += number

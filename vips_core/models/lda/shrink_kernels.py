"""Posterior means of noisy cells under mixtures of bumps, for a few columns at a time.

symbol  code          shape
------  ------------  -----------------------------------------------------------------------------------
x       cells         (K, P) float32: noisy cells over their means; P = columns padded to LANES
s²      variances     (K, P) float32: variances of their noise
        mixture       (K, G) float32: weights of the bumps for each row
        grid, spread  (G,) float32: centres and variances of the bumps
        bump_cells    (K, G) float32: expected number of cells under each bump, by row
"""

import numba as nb
import numpy as np

from vips_core.kernels.special import exp_negative
from vips_core.models.lda.sweep_kernels import FAST, HALF, ONE, ZERO, Float32

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
    mixture: Float32,
    grid: Float32,
    spread: Float32,
    start: int,
    stop: int,
    estimate: Float32,
    bump_cells: Float32,
) -> None:
    """Write posterior means of columns `start` to `stop`; count the cells under each bump.

    A cell whose variance is negative, such as padding, adds nothing.
    """
    rows, bumps = mixture.shape
    density, inside = np.empty((bumps, LANES), np.float32), np.empty((bumps, LANES), np.float32)
    evidence, real = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for first in range(start, stop, LANES):
        columns = slice(first, first + LANES)
        for k in range(rows):
            variance, value = variances[k, columns], estimate[k, columns]
            for i in range(LANES):
                real[i] = ZERO if variance[i] < ZERO else ONE
            bump_densities(cells[k, columns], np.abs(variance), grid, spread, density, inside)
            evidence[:] = LEAST
            for g in range(bumps):
                part, share = density[g], mixture[k, g]
                for i in range(LANES):
                    part[i] *= share
                    evidence[i] += part[i]
            for i in range(LANES):
                value[i] = ZERO
                evidence[i] = real[i] / evidence[i]
            for g in range(bumps):
                part, means, number = density[g], inside[g], ZERO
                for i in range(LANES):
                    likely = part[i] * evidence[i]
                    number += likely
                    value[i] += likely * means[i]
                bump_cells[k, g] += number

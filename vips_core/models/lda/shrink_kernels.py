"""Posterior means of noisy cells under mixtures of bumps, for sixteen columns at a time.

symbol  code       shape
------  ---------  -----------------------------------------------------------------------------------------
x       cells      (K, P) float32: noisy cells over their means; P = columns padded to 16s
s²      variances  (K, P) float32: of their noise
        weights    (C, P) float32: how likely each column is of a class, beforehand and afterwards
        mixture    (K C G,) float32: of each row and class, over the bumps
        grid, wide (G,) float32: the bumps' centres and variances
        share      (K C G 16,) float32: how many cells each bump has of a row and class, in sixteen sums
"""

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.lane_math import add, divide, fma, maximum, multiply, square_root
from vips_core.kernels.simd import load, splat, store, zeros
from vips_core.kernels.special import exp_negative, number

LANES = 16
LEAST = 1e-37  # probability, so that nothing is divided by 0

Float32 = npt.NDArray[np.float32]


@nb.njit(nogil=True, cache=True, inline="always")
def bump_densities(
    x: Any, variance: Any, grid: Float32, wide: Float32, at: int, density: Float32, inside: Float32
) -> None:
    """Write from `at` how likely x is of each bump, but for a factor, and the mean of what it is then."""
    zero = zeros(16)
    best = number(zero, -1e30)
    for g in range(grid.size):
        inverse = divide(number(zero, 1), add(variance, splat(zero, wide[g])))
        gap = add(x, splat(zero, -grid[g]))
        pull = multiply(gap, inverse)
        mean = maximum(zero, fma(splat(zero, wide[g]), pull, splat(zero, grid[g])))
        exponent = multiply(number(zero, -0.5), multiply(gap, pull))
        best = maximum(best, exponent)
        store(inside, at + g * 16, mean)
        store(density, at + g * 16, exponent)
    best, narrowest = multiply(number(zero, -1), best), add(variance, splat(zero, wide[0]))
    for g in range(grid.size):
        height = square_root(divide(narrowest, add(variance, splat(zero, wide[g]))))
        likely = exp_negative(add(load(zero, density, at + g * 16), best))
        store(density, at + g * 16, multiply(height, likely))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def shrink_columns(
    cells: Float32,
    variances: Float32,
    weights: Float32,
    mixture: Float32,
    grid: Float32,
    wide: Float32,
    start: int,
    stop: int,
    estimate: Float32,
    share: Float32,
) -> None:
    """Write the posterior means of columns `start` to `stop` and their classes; add to the bumps' shares.

    A column that no class is possible for, such as padding, adds nothing.
    """
    zero, classes, bumps, width = zeros(16), len(weights), grid.size, cells.shape[1]
    rows = len(cells)
    density, inside = np.empty(rows * bumps * 16, np.float32), np.empty(rows * bumps * 16, np.float32)
    evidence, factor = np.empty(rows * classes * 16, np.float32), np.empty(classes * 16, np.float32)
    flat_cells, flat_variances = cells.reshape(-1), variances.reshape(-1)
    flat_weights, flat_estimate = weights.reshape(-1), estimate.reshape(-1)
    for v in range(start, stop, 16):
        for k in range(rows):
            at = k * bumps * 16
            x, variance = load(zero, flat_cells, k * width + v), load(zero, flat_variances, k * width + v)
            bump_densities(x, variance, grid, wide, at, density, inside)
            most = number(zero, LEAST)
            for c in range(classes):
                total, of = number(zero, LEAST), (k * classes + c) * bumps
                for g in range(bumps):
                    total = fma(load(zero, density, at + g * 16), splat(zero, mixture[of + g]), total)
                store(evidence, (k * classes + c) * 16, total)
                likely = multiply(load(zero, flat_weights, c * width + v), total)
                most = maximum(most, likely)
                store(flat_weights, c * width + v, likely)
            for c in range(classes):
                likely = load(zero, flat_weights, c * width + v)
                store(flat_weights, c * width + v, divide(likely, most))
        all_classes = number(zero, LEAST)
        for c in range(classes):
            all_classes = add(all_classes, load(zero, flat_weights, c * width + v))
        for c in range(classes):
            store(flat_weights, c * width + v, divide(load(zero, flat_weights, c * width + v), all_classes))
        for k in range(rows):
            value, at = zero, k * bumps * 16
            for c in range(classes):
                own = load(zero, flat_weights, c * width + v)
                store(factor, c * 16, divide(own, load(zero, evidence, (k * classes + c) * 16)))
            for g in range(bumps):
                likely, total = load(zero, density, at + g * 16), zero
                for c in range(classes):
                    of = (k * classes + c) * bumps + g
                    part = multiply(multiply(load(zero, factor, c * 16), likely), splat(zero, mixture[of]))
                    store(share, of * 16, add(load(zero, share, of * 16), part))
                    total = add(total, part)
                value = fma(total, load(zero, inside, at + g * 16), value)
            store(flat_estimate, k * width + v, value)

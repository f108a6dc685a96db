"""Sums over labelled rows that variants and baselines share, each record within its bound.

A record is weighted, not rescaled: the refined sums use w = min(1, radius/‖x‖), which depends on x alone, so
that the weighted estimating equation Σ w(y − σ(xᵀm))x = 0 keeps the coefficients of the model. Shares are cut
to the block's grid, so that sums are exact. A curvature is released as the whole matrix; the average of its
two triangles has as much noise as a packed triangle would have.

A row's share depends on that row alone: what BLAS computes of a row is exact (`vips_core.kernels.exact`), and
the rest is computed row by row. Bounds are lowered by what rounding hides of a norm of so many columns.

Where a record is a person with several rows, each row's share is multiplied by one over their number
(`row_weights`) before it is cut: the average of shares within a bound is within it.

| symbol       | code        | shape  |
|--------------|-------------|--------|
| x, y         | `x`, `y`    | (n, d), (n,) |
| ψ = xᵀm      | `psi`       | (n,)   |
| σ(ψ)         | `p`         | (n,)   |
| ⟨ξ⟩          | `xi`        | (n,)   |
| w            | `weight`    | (n,)   |
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, left_bits, lowered, right_factor, row_sums, square_step
from vips_core.kernels.pool import map_chunks
from vips_core.kernels.special import pg_means
from vips_core.models.base import Block
from vips_core.models.logistic import kernels, roots
from vips_core.records import Table

ROWS = 1024  # that BLAS sees at a time: they stay in the cache
CHUNK = 4096  # rows of a thread's task


def polya_gamma_blocks(norm_bound: float, d: int) -> dict[str, Block]:
    """‖(y − ½)x‖ ≤ norm/2 and ‖⟨ξ⟩xxᵀ‖ ≤ norm²/4, with equal shares."""
    half = math.sqrt(0.5)
    return {
        "linear": Block(0.5 * norm_bound, half, (d,)),
        "curvature": Block(0.25 * norm_bound**2, half, (d, d)),
    }


def polya_gamma_sums(
    batch: Table, mean: Array, covariance: Array, blocks: Mapping[str, Block]
) -> dict[str, Array]:
    """Σ (y − ½)x and Σ ⟨ξ⟩xxᵀ, where ξ ~ PG(1, c) and c² = xᵀ(Σ + mmᵀ)x (Algorithm 5)."""
    x, y, row_weights, d = batch.x, batch.y.astype(np.float64), batch.row_weights, batch.x.shape[1]
    linear, curvature = blocks["linear"], blocks["curvature"]
    bounds = lowered(linear.bound, cells=d), lowered(curvature.bound, cells=d)
    if sparse.issparse(x):
        norm, xi = norms(x), pg_means(np.sqrt(quadratic_forms(x, covariance + np.outer(mean, mean))))
        factors = row_weights * (y - 0.5) * at_most(bounds[0], 0.5 * norm)
        within = at_most(bounds[1], 0.25 * norm**2)
        return {
            "linear": row_sum(x, factors, linear.grid),
            "curvature": gram(x, row_weights * xi * within, curvature.grid),
        }
    step, bits = square_step(curvature.grid), left_bits(d)
    factor = right_factor(covariance, bits)

    def chunk_sums(start: int, stop: int) -> tuple[Array, Array]:
        steps, total, out = np.zeros(d), np.zeros((d, d), order="F"), np.empty((ROWS, d))
        rounded = np.empty((ROWS, d))
        for first in range(start, stop, ROWS):
            last = min(first + ROWS, stop)
            rows, written, left = x[first:last], out[: last - first], rounded[: last - first]
            kernels.write_left_factor(rows, bits, left)
            roots.write_polya_gamma_roots(
                rows,
                left @ factor,
                mean,
                y[first:last],
                row_weights[first:last],
                bounds,
                linear.grid,
                step,
                steps,
                written,
            )
            roots.add_products(written, total)
        return steps, total

    steps, total = np.zeros(d), np.zeros((d, d))
    for more_steps, more in map_chunks(chunk_sums, len(y), CHUNK):
        steps += more_steps
        total += more
    return {"linear": steps * linear.grid, "curvature": roots.mirrored(total) * step**2}


def clipped_gradient(batch: Table, point: Array, block: Block) -> Array:
    """Σ of each row's gradient (y − p)x, scaled down to the block's bound where it is longer (DP-SGD)."""
    x, y, row_weights = batch.x, batch.y.astype(np.float64), batch.row_weights
    bound = lowered(block.bound, cells=x.shape[1])
    if sparse.issparse(x):
        residual = y - expit(x @ point)
        within = at_most(bound, np.abs(residual) * norms(x))
        return row_sum(x, row_weights * residual * within, block.grid)
    steps = np.zeros(x.shape[1])
    kernels.add_clipped_gradients(x, y, row_weights, point, bound, block.grid, steps)
    return steps * block.grid


def row_sum(x: Any, factors: Array, grid: float) -> Array:
    """Σ factor·x over rows, each cut to the grid."""
    if sparse.issparse(x):
        cells = cut(x.data * np.repeat(factors, np.diff(x.indptr)), grid)
        return np.asarray(np.bincount(x.indices, cells, minlength=x.shape[1]))
    steps = np.zeros(x.shape[1])
    kernels.add_rows(x, factors / grid, steps)
    return steps * grid


def quadratic_forms(x: Any, matrix: Array) -> Array:
    """Return xᵀAx of every row; dense ones in chunks, so that no second n × d array is made.

    Of a dense row the last bits may depend on its neighbours: this is for predictions, not for shares.
    """
    forms = np.empty(x.shape[0])
    if sparse.issparse(x):
        kernels.sparse_quadratic_forms(x.data, x.indices, x.indptr, matrix, forms)
    else:
        for start in range(0, len(forms), ROWS):
            rows = x[start : start + ROWS]
            forms[start : start + ROWS] = row_sums((rows @ matrix) * rows)
    return np.maximum(forms, 0.0)


def squares(x: Any) -> Any:
    """Return x² cell by cell, sparse where x is."""
    return x.multiply(x) if sparse.issparse(x) else x**2


def norms(x: Any) -> Array:
    """L2 norm of every row."""
    if sparse.issparse(x):
        cells = sparse.csr_array((x.data**2, x.indices, x.indptr), shape=x.shape)
        return np.sqrt(np.asarray(cells.sum(axis=1), np.float64).ravel())
    return np.sqrt(row_sums(x**2))


def at_most(bound: float, norm: Array) -> Array:
    """Factors that scale vectors of these norms down to `bound`, 1 where they are short enough."""
    return np.asarray(bound / np.maximum(norm, bound))


def gram(x: Any, coefficient: Array, grid: float) -> Array:
    """Σ coefficient·xxᵀ over rows of a CSR matrix, on the grid."""
    cells = cut(x.data * np.repeat(np.sqrt(coefficient), np.diff(x.indptr)), square_step(grid))
    scaled = sparse.csr_array((cells, x.indices, x.indptr), shape=x.shape)
    return np.asarray((scaled.T @ scaled).toarray())

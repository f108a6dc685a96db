"""What one batch of labelled rows tells logistic regression: sums over records, each within its bound.

A record is weighted, not rescaled: the refined sums use w = min(1, radius/‖x‖), which depends on x alone, so
that the weighted estimating equation Σ w(y − σ(xᵀm))x = 0 keeps the coefficients of the model.

| symbol       | code        | shape  |
|--------------|-------------|--------|
| x, y         | `x`, `y`    | (n, d), (n,) |
| ψ = xᵀm      | `psi`       | (n,)   |
| σ(ψ)         | `p`         | (n,)   |
| ⟨ξ⟩          | `xi`        | (n,)   |
| w            | `weight`    | (n,)   |
"""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from vips_core.kernels import logistic as kernels
from vips_core.kernels.polya_gamma import pg_means
from vips_core.kernels.pool import Array, grouped_sums, map_chunks
from vips_core.models.base import FloatArray
from vips_core.models.symmetric import pack

_ROWS = 4096
_CACHED_CELLS = 131_072  # 1 MB of rows: still near when BLAS reads them, and few enough chunks


def paper_sums(
    x: Any, y: FloatArray, mean: FloatArray, covariance: FloatArray, bounds: Mapping[str, float]
) -> dict[str, FloatArray]:
    """Σ (y − ½)x and Σ ⟨ξ⟩xxᵀ (packed), where ξ ~ PG(1, c) and c² = xᵀ(Σ + mmᵀ)x (Algorithm 5)."""

    def part(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        rows, norm = x[start:stop], norms(x[start:stop])
        xi = pg_means(np.sqrt(quadratic_forms(rows, covariance) + (rows @ mean) ** 2))
        centred = y[start:stop] - 0.5
        linear = rows.T @ (centred * _at_most(bounds["linear"], 0.5 * norm))
        return linear, _gram(rows, xi * _at_most(bounds["curvature"], 0.25 * norm**2))

    # A sparse product is small; its dense d × d sum is not, and is made once.
    chunk = max(len(y), 1) if sparse.issparse(x) else _ROWS
    linear, curvature = _total(map_chunks(part, len(y), chunk), x.shape[1])
    return {"linear": linear, "curvature": pack(curvature)}


def gradient_and_hessian(
    x: Any, y: FloatArray, point: FloatArray, radius: float, bounds: Mapping[str, float]
) -> dict[str, FloatArray]:
    """Σ w(y − p)x and Σ w p(1 − p)xxᵀ (packed) at `point`: the bound expanded where it is tight."""
    d = x.shape[1]
    if sparse.issparse(x):
        norm = norms(x)
        weight = _at_most(radius, norm)
        p = expit(x @ point)
        within = _at_most(bounds["hessian"], 0.25 * radius * norm)
        gradient, hessian = x.T @ (weight * (y - p)), _gram(x, weight * within * p * (1.0 - p))
        return {"gradient": gradient, "hessian": pack(hessian)}

    chunk, scratch = max(_CACHED_CELLS // d, 8 * d), threading.local()

    def part(start: int, stop: int) -> tuple[Array, Array]:
        if not hasattr(scratch, "scaled"):  # one array a thread: fresh memory costs as much as the product
            scratch.scaled = np.empty((min(chunk, len(y)), d))
        scaled, gradient = scratch.scaled[: stop - start], np.zeros(d)
        kernels.weigh_and_scale(
            x[start:stop], y[start:stop], point, radius, bounds["hessian"], gradient, scaled
        )
        return gradient, scaled.T @ scaled

    gradient, hessian = grouped_sums(part, lambda: (np.zeros(d), np.zeros((d, d))), len(y), chunk)
    return {"gradient": gradient, "hessian": pack(hessian)}


def gradient_and_mass(x: Any, y: FloatArray, point: FloatArray, radius: float) -> FloatArray:
    """Three sums as one (3, d) block of bound `radius`: the gradient, and the features' first two moments.

    With r = y − p, a record adds w·(r x, s x, s min(x², |x|)), where s = √((1−r²)/2)·4p(1−p). Its residual
    rarely uses all of the bound; the other rows take what is left, √(1−r²), to measure the curvature, at no
    further cost. min(x², |x|) is the square for features in [−1, 1] and never longer than x.
    """
    if sparse.issparse(x):
        weight = _at_most(radius, norms(x))
        p = expit(x @ point)
        residual = y - p
        rest = weight * np.sqrt((1.0 - residual**2) / 2) * 4.0 * p * (1.0 - p)
        square = np.minimum(x.data**2, np.abs(x.data))
        squares = sparse.csr_array((square, x.indices, x.indptr), shape=x.shape)
        return np.stack([x.T @ (weight * residual), x.T @ rest, squares.T @ rest])

    def part(start: int, stop: int) -> FloatArray:
        sums = np.zeros((3, x.shape[1]))
        kernels.add_gradient_and_moments(x[start:stop], y[start:stop], point, radius, sums)
        return sums

    return np.asarray(sum(map_chunks(part, len(y), _ROWS), np.zeros((3, x.shape[1]))))


def clipped_gradient(x: Any, y: FloatArray, point: FloatArray, bound: float) -> FloatArray:
    """Σ of each record's gradient (y − p)x, scaled down to norm `bound` where it is longer (DP-SGD)."""
    residual = y - expit(x @ point)
    return np.asarray(x.T @ (residual * _at_most(bound, np.abs(residual) * norms(x))))


def quadratic_forms(x: Any, matrix: FloatArray) -> FloatArray:
    """Return xᵀAx of every row; dense ones in chunks, so that no second n × d array is made."""
    found = np.empty(x.shape[0])
    if sparse.issparse(x):
        kernels.sparse_quadratic_forms(x.data, x.indices, x.indptr, matrix, found)
    else:
        for start in range(0, len(found), _ROWS):
            rows = x[start : start + _ROWS]
            found[start : start + _ROWS] = np.einsum("ij,ij->i", rows @ matrix, rows)
    return np.maximum(found, 0.0)


def norms(x: Any) -> FloatArray:
    """L2 norm of every row."""
    if sparse.issparse(x):
        squares = sparse.csr_array((x.data**2, x.indices, x.indptr), shape=x.shape)
        return np.sqrt(np.asarray(squares.sum(axis=1), np.float64).ravel())
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


def _at_most(bound: float, norm: FloatArray) -> FloatArray:
    """Factors that scale vectors of these norms down to `bound`, 1 where they are short enough."""
    return np.asarray(bound / np.maximum(norm, bound))


def _gram(rows: Any, coefficient: FloatArray) -> FloatArray:
    """Σ coefficient·xxᵀ; the square root goes into the rows, so that BLAS computes one triangle only."""
    root = np.sqrt(coefficient)
    if sparse.issparse(rows):
        scaled = sparse.csr_array(
            (rows.data * np.repeat(root, np.diff(rows.indptr)), rows.indices, rows.indptr), shape=rows.shape
        )
        return np.asarray((scaled.T @ scaled).toarray())
    scaled = rows * root[:, None]
    return np.asarray(scaled.T @ scaled)


def _total(parts: list[tuple[FloatArray, FloatArray]], d: int) -> tuple[FloatArray, FloatArray]:
    """Sum the chunks in their order into the first; no chunk is an empty batch."""
    vector, matrix = parts[0] if parts else (np.zeros(d), np.zeros((d, d)))
    for part in parts[1:]:
        vector += part[0]
        matrix += part[1]
    return vector, matrix

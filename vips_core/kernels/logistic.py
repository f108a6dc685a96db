"""Logistic regression's passes over dense rows, each reading a row once; w = min(1, radius/‖x‖)."""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.floating]
Indices = npt.NDArray[np.integer]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _norm_and_product(row: Array, point: Array) -> tuple[float, float]:
    square = 0.0
    product = 0.0
    for j in range(row.size):
        square += row[j] * row[j]
        product += row[j] * point[j]
    return math.sqrt(square), product


@njit(nogil=True, cache=True)
def weigh_and_scale(
    x: Array, y: Array, point: Array, radius: float, hessian_bound: float, gradient: Array, scaled: Array
) -> None:
    """Add Σ w(y − p)x to `gradient`; write √(w p(1−p))·x, whose Gram matrix is the Hessian, to `scaled`."""
    for i in range(x.shape[0]):
        row = x[i]
        norm, psi = _norm_and_product(row, point)
        p = 1.0 / (1.0 + math.exp(-psi))
        weight = radius / max(norm, radius)
        curvature = weight * p * (1.0 - p)
        if 0.25 * radius * norm > hessian_bound:
            curvature *= hessian_bound / (0.25 * radius * norm)
        residual = weight * (y[i] - p)
        root = math.sqrt(curvature)
        for j in range(row.size):
            scaled[i, j] = root * row[j]
            gradient[j] += residual * row[j]


@njit(nogil=True, cache=True)
def add_gradient_and_moments(x: Array, y: Array, point: Array, radius: float, out: Array) -> None:
    """Add w·(r x, s x, s min(x², |x|)), r = y − p and s = √((1−r²)/2)·4p(1−p), to the rows of `out`."""
    for i in range(x.shape[0]):
        row = x[i]
        norm, psi = _norm_and_product(row, point)
        p = 1.0 / (1.0 + math.exp(-psi))
        residual = y[i] - p
        weight = radius / max(norm, radius)
        rest = weight * math.sqrt((1.0 - residual * residual) / 2) * 4.0 * p * (1.0 - p)
        residual *= weight
        for j in range(row.size):
            value = row[j]
            out[0, j] += residual * value
            out[1, j] += rest * value
            out[2, j] += rest * min(value * value, abs(value))


@njit(nogil=True, cache=True)
def sparse_quadratic_forms(data: Array, indices: Indices, indptr: Indices, matrix: Array, out: Array) -> None:
    """Write xᵀAx of every row of a CSR matrix to `out`; A is symmetric."""
    for i in range(out.size):
        total = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            column = matrix[indices[a]]
            total += data[a] * data[a] * column[indices[a]]
            for b in range(indptr[i], a):
                total += 2.0 * data[a] * data[b] * column[indices[b]]
        out[i] = total

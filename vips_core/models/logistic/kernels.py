"""Compiled passes over rows.

Sums are multiples of a grid, and therefore exact: each record's cells are cut towards 0. A record's
contribution depends on that record alone.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.special import logistic_tail

Indices = npt.NDArray[np.integer]
LARGEST = 1e300  # limit of |log odds| and squared norm; a row beyond it adds nothing
SQUARES, TOTALS = 0.72, 0.37  # scales of the two curvature measurements in a record's contribution; tuned
SCORE, INFORMATION = (0.6, 0.8), (1.5, 1.5, 2.5)  # scales of a calibration's cells; see `calibration`
CURVATURE_NORM = 0.9  # at least √(SQUARES² + 2·TOTALS²): largest norm of these measurements, over m


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def norm_and_product(row: Array, point: Array) -> tuple[float, float]:
    """Return ‖x‖ and xᵀm."""
    square = 0.0
    product = 0.0
    for j in range(row.size):
        square += row[j] * row[j]
        product += row[j] * point[j]
    return math.sqrt(square), product


@njit(nogil=True, cache=True)
def write_left_factor(x: Array, bits: int, out: Array) -> None:
    """Write each row rounded to whole numbers up to 2^bits times the row's smallest fitting power of two."""
    for i in range(x.shape[0]):
        largest = 0.0
        for j in range(x.shape[1]):
            largest = max(largest, abs(x[i, j]))
        exponent = math.frexp(largest)[1] - bits
        scale, step = math.ldexp(1.0, -exponent), math.ldexp(1.0, exponent)
        for j in range(x.shape[1]):
            out[i, j] = np.rint(x[i, j] * scale) * step


@njit(nogil=True, cache=True)
def fill_missing(x: Array, missing: Indices, centre: Array, out: Array) -> None:
    """Add the centres of columns to `out` where their indicators in `x` are 1."""
    for i in range(x.shape[0]):
        for k in range(missing.shape[0]):
            column, indicator = missing[k]
            out[i, column] += centre[column] * x[i, indicator]


@njit(nogil=True, cache=True)
def write_rows(x: Array, factors: Array, out: Array) -> None:
    """Write each row times its factor, cut to whole numbers."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = np.trunc(factors[i] * x[i, j])


@njit(nogil=True, cache=True)
def add_rows(x: Array, factors: Array, steps: Array) -> None:
    """Add each row times its factor, cut to whole numbers, to `steps`."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            steps[j] += np.trunc(factors[i] * x[i, j])


@njit(nogil=True, cache=True)
def add_clipped_gradients(
    x: Array, y: Array, row_weights: Array, point: Array, bound: float, grid: float, steps: Array
) -> None:
    """Add (y − p)x of each row, scaled down to norm `bound` where it is longer, to `steps`."""
    for i in range(x.shape[0]):
        norm, psi = norm_and_product(x[i], point)
        if not abs(psi) < LARGEST:
            continue
        residual = y[i] - 1.0 / (1.0 + math.exp(-psi))
        factor = row_weights[i] * residual * bound / max(abs(residual) * norm, bound) / grid
        for j in range(x.shape[1]):
            steps[j] += np.trunc(factor * x[i, j])


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def add_squares_and_products(
    x: Array, centre: Array, scale: Array, slopes: Array, square: Array, psi: Array
) -> None:
    """Add ‖z‖² and zᵀslopes of each dense row."""
    for i in range(x.shape[0]):
        row_square = 0.0
        product = 0.0
        for j in range(x.shape[1]):
            z = scale[j] * (x[i, j] - centre[j])
            row_square += z * z
            product += z * slopes[j]
        square[i] += row_square
        psi[i] += product


@njit(nogil=True, cache=True)
def add_cells(x: Array, centre: Array, scale: Array, per_reach: Array, factors: Array, cells: Array) -> None:
    """Add the columns' cells of each dense row's contribution, cut to whole numbers.

    `factors` (2, n) multiply z and |z|·min(1, |z|/reach). A row whose factors are 0 adds 0, even if z is ∞.
    """
    for i in range(x.shape[0]):
        if factors[0, i] == 0 and factors[1, i] == 0:
            continue
        for j in range(x.shape[1]):
            z = scale[j] * (x[i, j] - centre[j])
            cells[0, j] += np.trunc(factors[0, i] * z)
            cells[1, j] += np.trunc(factors[1, i] * abs(z) * min(1.0, abs(z) * per_reach[j]))


@njit(nogil=True, cache=True)
def split_sparse_rows(
    data: Array,
    indices: Indices,
    indptr: Indices,
    place: Indices,
    scale: Array,
    slopes: Array,
    dense: Array,
    square: Array,
    psi: Array,
) -> None:
    """Write columns that have a `place` to `dense`, and add ‖z‖² and zᵀslopes of the others."""
    for i in range(square.size):
        for a in range(indptr[i], indptr[i + 1]):
            j = indices[a]
            if place[j] >= 0:
                dense[i, place[j]] += data[a]
            else:
                z = scale[j] * data[a]
                square[i] += z * z
                psi[i] += z * slopes[j]


@njit(nogil=True, cache=True)
def add_sparse_cells(
    data: Array,
    indices: Indices,
    indptr: Indices,
    place: Indices,
    scale: Array,
    per_reach: Array,
    factors: Array,
    cells: Array,
) -> None:
    """Do the same as `add_cells` for the columns of a CSR matrix without a `place`."""
    for i in range(factors.shape[1]):
        if factors[0, i] == 0 and factors[1, i] == 0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            j = indices[a]
            if place[j] < 0:
                z = scale[j] * data[a]
                cells[0, j] += np.trunc(factors[0, i] * z)
                cells[1, j] += np.trunc(factors[1, i] * abs(z) * min(1.0, abs(z) * per_reach[j]))


@njit(nogil=True, cache=True, error_model="numpy")  # without branches, so that LLVM vectorises it
def row_factors(
    y: Array, row_weights: Array, square: Array, psi: Array, constant: float, bound: float, grid: float
) -> Array:
    """Return (5, n) factors in grid steps; `refined` has the formulas, with v = √(1 − (0.9m)²)/(1 − m).

    They are κ(y − p), vw(y − p), m·(SQUARES·w, TOTALS, TOTALS·w²‖z‖²), with 1 for κ and z.
    """
    factors, longest = np.empty((5, y.size)), bound * math.sqrt(1.0 - constant * constant)
    for i in range(y.size):
        finite = abs(psi[i]) < LARGEST and square[i] < LARGEST
        step = row_weights[i] * bound / grid if finite else 0.0
        norm = math.sqrt(square[i]) if finite else 0.0
        m = logistic_tail(abs(psi[i])) if finite else 0.5
        residual = step * (y[i] - (m if psi[i] < 0.0 else 1.0 - m))
        weight = longest / max(norm, longest)
        factors[0, i] = constant * residual
        factors[1, i] = weight * residual * math.sqrt(1.0 - (CURVATURE_NORM * m) ** 2) / (1.0 - m)
        factors[2, i] = SQUARES * weight * step * m
        factors[3, i] = TOTALS * step * m
        factors[4, i] = TOTALS * step * m * (weight * norm) ** 2
    return factors


@njit(nogil=True, cache=True)
def add_calibration(
    y: Array,
    row_weights: Array,
    t: Array,
    level: float,
    slope: float,
    bound: float,
    grid: float,
    cells: Array,
) -> None:
    """Add each row's score and information, in grid steps; log odds are level + slope·t."""
    for i in range(y.size):
        psi = level + slope * t[i]
        if not abs(psi) < LARGEST:
            continue
        m = logistic_tail(abs(psi))
        step, within = row_weights[i] * bound / grid, min(max(t[i], -1.0), 1.0)
        score, information = step * (y[i] - (m if psi < 0.0 else 1.0 - m)), step * m * (1.0 - m)
        cells[0] += np.trunc(SCORE[0] * score)
        cells[1] += np.trunc(SCORE[1] * score * within)
        cells[2] += np.trunc(INFORMATION[0] * information)
        cells[3] += np.trunc(INFORMATION[1] * information * within)
        cells[4] += np.trunc(INFORMATION[2] * information * within * within)


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


@njit(nogil=True, cache=True)
def norms_and_forms(x: Array, products: Array, mean: Array) -> tuple[Array, Array]:
    """Return ‖x‖ and c² = xᵀ`products` + (xᵀ`mean`)² of each row."""
    norm, form = np.empty(x.shape[0]), np.empty(x.shape[0])
    for i in range(x.shape[0]):
        norm[i], spread = norm_and_product(x[i], products[i])
        psi = norm_and_product(x[i], mean)[1]
        form[i] = spread + psi * psi
    return norm, form


@njit(nogil=True, cache=True)
def weighted_rows(x: Array, centre: Array, scale: Array, constant: float, factors: Array) -> Array:
    """Return (constant, z) of each row times its factor, cut to whole numbers."""
    rows = np.zeros((x.shape[0], 1 + x.shape[1]))
    for i in range(x.shape[0]):
        if factors[i] == 0:
            continue
        rows[i, 0] = np.trunc(factors[i] * constant)
        for j in range(x.shape[1]):
            rows[i, 1 + j] = np.trunc(factors[i] * (scale[j] * (x[i, j] - centre[j])))
    return rows

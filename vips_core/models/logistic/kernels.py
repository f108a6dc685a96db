"""Logistic regression's passes over rows, each reading a row once; w = min(1, bound/‖x‖).

Sums are whole numbers of steps of a grid, and so exact: each record's cells are cut towards 0. What a record
adds depends on that record alone, and one whose log odds are not finite adds nothing.
`row_weights` are one over the number of rows of a row's person.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.special import logistic_tail

Indices = npt.NDArray[np.integer]
LARGEST = 1e300  # of log odds and squared norms
LANES = 32  # rows of a block
SQUARES, TOTALS = 0.72, 0.37  # scales of the curvature in `add_shares`
CURVATURE_NORM = 0.9  # at least √(SQUARES² + 2·TOTALS²): the most that they take of a record's norm, over m


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def norm_and_product(row: Array, point: Array) -> tuple[float, float]:
    """‖x‖ and xᵀm."""
    square = 0.0
    product = 0.0
    for j in range(row.size):
        square += row[j] * row[j]
        product += row[j] * point[j]
    return math.sqrt(square), product


@njit(nogil=True, cache=True)
def write_left_factor(x: Array, bits: int, out: Array) -> None:
    """Write each row as whole numbers of at most 2^bits times a power of two, the smallest that will do."""
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


@njit(nogil=True, cache=True, error_model="numpy")
def add_shares(
    x: Array,
    y: Array,
    row_weights: Array,
    missing: Indices,
    centre: Array,
    scale: Array,
    per_reach: Array,
    constant: float,
    point: Array,
    bound: float,
    grid: float,
    steps: Array,
) -> None:
    """Add to `steps` what each dense row tells at `point`; `descent` has the formula.

    Rows are taken `LANES` at a time and turned, so that every loop is over rows, which LLVM vectorises.
    """
    n, d = x.shape
    z = np.zeros((d, LANES))
    square, psi = np.empty(LANES), np.empty(LANES)
    gradients, curvatures = np.empty(LANES), np.empty(LANES)
    for start in range(0, n, LANES):
        count = min(LANES, n - start)
        _turn(x[start : start + count], centre, scale, z)
        for k in range(missing.shape[0]):
            column, indicator = missing[k]
            _fill(x[start : start + count, indicator], scale[column] * centre[column], z[column])
        square[:] = gradients[:] = curvatures[:] = 0.0
        psi[:] = constant * point[0]
        _add_norms_and_products(z, point[1:], square, psi)
        for i in range(count):
            if not (abs(psi[i]) < LARGEST and square[i] < LARGEST):
                z[:, i] = 0.0
                continue
            step = grid / row_weights[start + i]
            norm = math.sqrt(square[i])
            residual, gradients[i], curvature, weight = _weights(
                y[start + i], psi[i], norm, bound, constant, step
            )
            curvatures[i] = weight * curvature
            _add_rest(residual * constant, curvature, weight * weight * square[i], d, steps)
        for j in range(d):
            gradient, squares = _cell_sums(z[j], gradients, curvatures, per_reach[j])
            steps[1 + j] += gradient
            steps[1 + d + j] += squares


@njit(nogil=True, cache=True)
def _turn(rows: Array, centre: Array, scale: Array, z: Array) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            z[j, i] = scale[j] * (rows[i, j] - centre[j])


@njit(nogil=True, cache=True)
def _fill(indicator: Array, shift: float, z: Array) -> None:
    for i in range(indicator.size):
        z[i] += shift * indicator[i]


@njit(nogil=True, cache=True)
def _add_norms_and_products(z: Array, slopes: Array, square: Array, psi: Array) -> None:
    for j in range(z.shape[0]):
        slope = slopes[j]
        for i in range(LANES):
            square[i] += z[j, i] * z[j, i]
            psi[i] += z[j, i] * slope


@njit(nogil=True, cache=True, fastmath={"reassoc"})  # whole numbers add up to the same in any order
def _cell_sums(z: Array, gradients: Array, curvatures: Array, per_reach: float) -> tuple[float, float]:
    gradient = squares = 0.0
    for i in range(LANES):
        gradient += np.trunc(gradients[i] * z[i])
        squares += _square_cell(z[i], curvatures[i], per_reach)
    return gradient, squares


@njit(nogil=True, cache=True, error_model="numpy")
def add_sparse_shares(
    data: Array,
    indices: Indices,
    indptr: Indices,
    y: Array,
    row_weights: Array,
    common: Indices,
    place: Indices,
    centre: Array,
    scale: Array,
    per_reach: Array,
    constant: float,
    point: Array,
    bound: float,
    grid: float,
    steps: Array,
) -> None:
    """As `add_shares`, of a CSR matrix; only `common` columns are centred, `place` finds them.

    Cells of a column are summed side by side, and those of common columns apart, where LLVM vectorises.
    """
    d, n, level = scale.size, y.size, constant * point[0]
    z, slopes, common_slopes = np.empty(common.size), point[1:], point[1:][common]
    common_centre, common_scale, common_per_reach = centre[common], scale[common], per_reach[common]
    cells, common_cells = np.zeros((d, 2)), np.zeros((2, common.size))
    longest = 0
    for i in range(n):
        longest = max(longest, indptr[i + 1] - indptr[i])
    rare, columns = np.empty(longest), np.empty(longest, np.uint32)  # unsigned: no index counts from the end
    for i in range(n):
        square, psi, count = 0.0, level, 0
        z[:] = -common_centre
        for a in range(indptr[i], indptr[i + 1]):
            j = np.uint32(indices[a])
            if place[j] >= 0:
                z[place[j]] += data[a]
            else:
                value = scale[j] * data[a]
                square += value * value
                psi += value * slopes[j]
                rare[count], columns[count] = value, j
                count += 1
        for k in range(common.size):
            z[k] *= common_scale[k]
            square += z[k] * z[k]
            psi += z[k] * common_slopes[k]
        if not (abs(psi) < LARGEST and square < LARGEST):
            continue
        step = grid / row_weights[i]
        residual, gradient, curvature, weight = _weights(y[i], psi, math.sqrt(square), bound, constant, step)
        for c in range(count):
            j = columns[c]
            cells[j, 0] += np.trunc(gradient * rare[c])
            cells[j, 1] += _square_cell(rare[c], weight * curvature, per_reach[j])
        for k in range(common.size):
            common_cells[0, k] += np.trunc(gradient * z[k])
            common_cells[1, k] += _square_cell(z[k], weight * curvature, common_per_reach[k])
        _add_rest(residual * constant, curvature, weight * weight * square, d, steps)
    for k in range(common.size):
        cells[common[k]] += common_cells[:, k]
    steps[1 : 1 + d] += cells[:, 0]
    steps[1 + d : 1 + 2 * d] += cells[:, 1]


@njit(nogil=True, cache=True, error_model="numpy")
def _weights(
    y: float, psi: float, norm: float, bound: float, constant: float, grid: float
) -> tuple[float, float, float, float]:
    """y − p, vw(y − p) and m = min(p, 1−p) in steps of the grid, and w; v = √(1 − (0.9m)²)/(1 − m)."""
    rarer = logistic_tail(abs(psi))
    p = rarer if psi < 0.0 else 1.0 - rarer
    longest = bound * math.sqrt(1.0 - constant * constant)
    weight = longest / max(norm, longest)
    left = math.sqrt(1.0 - (CURVATURE_NORM * rarer) ** 2)
    residual = bound * (y - p) / grid
    return residual, weight * residual * left / (1.0 - rarer), bound * rarer / grid, weight


@njit(nogil=True, cache=True)
def _square_cell(z: float, curvature: float, per_reach: float) -> float:
    size = abs(z)
    return float(np.trunc(SQUARES * curvature * size * min(1.0, size * per_reach)))


@njit(nogil=True, cache=True)
def _add_rest(level: float, curvature: float, square: float, d: int, steps: Array) -> None:
    steps[0] += np.trunc(level)
    steps[2 * d + 1] += np.trunc(TOTALS * curvature)
    steps[2 * d + 2] += np.trunc(TOTALS * curvature * square)


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

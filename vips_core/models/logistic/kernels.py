"""Compiled passes over rows; w = min(1, bound/‖x‖).

Sums are whole multiples of a grid, and therefore exact: each record's cells are cut towards 0. What a record
adds depends on that record alone. A record whose log odds are not finite adds nothing.
`row_weights` are one over the number of rows of a row's person.

Two passes write weighted rows, which BLAS then multiplies to sums of xxᵀ. They read rows twice: norms and
weights first, then the output in whole steps.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.special import logistic_tail, pg_mean

Indices = npt.NDArray[np.integer]
LARGEST = 1e300  # of log odds and squared norms
LANES = 32  # rows of a block
SQUARES, TOTALS = 0.72, 0.37  # scales of the two curvature measurements in a record's share; tuned
CURVATURE_NORM = 0.9  # at least √(SQUARES² + 2·TOTALS²): the most that they take of a record's norm, over m


class Lens(NamedTuple):
    """How a step looks at rows: their coordinates, the point, and the limits of a share."""

    missing: Indices
    centre: Array
    scale: Array
    per_reach: Array
    constant: float
    point: Array
    bound: float
    grid: float


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
    """Write each row as whole numbers of at most 2^bits times the smallest power of two that fits."""
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
def add_shares(x: Array, y: Array, row_weights: Array, lens: Lens, steps: Array) -> None:
    """Add to `steps` what each dense row contributes at the lens's point; `refined` has the formula.

    Rows are taken `LANES` at a time and turned, so that every loop is over rows, which LLVM vectorises.
    """
    n, d = x.shape
    missing, centre, scale, per_reach, constant, point, bound, grid = lens
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
    lens: Lens,
    steps: Array,
) -> None:
    """As `add_shares`, for a CSR matrix; only `common` columns are centred, `place` finds them.

    Cells of a column are summed side by side, and those of common columns apart, where LLVM vectorises.
    """
    _, centre, scale, per_reach, constant, point, bound, grid = lens
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
    """Return y − p, vw(y − p) and m = min(p, 1−p) in grid steps, and w; v = √(1 − (0.9m)²)/(1 − m)."""
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


@njit(nogil=True, cache=True)
def write_weighted_rows(x: Array, row_weights: Array, lens: Lens, out: Array) -> None:
    """Write 2w√(p(1−p))·(constant, z) of each row in whole steps: their products add up to the curvature."""
    n, slopes, constant, centre, scale = x.shape[0], lens.point[1:], lens.constant, lens.centre, lens.scale
    square, psi, factors = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        square[i], psi[i] = _centred_square_and_product(x[i], centre, scale, slopes)
    _fill_curvature_factors(square, psi, row_weights, lens, factors)
    for i in range(n):
        out[i, 0] = np.trunc(factors[i] * constant)
        _write_centred(x[i], centre, scale, factors[i], out[i, 1:])


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _centred_square_and_product(
    row: Array, centre: Array, scale: Array, slopes: Array
) -> tuple[float, float]:
    square = product = 0.0
    for j in range(row.size):
        z = scale[j] * (row[j] - centre[j])
        square += z * z
        product += z * slopes[j]
    return square, product


@njit(nogil=True, cache=True, error_model="numpy")  # no branches: LLVM vectorises it
def _fill_curvature_factors(
    square: Array, psi: Array, row_weights: Array, lens: Lens, factors: Array
) -> None:
    bound, step = lens.bound, lens.grid
    own_square, own_psi = lens.constant * lens.constant, lens.constant * lens.point[0]
    for i in range(factors.size):
        rarer, length = logistic_tail(abs(psi[i] + own_psi)), max(square[i] + own_square, bound * bound)
        factor = 2.0 * bound / step * math.sqrt(row_weights[i] * rarer * (1.0 - rarer) / length)
        factors[i] = factor if length < LARGEST and abs(psi[i]) < LARGEST else 0.0


@njit(nogil=True, cache=True)
def _write_centred(row: Array, centre: Array, scale: Array, factor: float, out: Array) -> None:
    for j in range(row.size):
        out[j] = np.trunc(factor * (scale[j] * (row[j] - centre[j]))) if factor != 0.0 else 0.0


@njit(nogil=True, cache=True)
def write_polya_gamma_rows(
    x: Array,
    products: Array,
    mean: Array,
    y: Array,
    row_weights: Array,
    bounds: tuple[float, float],
    steps: tuple[float, float],
    linear: Array,
    out: Array,
) -> None:
    """Add (y − ½)x to `linear` and write √⟨ξ⟩·x, both in whole steps; c² = xᵀ`products` + (xᵀ`mean`)².

    `bounds` and `steps` are those of the two shares.
    """
    n = x.shape[0]
    norm, form, factors, roots = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        norm[i], spread = norm_and_product(x[i], products[i])
        psi = norm_and_product(x[i], mean)[1]
        form[i] = spread + psi * psi
    _fill_polya_gamma_factors(norm, form, y, row_weights, bounds, steps, factors, roots)
    for i in range(n):
        _add_and_write(x[i], factors[i], roots[i], linear, out[i])


@njit(nogil=True, cache=True, error_model="numpy")  # no branches
def _fill_polya_gamma_factors(
    norm: Array,
    form: Array,
    y: Array,
    row_weights: Array,
    bounds: tuple[float, float],
    steps: tuple[float, float],
    factors: Array,
    roots: Array,
) -> None:
    for i in range(norm.size):
        factor = row_weights[i] * (y[i] - 0.5) * bounds[0] / max(0.5 * norm[i], bounds[0])
        coefficient = row_weights[i] * pg_mean(math.sqrt(max(form[i], 0.0)))
        root = math.sqrt(coefficient * bounds[1] / max(0.25 * norm[i] * norm[i], bounds[1]))
        finite = norm[i] < LARGEST and form[i] < LARGEST
        factors[i], roots[i] = factor / steps[0] if finite else 0.0, root / steps[1] if finite else 0.0


@njit(nogil=True, cache=True)
def _add_and_write(row: Array, factor: float, root: float, linear: Array, out: Array) -> None:
    for j in range(row.size):
        linear[j] += np.trunc(factor * row[j]) if root != 0.0 else 0.0
        out[j] = np.trunc(root * row[j]) if root != 0.0 else 0.0

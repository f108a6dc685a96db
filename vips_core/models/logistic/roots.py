"""Logistic regression's passes over dense rows for sums of products xxᵀ, which BLAS adds up.

Each pass reads rows twice: how long they are and what they weigh first, then what is written, in whole steps.
A row is treated alike wherever it stands, and one that is not finite has factor 0 and becomes zeros.
"""

import math

import numpy as np
import scipy  # its parts load when they are used
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.special import logistic_tail, pg_mean
from vips_core.models.logistic.kernels import LARGEST, norm_and_product

NARROW = 31  # columns up to which BLAS is faster at two matrices than at one triangle (OpenBLAS, AVX-512)


def add_products(roots: Array, total: Array) -> None:
    """Add rootsᵀ·roots to `total`, which is in Fortran's order; below its diagonal maybe not."""
    blas, columns = scipy.linalg.blas, roots.T
    if len(columns) <= NARROW:
        blas.dgemm(1.0, columns, columns, 1.0, total, trans_b=True, overwrite_c=True)
    else:
        blas.dsyrk(1.0, columns, 1.0, total, overwrite_c=True)


def mirrored(total: Array) -> Array:
    """Return the symmetric matrix that has this upper triangle."""
    return np.asarray(np.triu(total) + np.triu(total, 1).T)


@njit(nogil=True, cache=True)
def write_curvature_roots(
    x: Array,
    row_weights: Array,
    centre: Array,
    scale: Array,
    constant: float,
    point: Array,
    bound: float,
    step: float,
    out: Array,
) -> None:
    """Write 2w√(p(1−p))·(constant, z) of each row in whole steps: their products add up to the curvature."""
    n, slopes = x.shape[0], point[1:]
    square, psi, factors = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        square[i], psi[i] = _centred_square_and_product(x[i], centre, scale, slopes)
    _fill_curvature_factors(
        square, psi, row_weights, constant * constant, constant * point[0], bound, step, factors
    )
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
    square: Array,
    psi: Array,
    row_weights: Array,
    own_square: float,
    own_psi: float,
    bound: float,
    step: float,
    factors: Array,
) -> None:
    for i in range(factors.size):
        rarer, length = logistic_tail(abs(psi[i] + own_psi)), max(square[i] + own_square, bound * bound)
        factor = 2.0 * bound / step * math.sqrt(row_weights[i] * rarer * (1.0 - rarer) / length)
        factors[i] = factor if length < LARGEST and abs(psi[i]) < LARGEST else 0.0


@njit(nogil=True, cache=True)
def _write_centred(row: Array, centre: Array, scale: Array, factor: float, out: Array) -> None:
    for j in range(row.size):
        out[j] = np.trunc(factor * (scale[j] * (row[j] - centre[j]))) if factor != 0.0 else 0.0


@njit(nogil=True, cache=True)
def write_polya_gamma_roots(
    x: Array,
    products: Array,
    mean: Array,
    y: Array,
    row_weights: Array,
    bounds: tuple[float, float],
    grid: float,
    step: float,
    linear: Array,
    out: Array,
) -> None:
    """Add (y − ½)x to `linear` and write √⟨ξ⟩·x, both in whole steps; c² = xᵀ`products` + (xᵀ`mean`)².

    `bounds` are those of the two shares.
    """
    n = x.shape[0]
    norm, form, factors, roots = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        norm[i], spread = norm_and_product(x[i], products[i])
        psi = norm_and_product(x[i], mean)[1]
        form[i] = spread + psi * psi
    _fill_polya_gamma_factors(norm, form, y, row_weights, bounds, grid, step, factors, roots)
    for i in range(n):
        _add_and_write(x[i], factors[i], roots[i], linear, out[i])


@njit(nogil=True, cache=True, error_model="numpy")  # no branches
def _fill_polya_gamma_factors(
    norm: Array,
    form: Array,
    y: Array,
    row_weights: Array,
    bounds: tuple[float, float],
    grid: float,
    step: float,
    factors: Array,
    roots: Array,
) -> None:
    for i in range(norm.size):
        factor = row_weights[i] * (y[i] - 0.5) * bounds[0] / max(0.5 * norm[i], bounds[0])
        coefficient = row_weights[i] * pg_mean(math.sqrt(max(form[i], 0.0)))
        root = math.sqrt(coefficient * bounds[1] / max(0.25 * norm[i] * norm[i], bounds[1]))
        finite = norm[i] < LARGEST and form[i] < LARGEST
        factors[i], roots[i] = factor / grid if finite else 0.0, root / step if finite else 0.0


@njit(nogil=True, cache=True)
def _add_and_write(row: Array, factor: float, root: float, linear: Array, out: Array) -> None:
    for j in range(row.size):
        linear[j] += np.trunc(factor * row[j]) if root != 0.0 else 0.0
        out[j] = np.trunc(root * row[j]) if root != 0.0 else 0.0

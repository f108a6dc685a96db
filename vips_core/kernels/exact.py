"""Exact sums: each record's contribution is cut to multiples of a power of two before it is added.

Double precision adds multiples of a power of two without rounding while a sum stays below 2⁵³ of them,
which the wall's grid ensures. So a sum has the same bits in any order and on any threads, processes and
machines, and a record moves it by exactly its own contribution. Numbers are cut towards 0, so no number and
no norm grows.

Products of two factors have exact sums too, if each factor is cut to its own step and the product of the
steps is the grid. So BLAS may compute these sums in any order and with fused operations.

The products behind a record's own contribution need the same care: BLAS may add the cells of a row in an
order that depends on the row's place, its neighbours and the processor. With `left_factor` and
`right_factor`, all orders give the same bits.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels import Array

_EXACT_BITS = 52  # bits of a sum that is exact in double precision, with one to spare for rounding up
_ROUNDING = 2.0**-53  # largest relative error of one operation in double precision
_OPERATIONS = 64  # most operations between a norm and a cell of a contribution; ours are fewer than 32


def lowered(bound: float, cells: int) -> float:
    """Return a limit for computed norms that keeps the exact norms of contributions within `bound`.

    Let u = 2⁻⁵³ and S be the sum of the squares of m cells. Each square and each addition loses at most a
    factor of 1 − u, and all terms are positive. So in any order, with or without fused operations, the
    computed sum is at least S(1 − u)^m. The root, the quotient that scales a contribution, and its products
    with weights and cells are fewer than 32 operations, each of which adds at most a factor of 1 + u; cutting
    increases nothing. So a contribution scaled to a computed norm L has an exact norm of at most
    L(1 + u)³²(1 − u)⁻ᵐ, also if L limits the square of the computed norm. For m ≤ 2²⁸ that is below
    L(1 + (m + 48)u), and so below `bound` for L = bound·(1 − (m + 64)u).

    Parameters
    ----------
    bound
        Norm that no contribution may exceed.
    cells
        m, the largest number of cells in a norm; 0 if no norm is computed, because a formula bounds
        contributions.

    Returns
    -------
    float
        Slightly less than `bound`.

    Examples
    --------
    >>> 1 - lowered(1.0, cells=960) == 2.0**-43
    True
    """
    return bound * (1 - (cells + _OPERATIONS) * _ROUNDING)


def cut(values: npt.NDArray[np.floating], step: float) -> Array:
    """Return values rounded towards 0 to multiples of `step`; ∞ and NaN become 0.

    Parameters
    ----------
    values
        Any numbers.
    step
        A power of two.

    Returns
    -------
    array
        Multiples of `step`.

    Examples
    --------
    >>> cut(np.array([0.8, -0.8, np.nan]), 0.5)
    array([ 0.5, -0.5,  0. ])
    """
    steps = np.trunc(np.multiply(values, 1 / step))
    if not np.isfinite(steps.sum()):  # a single pass if all are finite
        steps = np.where(np.isfinite(steps), steps, 0.0)
    return np.asarray(steps * step, np.float64)


def row_sums(values: npt.NDArray[np.floating]) -> Array:
    """Return the sum of each row, by the same operations for every row.

    NumPy's order of addition is unspecified: it may depend on a row's place in memory and on other rows.

    Examples
    --------
    >>> row_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    sums = np.empty(len(values))
    _fill_sums(np.ascontiguousarray(values, np.float64), sums)
    return sums


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _fill_sums(values: Array, sums: Array) -> None:
    for i in range(values.shape[0]):
        total = 0.0
        for j in range(values.shape[1]):
            total += values[i, j]
        sums[i] = total


def factor_steps(grid: float, left: float, right: float) -> tuple[float, float]:
    """Return the steps of two factors of given sizes: powers of two whose product is `grid`.

    Parameters
    ----------
    grid
        Step of the sum of products, a power of two.
    left, right
        Largest values of the factors. The larger factor gets the larger step.

    Examples
    --------
    >>> factor_steps(2.0**-30, 1.0, 1.0) == (2.0**-15, 2.0**-15)
    True
    """
    exponent = _exponent(grid)
    first = math.floor((exponent + math.log2(left / right)) / 2)
    return math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)


def square_step(grid: float) -> float:
    """Return the step for products of equal factors: the smallest power of two whose square is on `grid`.

    Examples
    --------
    >>> square_step(2.0**-31) == 2.0**-15
    True
    """
    return math.ldexp(1.0, -(-_exponent(grid) // 2))


def left_bits(terms: int) -> int:
    """Return the bits of the left factor's cells that balance the rounding of both factors.

    Rounding removes 2^−bits of the largest cell from the left factor and 2^(bits − 52) of a column's sum from
    the right factor. A column's sum is about `terms` times its cells, so the right factor gets more bits.

    Examples
    --------
    >>> left_bits(1), left_bits(4096)
    (26, 20)
    """
    return round(_EXACT_BITS / 2 - math.log2(terms) / 2)


def left_factor(values: npt.NDArray[np.floating], largest: float, bits: int) -> Array:
    """Return values of at most `largest`, a power of two, rounded to multiples of largest·2^−bits.

    Examples
    --------
    >>> left_factor(np.array([0.3, 0.2]), 0.5, bits=2)
    array([0.25, 0.25])
    """
    step = math.ldexp(largest, -bits)
    return np.asarray(np.rint(np.multiply(values, 1 / step)) * step, np.float64)


def right_factor(matrix: npt.NDArray[np.floating], bits: int) -> Array:
    """Return a rounded matrix whose products with rows of `bits` bits are exact in any order of terms.

    Each column is rounded to multiples of a power of two. In units of that power, its absolute values sum to
    at most 2^(52 − bits), and to less than 2^(53 − bits) even if each is rounded up. A row of a left factor
    consists of whole numbers up to 2^bits, times a power of two. So every partial sum of a product is a whole
    number of at most 2⁵³ times both powers, which double precision represents.

    Parameters
    ----------
    matrix
        Terms × columns, with at most 2^(53 − bits) terms.
    bits
        Bits of the left factor.

    Examples
    --------
    >>> right_factor(np.array([[1.0], [1 / 3]]), bits=50)
    array([[1. ],
           [0.5]])
    """
    _, above = np.frexp(np.abs(matrix).sum(axis=0))
    exponents = above - (_EXACT_BITS - bits)
    return np.asarray(np.ldexp(np.rint(np.ldexp(matrix, -exponents)), exponents), np.float64)


def _exponent(grid: float) -> int:
    return math.frexp(grid)[1] - 1

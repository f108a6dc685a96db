"""Sums that are exact: every record's share is cut to a multiple of a power of two before it is added.

Double precision adds multiples of a power of two without rounding while a sum stays below 2⁵³ of them, which
the wall's grid sees to. So a sum has the same bits in any order, for any threads, processes and machines, and
one record moves it by its own share and nothing else. Cutting is towards 0: no number grows, and no norm.

A product of two factors is exact in the same way when each factor is cut to its own step and the product of
the steps is the grid. That serves sums which BLAS computes: its order and its fused operations do not matter.
"""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SLACK = 1 - 2.0**-40  # rounding while a norm is computed must not lift a record above its bound


def cut(values: npt.NDArray[np.floating], step: float) -> Array:
    """Return the next multiples of `step` towards 0; what is not finite counts as 0.

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
    if not np.isfinite(steps.sum()):  # one pass where all is well
        steps = np.where(np.isfinite(steps), steps, 0.0)
    return np.asarray(steps * step, np.float64)


def factor_steps(grid: float, left: float, right: float) -> tuple[float, float]:
    """Return two powers of two whose product is `grid`, for factors of about these sizes.

    Parameters
    ----------
    grid
        Step of the products' sum, a power of two.
    left, right
        Largest values of the factors: the larger one gets the larger step.

    Examples
    --------
    >>> factor_steps(2.0**-30, 1.0, 1.0) == (2.0**-15, 2.0**-15)
    True
    """
    exponent = _exponent(grid)
    first = math.floor((exponent + math.log2(left / right)) / 2)
    return math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)


def square_step(grid: float) -> float:
    """Return the smallest power of two whose square is a multiple of `grid`: for products of equal factors.

    Examples
    --------
    >>> square_step(2.0**-31) == 2.0**-15
    True
    """
    return math.ldexp(1.0, -(-_exponent(grid) // 2))


def _exponent(grid: float) -> int:
    return math.frexp(grid)[1] - 1

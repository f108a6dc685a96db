"""Sums over rows of which each depends on that row alone."""

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels import Array


def row_sums(values: npt.NDArray[np.floating]) -> Array:
    """Return the sum of each row, by the same operations for every row.

    NumPy promises no order: its own may depend on where a row stands in memory, and on how many there are.

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

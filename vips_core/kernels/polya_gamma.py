"""Mean of the Pólya–Gamma distribution PG(1, c), E[ξ] = tanh(c/2)/(2c), shared by the models that augment."""

import numpy as np
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.special import logistic_tail

_SERIES_BELOW = 1e-2  # there, the first dropped term of the series is about 2e-16


@njit(nogil=True, cache=True, error_model="numpy")
def pg_mean(c: float) -> float:
    """E[ξ] for ξ ~ PG(1, c), inside a kernel: even in c, at most ¼ (at c = 0), falling to 0 like 1/(2|c|)."""
    size, square = abs(c), c * c
    near = 0.25 - square / 48.0 + square * square / 480.0  # Taylor series of tanh(c/2)/(2c)
    far = (0.5 - logistic_tail(size)) / size  # tanh(c/2) = 1 − 2/(1 + exp c)
    return near if size < _SERIES_BELOW else far


def pg_means(c: Array) -> Array:
    """`pg_mean` of an array; that of a number does not depend on where it stands, unlike NumPy's tanh."""
    means = np.empty(c.shape)
    _fill_means(np.ascontiguousarray(c).reshape(-1), means.reshape(-1))
    return means


@njit(nogil=True, cache=True, error_model="numpy")
def _fill_means(c: Array, means: Array) -> None:
    for i in range(c.size):
        means[i] = pg_mean(c[i])

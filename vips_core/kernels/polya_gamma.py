"""Mean of the Pólya–Gamma distribution PG(1, c), E[ξ] = tanh(c/2)/(2c), shared by the models that augment."""

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels.special import logistic_tail

_SERIES_BELOW = 1e-2  # there, the first dropped term of the series is about 2e-16
_LEAST = 1e-30  # there, tanh(x)/x is 1 in any precision


@njit(nogil=True, cache=True, error_model="numpy")
def pg_mean(c: float) -> float:
    """E[ξ] for ξ ~ PG(1, c), inside a kernel: even in c, at most ¼ (at c = 0), falling to 0 like 1/(2|c|)."""
    size, square = abs(c), c * c
    near = 0.25 - square / 48.0 + square * square / 480.0  # Taylor series of tanh(c/2)/(2c)
    far = (0.5 - logistic_tail(size)) / size  # tanh(c/2) = 1 − 2/(1 + exp c)
    return near if size < _SERIES_BELOW else far


def pg_means(c: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """`pg_mean` of an array, in its own precision."""
    half = np.maximum(0.5 * np.abs(c), _LEAST)
    means: npt.NDArray[np.floating] = 0.25 * (np.tanh(half) / half)
    return means

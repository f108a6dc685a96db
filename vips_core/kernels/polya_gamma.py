"""Mean of the Pólya–Gamma distribution PG(1, c), E[ξ] = tanh(c/2)/(2c), shared by the models that augment."""

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels.special import logistic_tail

_SERIES_BELOW = 1e-2  # there, the first dropped term of the series is about 2e-16


@njit(nogil=True, cache=True, error_model="numpy")
def pg_mean(c: float) -> float:
    """E[ξ] for ξ ~ PG(1, c): even in c, at most ¼ (at c = 0), falling to 0 like 1/(2|c|)."""
    size, square = abs(c), c * c
    near = 0.25 - square / 48.0 + square * square / 480.0  # Taylor series of tanh(c/2)/(2c)
    far = (0.5 - logistic_tail(size)) / size  # tanh(c/2) = 1 − 2/(1 + exp c)
    return near if size < _SERIES_BELOW else far


@njit(nogil=True, cache=True, error_model="numpy")
def _fill_pg_mean(c: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None:
    for i in range(c.size):
        out[i] = pg_mean(c[i])


def pg_means(c: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Array version of `pg_mean`, of any shape."""
    flat = np.ascontiguousarray(c, dtype=np.float64).ravel()
    out = np.empty_like(flat)
    _fill_pg_mean(flat, out)
    return out.reshape(np.shape(c))

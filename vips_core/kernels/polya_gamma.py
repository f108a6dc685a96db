"""Mean of the Pólya–Gamma distribution PG(1, c), E[ξ] = tanh(c/2)/(2c), shared by the models that augment."""

import numpy as np
import numpy.typing as npt

_LEAST = 1e-30  # there, tanh(x)/x is 1 in any precision


def pg_means(c: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """E[ξ] of PG(1, c), in c's precision: even in c, at most ¼ (at c = 0), falling to 0 like 1/(2|c|)."""
    half = np.maximum(0.5 * np.abs(c), _LEAST)
    means: npt.NDArray[np.floating] = 0.25 * (np.tanh(half) / half)
    return means

"""Pure numba kernels: arrays in, arrays out, no randomness, no threads of their own."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

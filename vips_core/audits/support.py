"""The floating-point attack: which numbers can be released at all, with and without a person.

Naive noise, sum + std·z in double precision, betrays the sum by its last bits: where the sum is 0 every
released number is std times a value that NumPy's ziggurat can return, and where it is not, some are not
(Mironov 2012). No likelihood ratio sees that. On a grid every released number is a multiple of one public
step, whatever the sum.
"""

import functools

import numpy as np
import numpy.typing as npt

from vips_core.kernels import Array

_STRIPS = 256
_LOOKS = 8000  # draws that the strips are read off


def possible_without_the_person(released: Array, noise_std: float) -> npt.NDArray[np.bool_]:
    """Return of each cell whether naive noise on a sum of 0 can give it.

    Parameters
    ----------
    released
        Released cells.
    noise_std
        Standard deviation of their noise.

    Examples
    --------
    >>> noise = 3.7 * np.random.default_rng(0).standard_normal(1000)
    >>> bool(possible_without_the_person(noise, 3.7).all())
    True
    >>> bool(possible_without_the_person(0.1 + noise, 3.7).all())
    False
    """
    cells = np.abs(np.asarray(released, np.float64).reshape(-1))
    possible = np.zeros(cells.size, np.bool_)
    for width in _strip_widths():
        # noise_std·(k·width) for a whole k; the two products are rounded as NumPy rounds them.
        near = np.rint(cells / (noise_std * width))
        for whole in (near - 1, near, near + 1):
            possible |= noise_std * (whole * width) == cells
    return possible.reshape(np.shape(released))


def on_the_grid(released: npt.NDArray[np.floating], step: float) -> npt.NDArray[np.bool_]:
    """Return of each cell whether it is a multiple of the public step."""
    scaled = np.asarray(released, np.float64) / step
    return np.asarray(scaled == np.rint(scaled))


@functools.cache
def _strip_widths() -> Array:
    """Widths of the strips of NumPy's ziggurat, read off its own draws.

    A draw is a 52-bit whole number times the width of the strip that its word's lowest byte names, but for
    one in a hundred, which falls at a strip's edge.
    """
    source = np.random.PCG64(0)
    generator = np.random.Generator(source)
    words, draws = np.empty(_LOOKS, np.uint64), np.empty(_LOOKS)
    for look in range(_LOOKS):
        state = source.state
        words[look] = source.random_raw()
        source.state = state
        draws[look] = abs(generator.standard_normal())
    strips, wholes = words & np.uint64(0xFF), ((words >> np.uint64(9)) & np.uint64(2**52 - 1)).astype(float)
    widths = np.empty(_STRIPS)
    for strip in range(_STRIPS):
        whole, draw = wholes[strips == strip], draws[strips == strip]
        near = np.median(draw / whole)
        candidates = near + np.spacing(near) * np.arange(-3, 4)
        widths[strip] = max(candidates, key=lambda width: (whole * width == draw).sum())
    return widths

"""The wall's randomness: coins and Gaussian noise from a keyed cipher, with the noise on a public grid.

Every released number is an integer multiple of a public step g = 2^k, about 2⁻³⁰ of the noise. The sums are
exact multiples of g, so sum + g·round(s·Z/g) = g·round((sum + s·Z)/g). Rounding the noise is therefore the
same as rounding the output of the ideal Gaussian mechanism, which is post-processing, and every accountant
stays valid. The last bits of a release are those of a grid that anyone can compute, so they reveal nothing.

`rounded_gaussian` draws round(s·Z/g) for an ideal Z, not for a floating-point approximation. 64 bits of the
cipher select an interval of Φ(Z). If the whole interval, with a margin for the error of the inverse
distribution function, rounds to the same integer, that integer is the draw. Otherwise (a few draws in a
million) more bits are drawn, and the draw is computed in high precision. `Ledger.epsilon` deducts the
remaining total variation distance, `DISTANCE` per draw, from δ.
"""

import hashlib
import math
import os
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from vips_core import validate
from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks

GRID_BITS = 30  # log₂ of the noise's standard deviation in grid steps: fine enough to cost no accuracy
SUM_BITS = 52  # bits of a sum, which double precision holds exactly with one bit to spare for the noise
# Total variation distance between a draw and an ideal one: with 192 bits of Φ(Z), each point where the
# rounding changes misplaces at most 2⁻¹⁹² of the probability, and there are fewer than 2⁶⁰ such points.
DISTANCE = 2.0**-120
_EXTRA_BITS = 128  # additional bits of Φ(Z) for a doubtful draw, which then has 192
_DIGITS = 60  # decimal digits in the computation of a doubtful draw: 192 bits are 58 digits
_CHUNK = 1 << 15  # draws at a time, so that intermediate arrays stay in the processor's cache
# Largest assumed |ndtri − Φ⁻¹|, over 1 + z/2. It was at most 2.6e-15 in 6,200 comparisons with 50 digits, and
# 7.2e-16 below z = 3 (a test repeats them), so the margin is several times that.
_NDTRI_ERROR = 2.0**-48


def grid_step(noise_std: float, bound: float, records: int) -> float:
    """Return the step of a block's grid: a power of two far below the noise, on which sums are exact.

    Parameters
    ----------
    noise_std
        Standard deviation of the noise on each cell; 0 for a non-private run.
    bound
        L2 norm that one person can add, which also bounds a single cell.
    records
        N, the largest number of records in a sum.

    Returns
    -------
    float
        The larger of noise_std·2⁻³⁰, rounded down to a power of two, and N·bound·2⁻⁵², rounded up to one.

    Examples
    --------
    >>> grid_step(1.0, 0.5, 1000) == 2.0**-30
    True
    """
    exact = math.ceil(math.log2(records * bound)) - SUM_BITS
    if noise_std == 0:
        return math.ldexp(1.0, exact)
    return math.ldexp(1.0, max(exact, math.floor(math.log2(noise_std)) - GRID_BITS))


class Randomness:
    """Random bits from AES-256 in counter mode, with a key from the operating system or from a public seed.

    `derive` makes the keys of streams for different purposes, so a step or shard that is recomputed draws the
    same coins.

    Examples
    --------
    >>> stream = Randomness.of(seed=1).derive("noise", 0)
    >>> bool((stream.rounded_gaussian(4, 2.0**30) == stream.rounded_gaussian(4, 2.0**30)).all())
    True
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, seed: int | None = None) -> Self:
        """Return a stream keyed by the operating system, or by a seed for a demonstration."""
        if seed is None:
            return cls(os.urandom(32))
        return cls(hashlib.sha256(b"vips-seed %d" % validate.whole("seed", seed, low=0)).digest())

    def derive(self, *label: str | int) -> Self:
        """Return the stream with this label; different labels give independent streams."""
        return type(self)(hashlib.blake2b(repr(label).encode(), key=self._key, digest_size=32).digest())

    def bits(self, count: int, start: int = 0) -> npt.NDArray[np.uint64]:
        """Return `count` 64-bit words of the stream, from word `start` on."""
        # Imported here because it is slow to load, and plans and accountants do not need it.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        block, skipped = divmod(start, 2)  # a block of the cipher has two words
        counter = modes.CTR(block.to_bytes(16, "big"))
        stream = Cipher(algorithms.AES(self._key), counter).encryptor()
        return np.frombuffer(stream.update(bytes(8 * (count + skipped))), dtype="<u8")[skipped:]

    def generator(self) -> np.random.Generator:
        """Return a NumPy generator for draws that need no secrecy, such as initial parameters."""
        return np.random.default_rng(int.from_bytes(self._key, "little"))

    def coins(self, records: int, rate: float, start: int = 0) -> npt.NDArray[np.bool_]:
        """Return a coin for each record from `start` on, true with probability `rate`, rounded down to 2⁻⁶⁴.

        A record's coin depends only on its number, so shards draw the same coins as the whole data set.
        """
        if rate >= 1:
            return np.ones(records, np.bool_)
        return self.bits(records, start) < np.uint64(int(math.ldexp(rate, 64)))

    def rounded_gaussian(self, shape: int | tuple[int, ...], std: float) -> Array:
        """Return whole numbers, each round(std·Z) of an independent standard normal Z.

        Parameters
        ----------
        shape
            Shape of the result.
        std
            Standard deviation before rounding, in steps of the grid.
        """
        drawn = np.empty(shape)
        flat = drawn.reshape(-1)

        def draw(start: int, stop: int) -> None:
            words = self.bits(stop - start, start)
            flat[start:stop], doubtful = _round_quickly(words, std)
            for place in np.flatnonzero(doubtful):
                extra = self.derive("extra bits", start + int(place)).bits(_EXTRA_BITS // 64)
                flat[start + place] = _round_exactly(int(words[place]), [int(word) for word in extra], std)

        map_chunks(draw, flat.size, _CHUNK)
        return drawn


def _round_quickly(words: npt.NDArray[np.uint64], std: float) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return round(std·Z) at the middle of each word's interval, and whether the ends may round otherwise.

    The first 63 bits k mean that |Z| = −Φ⁻¹(u) for some u in [k, k + 1]·2⁻⁶⁴; the last bit is the sign. Since
    φ(z) ≥ u·√(2/π), the interval is at most 2⁻⁶⁴·√(π/2)/u wide. The doubt about z is half of that, doubled
    for its convexity, plus the floating-point errors of ndtri and u.
    """
    upper = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64
    magnitude = -ndtri(upper)
    scaled = magnitude * std
    rounded = np.rint(scaled)
    doubt = 2.0**-64 * 1.26 / upper + _NDTRI_ERROR * (1 + magnitude / 2)
    doubtful = 0.5 - np.abs(scaled - rounded) <= std * doubt + scaled * 2.0**-51
    return np.where(words & np.uint64(1), -rounded, rounded), doubtful


def _round_exactly(word: int, extra: list[int], std: float) -> float:
    """Return round(std·Z) from additional bits of Φ(Z), in high precision."""
    place = 0
    for further in extra:
        place = (place << 64) | further
    import mpmath  # imported here because it is slow to load, and few draws need it

    with mpmath.workdps(_DIGITS):
        scale = mpmath.mpf(2) ** -(64 + _EXTRA_BITS)
        u = (mpmath.mpf(((word >> 1) << _EXTRA_BITS) + place) + 0.5) * scale
        z = mpmath.mpf(float(-ndtri(float(u))))
        for _ in range(4):  # Newton's method doubles the number of correct digits, initially 14
            z += (mpmath.ncdf(-z) - u) / mpmath.npdf(z)
        rounded = float(mpmath.nint(z * std))
    return -rounded if word & 1 else rounded

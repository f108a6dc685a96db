"""Special functions of one number for kernels, most without branches, so that LLVM vectorises loops."""

import math

import numba as nb
import numpy as np

from vips_core.kernels import Array

LOG2_E = math.log2(math.e)
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4  # ln 2 in two parts: products of the first with n are exact
PG_SERIES_BELOW = 1e-2  # |c| below which E[ξ] is a series; the first dropped term is about 2e-16
LN2_FIRST, LN2_REST = 0.693145751953125, 1.4286068203094172e-6  # the same for double precision


@nb.njit(inline="always", error_model="numpy")
def exp_negative(x: np.float32) -> np.float32:
    """Return exp(x) for x <= 0 in single precision, to 2e-7 relative; about 1e-38 below x = -87.

    exp(x) = 2^n exp(r) with |r| <= ln(2)/2: a Taylor polynomial for exp(r), the exponent's bits for 2^n.
    """
    x = max(x, np.float32(-87))
    n = np.int32(x * np.float32(LOG2_E) - np.float32(0.5))  # the nearest whole number, since x <= 0
    whole = np.float32(n)
    r = (x - whole * np.float32(LN2_HIGH)) - whole * np.float32(LN2_LOW)
    p = r * np.float32(1 / 720) + np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + np.float32(1 / 2)
    p = p * r + np.float32(1)
    p = p * r + np.float32(1)
    power: np.float32 = np.int32((n + np.int32(127)) << np.int32(23)).view(np.float32)
    return p * power


@nb.njit(inline="always", error_model="numpy")
def exp_digamma(x: np.float32) -> np.float32:
    """Return exp(digamma(x)) for x in (0, 1e9) in single precision, to about 1e-6 relative.

    digamma(x) = digamma(x + 4) - P'(x)/P(x) with P(x) = x(x+1)(x+2)(x+3), and exp(digamma(m + 1/2)) =
    m + 1/(24m) - 37/(5760m^3) + 10313/(2903040m^5) - ..., so neither logarithms nor loops are needed.
    """
    a = x * (x + np.float32(3))  # P = a(a + 2)
    slope = (x + x + np.float32(3)) * (a + a + np.float32(2))
    m = x + np.float32(3.5)
    inverse = np.float32(1) / m
    square = inverse * inverse
    tail = (square * np.float32(10313 / 2903040) + np.float32(-37 / 5760)) * square + np.float32(1 / 24)
    return (tail * inverse + m) * exp_negative(-slope / (a * (a + np.float32(2))))


@nb.njit(inline="always", error_model="numpy")
def logistic_tail(x: float) -> float:
    """Return 1/(1 + exp(x)) for x >= 0, to 4e-16 relative; above x = 700 its value at 700.

    exp(-x) = 2^n (even + odd)/(even - odd) by a rational approximation (Cephes), so one division suffices.
    """
    y = -min(x, 700.0)
    n = np.int32(y * LOG2_E - 0.5)
    r = (y - n * LN2_FIRST) - n * LN2_REST
    square = r * r
    odd = r * ((1.2617719307481059e-4 * square + 3.0299440770744196e-2) * square + 1.0)
    even = (3.0019850513866446e-6 * square + 2.524483403496841e-3) * square + 2.2726554820815503e-1
    even = even * square + 2.0
    power: float = np.int64((np.int64(n) + np.int64(1023)) << np.int64(52)).view(np.float64)
    above = (even + odd) * power
    return above / (above + (even - odd))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def pg_mean(c: float) -> float:
    """Return E[ξ] = tanh(c/2)/(2c) of a Pólya–Gamma ξ ~ PG(1, c): ¼ at c = 0, falling like 1/(2|c|)."""
    size, square = abs(c), c * c
    near = 0.25 - square / 48.0 + square * square / 480.0  # Taylor series of tanh(c/2)/(2c)
    far = (0.5 - logistic_tail(size)) / size  # tanh(c/2) = 1 − 2/(1 + exp c)
    return near if size < PG_SERIES_BELOW else far


def pg_means(c: Array) -> Array:
    """Return `pg_mean` of every cell; unlike NumPy's tanh, its bits do not depend on the cell's place."""
    means = np.empty(c.shape)
    _fill_means(np.ascontiguousarray(c).reshape(-1), means.reshape(-1))
    return means


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _fill_means(c: Array, means: Array) -> None:
    for i in range(c.size):
        means[i] = pg_mean(c[i])

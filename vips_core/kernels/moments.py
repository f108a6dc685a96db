"""Log moments of the subsampled Gaussian mechanism, exact in log space.

With z ~ N(0, σ²), u = q(exp((2z − 1)/(2σ²)) − 1) and E[u] = 0, every moment is
E[(1 + u)^n] = 1 + E[(1 + u)^n − 1 − nu]: a sum of positive terms only, so nothing cancels for small q and
nothing overflows for small σ.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

MAX_LAMBDA = 255
_LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(MAX_LAMBDA + 2)])
_POINTS_PER_STD = 5.0  # trapezoid points per σ: error below 1e-11 down to σ = 0.3


@njit(nogil=True, cache=True)
def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@njit(nogil=True, cache=True)
def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x)) if x > 1 else math.log(math.expm1(x))


@njit(nogil=True, cache=True)
def log_moment(q: float, noise_multiplier: float, lam: int) -> float:
    """α(λ) of the paper, for integer λ: log Σₖ C(λ+1, k)(1−q)^{λ+1−k} q^k exp((k² − k)/(2σ²))."""
    n = lam + 1
    scale = 0.5 / (noise_multiplier * noise_multiplier)
    if q == 1.0:
        return n * (n - 1) * scale
    log_q, log_rest = math.log(q), math.log1p(-q)
    peak, total = -math.inf, 0.0
    for k in range(2, n + 1):
        term = _LOG_FACTORIAL[n] - _LOG_FACTORIAL[k] - _LOG_FACTORIAL[n - k]
        term += k * log_q + (n - k) * log_rest + _log_expm1(k * (k - 1) * scale)
        if term > peak:
            total = total * math.exp(peak - term) + 1.0
            peak = term
        else:
            total += math.exp(term - peak)
    return _softplus(peak + math.log(total))


@njit(nogil=True, cache=True)
def _moments_ratio(q: Array, noise: Array, count: Array, log_inverse_delta: float, lam: int) -> float:
    total = log_inverse_delta
    for i in range(q.size):
        total += count[i] * log_moment(q[i], noise[i], lam)
    return total / lam


@njit(nogil=True, cache=True)
def moments_epsilon(
    q: Array, noise: Array, count: Array, log_inverse_delta: float, max_lambda: int
) -> tuple[float, int]:
    """Smallest (Σ count·α(λ) + ln 1/δ)/λ over integer λ from 1 to `max_lambda`, and that λ.

    α is convex with α(0) = 0, so the ratio falls and then rises in λ: an integer section search finds the
    minimum without visiting every λ.
    """
    low, high = 1, max_lambda
    while high - low > 2:
        left = low + (high - low) // 2
        if _moments_ratio(q, noise, count, log_inverse_delta, left) <= _moments_ratio(
            q, noise, count, log_inverse_delta, left + 1
        ):
            high = left
        else:
            low = left + 1
    best, best_lambda = math.inf, low
    for lam in range(low, high + 1):
        value = _moments_ratio(q, noise, count, log_inverse_delta, lam)
        if value < best:
            best, best_lambda = value, lam
    return best, best_lambda


@njit(nogil=True, cache=True)
def moments_surface(
    q: Array, steps: Array, noise: Array, log_inverse_delta: float, max_lambda: int, out: Array
) -> None:
    """ε for every row (q, steps) and column noise multiplier, into `out`."""
    one_q, one_noise, one_count = np.empty(1), np.empty(1), np.empty(1)
    for i in range(q.size):
        one_q[0], one_count[0] = q[i], steps[i]
        for j in range(noise.size):
            one_noise[0] = noise[j]
            out[i, j] = moments_epsilon(one_q, one_noise, one_count, log_inverse_delta, max_lambda)[0]


@njit(nogil=True, cache=True)
def _log_excess(log_ratio: float, q: float, order: float) -> float:
    """Log of (1 + u)^order − 1 − order·u for u = q(exp(log_ratio) − 1); −inf where it vanishes."""
    if log_ratio > 30.0:  # u is beyond 1e13·q: log(1 + u) from its logarithm
        log_growth = math.log(q) + log_ratio
        log_growth = _softplus(log_growth) if log_growth < 30.0 else log_growth
        return order * log_growth
    u = q * math.expm1(log_ratio)
    if abs(u) * max(order, 2.0) < 1e-3:
        series = 1.0 + (order - 2.0) * u / 3.0 * (1.0 + (order - 3.0) * u / 4.0)
        value = 0.5 * order * (order - 1.0) * u * u * series
        return math.log(value) if value > 0 else -math.inf
    power = order * math.log1p(u)
    if power > 30.0:
        return power + math.log1p(-(1.0 + order * u) * math.exp(-power))
    value = math.expm1(power) - order * u
    return math.log(value) if value > 0 else -math.inf


@njit(nogil=True, cache=True)
def renyi(q: float, noise_multiplier: float, order: float) -> float:
    """Rényi divergence of real `order` > 1 between mixture and noise, by the trapezoid rule.

    Add and remove agree in the worse direction (Mironov, Talwar and Zhang 2019), which is this one.
    """
    if q == 1.0:
        return order / (2.0 * noise_multiplier * noise_multiplier)
    spacing = noise_multiplier / _POINTS_PER_STD
    start = -11.0 * noise_multiplier
    points = int((order + 22.0 * noise_multiplier) / spacing) + 1
    peak, total = -math.inf, 0.0
    for i in range(points):
        z = (start + i * spacing) / noise_multiplier
        log_ratio = z / noise_multiplier - 0.5 / (noise_multiplier * noise_multiplier)
        term = _log_excess(log_ratio, q, order) - 0.5 * z * z
        if term == -math.inf:
            continue
        if term > peak:
            total = total * math.exp(peak - term) + 1.0
            peak = term
        else:
            total += math.exp(term - peak)
    if total == 0.0:
        return 0.0
    log_weight = math.log(spacing / noise_multiplier) - 0.5 * math.log(2.0 * math.pi)
    return _softplus(peak + math.log(total) + log_weight) / (order - 1.0)

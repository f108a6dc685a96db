"""Log moments of the subsampled Gaussian mechanism, in log space and never below the truth.

With z ~ N(0, σ²), u = q(exp((2z − 1)/(2σ²)) − 1) and E[u] = 0, every moment is
E[(1 + u)^n] = 1 + E[(1 + u)^n − 1 − nu]: a sum of positive terms only, so nothing cancels for small q and
nothing overflows for small σ.
"""

import math

import numpy as np
from numba import njit

from vips_core.kernels import Array

MAX_LAMBDA = 255
_LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(MAX_LAMBDA + 2)])
_POINTS_PER_STD = 5.0  # of the trapezoid rule, at least
_MOST_POINTS = 12_000.0  # of the trapezoid rule: about a millisecond
_ROUNDING = 1e-14  # of a sum over some different events
_SLACK = 1e-10  # relative, above the rule's error and what rounding does to exponents of up to 2·10⁴


@njit(nogil=True, cache=True)
def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@njit(nogil=True, cache=True)
def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x)) if x > 1 else math.log(math.expm1(x))


@njit(nogil=True, cache=True)
def log_moment(q: float, noise_multiplier: float, lam: int) -> float:
    """α(λ) of the paper for integer λ, from above: log Σₖ C(λ+1, k)(1−q)^{λ+1−k} q^k exp((k² − k)/(2σ²))."""
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
    return _softplus(peak + math.log(total)) * (1.0 + _SLACK)


@njit(nogil=True, cache=True)
def _moments_ratio(q: Array, noise: Array, count: Array, log_inverse_delta: float, lam: int) -> float:
    total = log_inverse_delta
    for i in range(q.size):
        total += count[i] * log_moment(q[i], noise[i], lam)
    return total / lam * (1.0 + _ROUNDING)


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
def _log_large_excess(log_growth: float, order: float) -> float:
    """The same from g = log(1 + u): (1 + u)^order·(1 − r), r = (1 + λ(1 − e^−g))·e^{−λg}, λ = order − 1."""
    lam = order - 1.0
    log_rest = math.log1p(-lam * math.expm1(-log_growth)) - lam * log_growth
    return order * log_growth + math.log(-math.expm1(log_rest)) if log_rest < 0.0 else -math.inf


@njit(nogil=True, cache=True)
def _log_excess(log_ratio: float, q: float, order: float) -> float:
    """Log of (1 + u)^order − 1 − order·u for u = q(exp(log_ratio) − 1); −inf where it vanishes."""
    if log_ratio > 30.0:  # u is beyond 1e13·q: log(1 + u) from its logarithm
        return _log_large_excess(_softplus(math.log(q) + log_ratio), order)
    u = q * math.expm1(log_ratio)
    if abs(u) * max(order, 2.0) < 1e-4:
        series = 1.0 + (order - 2.0) * u / 3.0 * (1.0 + (order - 3.0) * u / 4.0)
        value = 0.5 * order * (order - 1.0) * u * u * series
        return math.log(value) if value > 0 else -math.inf
    if order * math.log1p(u) > 30.0:
        return _log_large_excess(math.log1p(u), order)
    lam = order - 1.0  # (1 + u)((1 + u)^λ − 1) − λu, which does not cancel as λ → 0
    value = (1.0 + u) * math.expm1(lam * math.log1p(u)) - lam * u
    return math.log(value) if value > 0 else -math.inf


@njit(nogil=True, cache=True)
def renyi(q: float, noise_multiplier: float, order: float) -> float:
    """Rényi divergence of real `order` > 1 between mixture and noise, from above.

    Add and remove agree in the worse direction (Mironov, Talwar and Zhang 2019), which is this one. By the
    trapezoid rule where that is cheap; otherwise by convexity, from integer orders. Never above q = 1, since
    the divergence is quasi-convex in the mixture.
    """
    full = 0.5 * order / (noise_multiplier * noise_multiplier)
    if q == 1.0:
        return full
    # (1 + u)^order has branch points πσ² off the real line: the rule errs by e^{−2π²·σ·points_per_std}.
    points_per_std = max(_POINTS_PER_STD, 1.6 / noise_multiplier)
    points = points_per_std * (order / noise_multiplier + 22.0)
    if points <= _MOST_POINTS:
        log_moment_above = _trapezoid(q, noise_multiplier, order, points_per_std, int(points) + 1)
    elif order < 2.0:
        log_moment_above = _low_moment(q, noise_multiplier, order - 1.0)
    elif order <= MAX_LAMBDA:
        lam = int(order - 1.0)
        part = order - 1.0 - lam
        log_moment_above = (1.0 - part) * log_moment(q, noise_multiplier, lam)
        log_moment_above += part * log_moment(q, noise_multiplier, lam + 1)
    else:
        return full
    divergence = log_moment_above * (1.0 + _SLACK) / (order - 1.0)
    return divergence if divergence < full else full  # full where it is NaN


@njit(nogil=True, cache=True)
def _trapezoid(q: float, noise_multiplier: float, order: float, points_per_std: float, points: int) -> float:
    """Log moment by the trapezoid rule, with z in standard deviations of noise."""
    inverse = 1.0 / noise_multiplier
    peak, total = -math.inf, 0.0
    for i in range(points):
        z = -11.0 + i / points_per_std
        term = _log_excess((z - 0.5 * inverse) * inverse, q, order) - 0.5 * z * z
        if term == -math.inf:
            continue
        if term > peak:
            total = total * math.exp(peak - term) + 1.0
            peak = term
        else:
            total += math.exp(term - peak)
    if total == 0.0:
        return math.inf  # nothing was resolved
    return _softplus(peak + math.log(total) - math.log(points_per_std) - 0.5 * math.log(2.0 * math.pi))


@njit(nogil=True, cache=True)
def _low_moment(q: float, noise_multiplier: float, lam: float) -> float:
    """Log of E[(a + b)^{1+λ}] ≤ E[(a + b)(a^λ + b^λ)] for λ ≤ 1, with a = 1 − q and b = q·e^w."""
    scale = 0.5 / (noise_multiplier * noise_multiplier)
    log_q, log_rest = math.log(q), math.log1p(-q)
    first = lam * log_rest
    second = log_rest + lam * log_q - lam * (1.0 - lam) * scale
    third = (1.0 + lam) * log_q + lam * (1.0 + lam) * scale
    peak = max(first, second, third)
    return peak + math.log(math.exp(first - peak) + math.exp(second - peak) + math.exp(third - peak))

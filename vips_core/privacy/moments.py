"""The moments accountant (paper §3.2; Abadi et al. 2016) and its extension to real orders, RDP.

Log moments of the subsampled Gaussian mechanism are computed in log space and from above. With z ~ N(0, σ²),
u = q(exp((2z − 1)/(2σ²)) − 1) and E[u] = 0, every moment is E[(1 + u)^n] = 1 + E[(1 + u)^n − 1 − nu]. All
terms are positive, so nothing cancels for small q, and nothing overflows for small σ.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load when they are used
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks
from vips_core.privacy.events import LEAST_NOISE, SampledGaussian

# Largest integer moment tried, which bounds the time of one ε (0.2 ms if all are visited). If a larger one
# would help, ε is looser, never unsound, and the account notes it.
MAX_LAMBDA = 255
# Range of α − 1 in the search for the best real order α; orders beyond it would be valid too.
_LEAST_EXCESS_ORDER, _MOST_EXCESS_ORDER = 1e-7, 1e7
_ORDERS_PER_STD = 2000.0  # largest α tried over the least σ: the time of one divergence grows with α/σ
_ORDERS_TRIED = 30  # orders on the grid that brackets the best one before it is refined
_LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(MAX_LAMBDA + 2)])
_POINTS_PER_STD = 5.0  # least trapezoid points per standard deviation: the rule's error is then e^{−98σ}
_MOST_POINTS = 12_000.0  # trapezoid points of one moment at most, about a millisecond
_SUM_ROUNDING = 1e-14  # relative rounding of a sum over at most 32 different events, rounded up
# Relative slack added to each moment: exceeds the rule's error and the rounding of exponents of up to 2·10⁴.
_SLACK = 1e-10


@njit(nogil=True, cache=True)
def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@njit(nogil=True, cache=True)
def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x)) if x > 1 else math.log(math.expm1(x))


@njit(nogil=True, cache=True)
def _with_term(peak: float, total: float, term: float) -> tuple[float, float]:
    """Add e^term to the sum total·e^peak, and return the new peak, the largest exponent so far, and total."""
    if term > peak:
        return term, total * math.exp(peak - term) + 1.0
    return peak, total + math.exp(term - peak)


@njit(nogil=True, cache=True)
def log_moment(q: float, noise_multiplier: float, lam: int) -> float:
    """Return the paper's α(λ) from above: log Σₖ C(λ+1, k)(1−q)^{λ+1−k} q^k exp((k² − k)/(2σ²))."""
    n = lam + 1
    scale = 0.5 / (noise_multiplier * noise_multiplier)
    if q == 1.0:
        return n * (n - 1) * scale
    log_q, log_rest = math.log(q), math.log1p(-q)
    peak, total = -math.inf, 0.0
    for k in range(2, n + 1):
        term = _LOG_FACTORIAL[n] - _LOG_FACTORIAL[k] - _LOG_FACTORIAL[n - k]
        term += k * log_q + (n - k) * log_rest + _log_expm1(k * (k - 1) * scale)
        peak, total = _with_term(peak, total, term)
    return _softplus(peak + math.log(total)) * (1.0 + _SLACK)


@njit(nogil=True, cache=True)
def _log_large_excess(log_growth: float, order: float) -> float:
    """Return `_log_excess` of a large u from g = log(1 + u).

    This is the log of (1 + u)^order·(1 − r) with r = (1 + λ(1 − e^−g))·e^{−λg} and λ = order − 1.
    """
    lam = order - 1.0
    log_rest = math.log1p(-lam * math.expm1(-log_growth)) - lam * log_growth
    return order * log_growth + math.log(-math.expm1(log_rest)) if log_rest < 0.0 else -math.inf


@njit(nogil=True, cache=True)
def _log_excess(log_ratio: float, q: float, order: float) -> float:
    """Return the log of (1 + u)^order − 1 − order·u for u = q(exp(log_ratio) − 1); −inf where it vanishes."""
    if log_ratio > 30.0:  # u is above 1e13·q, so log(1 + u) is computed from the logarithm of u
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
    """Return the Rényi divergence of real `order` > 1 between mixture and noise, from above.

    This is the worse of the two directions (Mironov, Talwar and Zhang 2019). It is computed by the trapezoid
    rule if that is cheap, otherwise from integer orders by convexity. It never exceeds the divergence at
    q = 1, because the divergence is quasi-convex in the mixture.
    """
    full = 0.5 * order / (noise_multiplier * noise_multiplier)
    if q == 1.0:
        return full
    # (1 + u)^order has branch points πσ² off the real line: the rule's error is e^{−2π²·σ·points_per_std}.
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
    return divergence if divergence < full else full  # also if it is NaN


@njit(nogil=True, cache=True)
def _trapezoid(q: float, noise_multiplier: float, order: float, points_per_std: float, points: int) -> float:
    """Return the log moment by the trapezoid rule, with z in standard deviations of the noise."""
    inverse = 1.0 / noise_multiplier
    peak, total = -math.inf, 0.0
    for i in range(points):
        z = -11.0 + i / points_per_std
        term = _log_excess((z - 0.5 * inverse) * inverse, q, order) - 0.5 * z * z
        if term == -math.inf:
            continue
        peak, total = _with_term(peak, total, term)
    if total == 0.0:
        return math.inf  # nothing was resolved
    return _softplus(peak + math.log(total) - math.log(points_per_std) - 0.5 * math.log(2.0 * math.pi))


@njit(nogil=True, cache=True)
def _low_moment(q: float, noise_multiplier: float, lam: float) -> float:
    """Bound log E[(a + b)^{1+λ}] by log E[(a + b)(a^λ + b^λ)] for λ ≤ 1, with a = 1 − q and b = q·e^w."""
    scale = 0.5 / (noise_multiplier * noise_multiplier)
    log_q, log_rest = math.log(q), math.log1p(-q)
    first = lam * log_rest
    second = log_rest + lam * log_q - lam * (1.0 - lam) * scale
    third = (1.0 + lam) * log_q + lam * (1.0 + lam) * scale
    peak = max(first, second, third)
    return peak + math.log(math.exp(first - peak) + math.exp(second - peak) + math.exp(third - peak))


_ROUNDING = 8 * 2.0**-53  # relative rounding of a conversion's few operations, rounded up


def epsilon(
    events: Sequence[SampledGaussian], delta: float, max_lambda: int = MAX_LAMBDA
) -> tuple[float, int]:
    """Return ε by the best integer moment λ up to `max_lambda`, and that λ (equation 4 of the paper).

    ε is the least (Σ count·α(λ) + ln 1/δ)/λ. Since α is convex with α(0) = 0, this ratio falls and then rises
    in λ, so a section search finds the minimum without visiting every λ.
    """

    @functools.cache
    def ratio(lam: int) -> float:
        total = -math.log(delta)
        for event in events:
            total += event.count * log_moment(event.sampling_rate, event.noise_multiplier, lam)
        return total / lam * (1 + _SUM_ROUNDING)

    low, high = 1, max_lambda
    while high - low > 2:
        left = low + (high - low) // 2
        if ratio(left) <= ratio(left + 1):
            high = left
        else:
            low = left + 1
    best = min(range(low, high + 1), key=ratio)
    return ratio(best), best


def paper_max_lambda(sampling_rate: float, noise_multiplier: float) -> int:
    """Return ⌊σ² ln(1/(qσ))⌋, the largest λ of the paper's experiments, from an asymptotic lemma."""
    return math.floor(noise_multiplier**2 * -math.log(sampling_rate * noise_multiplier))


def surface(sampling_rates: Array, steps: Array, noise_multipliers: Array, delta: float) -> Array:
    """Return ε by moments for every row (sampling rate, steps) and noise multiplier, in threads."""

    def row(start: int, _: int) -> list[float]:
        rate, count = sampling_rates[start], steps[start]
        return [epsilon([SampledGaussian(rate, noise, count)], delta)[0] for noise in noise_multipliers]

    return np.array(map_chunks(row, len(sampling_rates), 1))


def renyi_divergence(events: Sequence[SampledGaussian], order: float) -> float:
    """Return the Rényi divergence of the whole composition at one real order; ∞ with too little noise."""
    if any(e.noise_multiplier < LEAST_NOISE for e in events):
        return math.inf
    return float(sum(e.count * renyi(e.sampling_rate, e.noise_multiplier, order) for e in events))


def conversion(order: float, delta: float) -> float:
    """Return ε − ρ(α) of the conversion of Canonne, Kamath and Steinke (2020, Proposition 12), from above.

    It is below 0 for a large δ. If ε is small, its terms nearly cancel, so the largest rounding error of each
    term is added.
    """
    first, second = math.log1p(-1 / order), -math.log(delta * order) / (order - 1)
    return first + second + _ROUNDING * (abs(first) + abs(second) + 1 / (order - 1))


def rdp_to_epsilon(order: float, divergence: float, delta: float) -> float:
    """Return ε of a Rényi divergence, from above."""
    value = divergence * (1 + _ROUNDING) + conversion(order, delta)
    return math.inf if math.isnan(value) else max(0.0, value)


def rdp_epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """Return ε by the best real order found; every order is valid, so an imperfect search is only looser."""
    narrowest = min((e.noise_multiplier for e in events if e.sampling_rate < 1), default=math.inf)
    top = math.log(min(_MOST_EXCESS_ORDER, max(MAX_LAMBDA - 1.0, _ORDERS_PER_STD * narrowest)))

    def loss(log_excess_order: float) -> float:
        order = 1 + math.exp(log_excess_order)
        return rdp_to_epsilon(order, renyi_divergence(events, order), delta)

    grid = np.linspace(math.log(_LEAST_EXCESS_ORDER), top, _ORDERS_TRIED)
    losses = [loss(x) for x in grid]
    best = int(np.argmin(losses))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    minimum = scipy.optimize.minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-4})
    return min(float(minimum.fun), losses[best])

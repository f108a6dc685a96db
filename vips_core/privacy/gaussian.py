"""Exact δ(ε), ε(δ) and μ(ε, δ) of the Gaussian mechanism (Balle and Wang 2018), and ε of zCDP.

Also the Gaussian mechanism that bounds another mechanism, and the regret of that bound (Gomez et al. 2025).
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr, ndtri

from vips_core.kernels import Array

_ROUNDING = 16 * 2.0**-53  # relative rounding of a few operations, rounded up
_DOUBT = 1e-12  # absolute error of a difference of two normal quantiles of size up to 40, rounded up


def delta(epsilon: npt.ArrayLike, mu: npt.ArrayLike) -> Array:
    """Return δ of a Gaussian mechanism with sensitivity over noise `mu` (Balle and Wang 2018, Theorem 8)."""
    epsilon, mu = np.asarray(epsilon, float), np.asarray(mu, float)
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    # δ = Φ(−x) − e^ε·Φ(−y). Since e^ε·φ(y) = φ(x), e^ε is never computed, which could overflow.
    tail, second = np.exp(-(x**2) / 2) / 2, erfcx(y / math.sqrt(2))
    first = erfcx(np.maximum(x, 0) / math.sqrt(2))
    difference = np.where(x > 0, tail * (first - second), ndtr(-x) - tail * second)
    return np.asarray(np.maximum(difference, 0.0))


def epsilon(mu: npt.ArrayLike, target_delta: npt.ArrayLike) -> Array:
    """Return the smallest ε ≥ 0 with δ(ε) ≤ `target_delta`, from above, by bisection."""
    mu, target = np.broadcast_arrays(np.asarray(mu, float), np.asarray(target_delta, float))
    reachable = np.minimum(target, 1.0)  # a δ of 1 or more promises nothing: ε = 0
    upper = zcdp_epsilon(mu**2 / 2, reachable)
    smallest = _bisect(lambda value: delta(value, mu) <= reachable, np.zeros_like(upper), upper)
    return np.where(delta(0.0, mu) <= reachable, 0.0, smallest)


@functools.lru_cache(maxsize=256)  # the same cap is converted repeatedly
def mu(epsilon: float, target_delta: float) -> float:
    """Return the largest μ whose Gaussian mechanism is (ε, δ)-DP: the budget as signal over noise."""
    if epsilon == math.inf:
        return math.inf
    upper = 1.0
    while delta(epsilon, upper) <= target_delta:
        upper *= 2
    largest = _bisect(lambda value: delta(epsilon, value) > target_delta, np.array(0.0), np.array(upper))
    return float(largest) * (1 - 1e-12)  # rounded to the private side


def dominating_mu(epsilons: Array, deltas: Array) -> float:
    """Return the least μ whose mechanism is no more private than one with these upper bounds on δ(ε).

    Parameters
    ----------
    epsilons, deltas
        ε rising from 0, and upper bounds on δ there for both directions.

    Returns
    -------
    float
        With δ₀ the last of `deltas`: for every δ ≥ δ₀, ε(δ) is at most that of the Gaussian mechanism; and
        f(α) ≥ G(α + δ₀) − δ₀ for all α, f and G being the least FNR of a test with FPR α against the two.

    Notes
    -----
    Each pair bounds any test of the other mechanism by TPR ≤ δ + e^ε·FPR, a line that is the lowest between
    its crossings with its neighbours. The Gaussian's TPR, Φ(Φ⁻¹(FPR) + μ), is concave, so it is above a line
    between two points if it is above it at both points: only the crossings need to be checked. By symmetry,
    those with ε ≥ 0 suffice, up to the diagonal TPR = 1 − FPR. Of these, crossings to the left of the point
    where the Gaussian's tangent has the last slope do not matter for ε up to the last, provided that this
    tangent is above the last line.
    """
    steeper, last = np.expm1(epsilons), float(epsilons[-1])
    at_last = mu(last, float(deltas[-1])) * (1 + 1e-11) + _DOUBT  # above the true μ, unlike `mu` itself
    # Any falling points may replace the crossings: rounding can make the result looser, never wrong.
    crossing = np.maximum.accumulate((np.diff(deltas) / -np.diff(steeper))[::-1])[::-1]
    crossing = np.clip(crossing, 0.0, (1 - deltas[0]) / 2)
    lines = deltas[:-1] + steeper[:-1] * crossing, deltas[1:] + steeper[1:] * crossing
    highest = np.minimum((crossing + np.maximum(*lines)) * (1 + _ROUNDING), 1.0)
    at_crossing = np.nan_to_num(ndtri(highest) - ndtri(crossing) + _DOUBT, nan=math.inf)

    def reach(mu: float) -> float:
        """Return −Φ⁻¹(FPR) at the point where the Gaussian's tangent has the last slope."""
        return last / mu + mu / 2

    deciding = np.count_nonzero(crossing >= ndtr(-reach(at_last))) + 1
    least = max(at_last, float(at_crossing[:deciding].max()))
    return least if reach(least) <= reach(at_last) else max(at_last, float(at_crossing.max()))


def regret(epsilons: Array, deltas: Array, mu: float) -> float:
    """Return the regret of a Gaussian's trade-off curve G below the curve f of a mechanism with these δ(ε).

    The regret is the least κ with f(α + κ) − κ ≤ G(α) for every α (Kaissis, Kolek, Balle, Hayes and Rueckert
    2024). Both curves are convex, so it is the largest (δ_G(ε) − δ(ε))/(1 + e^ε) over ε ≥ 0, by Toland's
    duality along the diagonal. Between two of `epsilons`, f's δ is linear in e^ε and δ_G is convex, so the
    largest value is at one of them, or beyond the last, where δ is at least 0.
    """
    gaps = delta(epsilons, mu) - np.append(deltas[:-1], 0.0)
    return float(np.maximum(gaps / (1 + np.exp(epsilons)), 0.0).max())


def zcdp_epsilon(rho: npt.ArrayLike, target_delta: npt.ArrayLike) -> Array:
    """Return ε of ρ-zCDP (Bun and Steinke 2016, Proposition 1.3)."""
    rho = np.asarray(rho, float)
    return np.asarray(rho + 2 * np.sqrt(rho * -np.log(target_delta)))


def _bisect(holds: Callable[[Array], Any], lower: Array, upper: Array) -> Array:
    """Return, from above, the least value at which `holds` is true; it is false below and true above."""
    for _ in range(70):
        middle = (lower + upper) / 2
        true = holds(middle)
        lower, upper = np.where(true, lower, middle), np.where(true, middle, upper)
    return upper

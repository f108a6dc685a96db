"""The Gaussian mechanism, exactly: δ(ε), ε(δ) and μ(ε, δ) of Balle and Wang (2018), and zCDP."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr

Array = npt.NDArray[np.float64]


def delta(epsilon: npt.ArrayLike, mu: npt.ArrayLike) -> Array:
    """δ of a Gaussian mechanism with sensitivity over noise `mu` (Balle and Wang 2018, Theorem 8)."""
    epsilon, mu = np.asarray(epsilon, float), np.asarray(mu, float)
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    # Φ(−x) − e^ε·Φ(−y), where e^ε·φ(y) = φ(x): so e^ε, which may overflow, is never computed.
    tail, second = np.exp(-(x**2) / 2) / 2, erfcx(y / math.sqrt(2))
    first = erfcx(np.maximum(x, 0) / math.sqrt(2))
    difference = np.where(x > 0, tail * (first - second), ndtr(-x) - tail * second)
    return np.asarray(np.maximum(difference, 0.0))


def epsilon(mu: npt.ArrayLike, target_delta: npt.ArrayLike) -> Array:
    """Smallest ε ≥ 0 with δ(ε) ≤ `target_delta`, rounded up by bisection."""
    mu, target = np.broadcast_arrays(np.asarray(mu, float), np.asarray(target_delta, float))
    reachable = np.minimum(target, 1.0)  # a δ of 1 or more promises nothing: ε = 0
    upper = zcdp_epsilon(mu**2 / 2, reachable)
    smallest = _bisect(lambda value: delta(value, mu) <= reachable, np.zeros_like(upper), upper)
    return np.where(delta(0.0, mu) <= reachable, 0.0, smallest)


@functools.lru_cache(maxsize=256)  # a budget asks for the same cap again and again
def mu(epsilon: float, target_delta: float) -> float:
    """Largest μ whose Gaussian mechanism is (ε, δ)-private: the budget in units of signal over noise."""
    if epsilon == math.inf:
        return math.inf
    upper = 1.0
    while delta(epsilon, upper) <= target_delta:
        upper *= 2
    largest = _bisect(lambda value: delta(epsilon, value) > target_delta, np.array(0.0), np.array(upper))
    return float(largest) * (1 - 1e-12)  # on the private side of the rounding


def zcdp_epsilon(rho: npt.ArrayLike, target_delta: npt.ArrayLike) -> Array:
    """ε of ρ-zCDP (Bun and Steinke 2016, Proposition 1.3)."""
    rho = np.asarray(rho, float)
    return np.asarray(rho + 2 * np.sqrt(rho * -np.log(target_delta)))


def _bisect(holds: Callable[[Array], Any], lower: Array, upper: Array) -> Array:
    """Smallest value for which `holds`, a rising predicate that is true at `upper`; always the true side."""
    for _ in range(70):
        middle = (lower + upper) / 2
        true = holds(middle)
        lower, upper = np.where(true, lower, middle), np.where(true, middle, upper)
    return upper

"""The moments accountant (paper §3.2; Abadi et al. 2016) and its continuation to real orders, RDP."""

import math
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load when they are used

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks
from vips_core.privacy.events import LEAST_NOISE, SampledGaussian
from vips_core.privacy.moment_kernels import MAX_LAMBDA, moments_epsilon, moments_surface, renyi

_ROUNDING = 8 * 2.0**-53  # of a few operations, generously


def epsilon(
    events: Sequence[SampledGaussian], delta: float, max_lambda: int = MAX_LAMBDA
) -> tuple[float, int]:
    """ε by the best integer moment λ up to `max_lambda`, and that λ (equation 4 of the paper)."""
    value, best = moments_epsilon(*_columns(events), -math.log(delta), max_lambda)
    return float(value), int(best)


def paper_max_lambda(sampling_rate: float, noise_multiplier: float) -> int:
    """⌊σ² ln(1/(qσ))⌋: the range of an asymptotic lemma that the paper's experiments kept to."""
    return math.floor(noise_multiplier**2 * -math.log(sampling_rate * noise_multiplier))


def surface(sampling_rates: Array, steps: Array, noise_multipliers: Array, delta: float) -> Array:
    """ε for every pair of a row (sampling rate, steps) and a noise multiplier, in threads."""
    out = np.empty((sampling_rates.size, noise_multipliers.size))
    rates, counts, noise = (
        np.ascontiguousarray(a, float) for a in (sampling_rates, steps, noise_multipliers)
    )

    def rows(start: int, stop: int) -> None:
        part = slice(start, stop)
        moments_surface(rates[part], counts[part], noise, -math.log(delta), MAX_LAMBDA, out[part])

    map_chunks(rows, rates.size, 8)
    return out


def renyi_divergence(events: Sequence[SampledGaussian], order: float) -> float:
    """Rényi divergence of the whole composition at one real order, ∞ with too little noise."""
    if any(e.noise_multiplier < LEAST_NOISE for e in events):
        return math.inf
    return float(sum(e.count * renyi(e.sampling_rate, e.noise_multiplier, order) for e in events))


def conversion(order: float, delta: float) -> float:
    """ε − ρ(α) of the improved conversion (Canonne, Kamath and Steinke 2020, Proposition 12), from above.

    It is below 0 for a large δ. Its terms nearly cancel where ε is small, as it is with a small sampling
    rate: what rounding may take from each of them is added.
    """
    first, second = math.log1p(-1 / order), -math.log(delta * order) / (order - 1)
    return first + second + _ROUNDING * (abs(first) + abs(second) + 1 / (order - 1))


def rdp_to_epsilon(order: float, divergence: float, delta: float) -> float:
    """ε of a Rényi divergence, from above."""
    value = divergence * (1 + _ROUNDING) + conversion(order, delta)
    return math.inf if math.isnan(value) else max(0.0, value)


def rdp_epsilon(events: Sequence[SampledGaussian], delta: float) -> tuple[float, float]:
    """ε by the best real order, and that order; every order is valid, so a search can only be loose."""
    narrowest = min((e.noise_multiplier for e in events if e.sampling_rate < 1), default=math.inf)
    top = math.log(min(1e7, max(MAX_LAMBDA - 1.0, 2000 * narrowest)))  # the cost grows with order/σ

    def loss(log_excess_order: float) -> float:
        order = 1 + math.exp(log_excess_order)
        return rdp_to_epsilon(order, renyi_divergence(events, order), delta)

    grid = np.linspace(math.log(1e-7), top, 30)
    losses = [loss(x) for x in grid]
    best = int(np.argmin(losses))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    minimum = scipy.optimize.minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-4})
    value, at = min((float(minimum.fun), float(minimum.x)), (losses[best], grid[best]))
    return value, 1 + math.exp(at)


def _columns(events: Sequence[SampledGaussian]) -> tuple[Array, Array, Array]:
    rates = np.array([e.sampling_rate for e in events], float)
    noise = np.array([e.noise_multiplier for e in events], float)
    return rates, noise, np.array([e.count for e in events], float)

"""Inverting the accountants: the noise, steps or batch that spend a given ε."""

import math
from collections.abc import Callable

from vips_core.privacy import accountants, gaussian
from vips_core.privacy.events import SampledGaussian

_LEAST, _MOST = 1e-2, 1e7  # noise multipliers worth looking at
_TOLERANCE = 1e-5  # relative, on the noise multiplier


def noise_multiplier(
    sampling_rate: float, steps: int, epsilon: float, delta: float, accountant: str
) -> float:
    """Smallest noise multiplier whose ε is at most `epsilon`, to a relative 1e-5."""
    if sampling_rate == 1 and accountant in ("pld", "gaussian"):
        return math.sqrt(steps) / gaussian.mu(epsilon, delta)

    def excess(log_noise: float) -> float:
        events = [SampledGaussian(sampling_rate, math.exp(log_noise), steps)]
        value = accountants.epsilon(events, delta, accountant)
        return math.log(max(value, 1e-300) / epsilon)

    start = math.log(_start(sampling_rate, steps, epsilon, delta, accountant))
    low, high = _bracket(excess, start, epsilon)
    if low == high:
        return math.exp(low)
    return math.exp(_root(excess, low, high))


def largest(fits: Callable[[int], bool], most: int) -> int:
    """Largest whole number up to `most` that fits, 0 for none; a predicate true up to somewhere."""
    good, bad = 0, 1
    while bad <= most and fits(bad):
        good, bad = bad, bad * 2
    bad = min(bad, most + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Root of a falling function between `low` and `high`, by the Illinois method, on its negative side."""
    at_low, at_high = excess(low), excess(high)
    side = 0
    while high - low > _TOLERANCE:
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = min(max(middle, low + _TOLERANCE / 2), high - _TOLERANCE / 2)
        value = excess(middle)
        if value > 0:
            low, at_low = middle, value
            at_high, side = (at_high / 2, 1) if side == 1 else (at_high, 1)
        else:
            high, at_high = middle, value
            at_low, side = (at_low / 2, -1) if side == -1 else (at_low, -1)
        if at_high == 0:
            break
    return high


def _start(rate: float, steps: int, epsilon: float, delta: float, accountant: str) -> float:
    """Where to start looking: PLD's answer lies just below RDP's, which costs little."""
    if accountant != "pld":
        return 1.0
    return noise_multiplier(rate, steps, epsilon, delta, "rdp")


def _bracket(excess: Callable[[float], float], start: float, epsilon: float) -> tuple[float, float]:
    """Two log noise multipliers with the answer between them."""
    factor = 0.25
    if excess(start) > 0:
        low = high = start
        while excess(high) > 0:
            low, high, factor = high, high + factor, factor * 2
            if high > math.log(_MOST):
                raise ValueError(f"no noise_multiplier up to {_MOST:g} reaches epsilon = {epsilon:g}")
        return low, high
    high = low = start
    while excess(low) <= 0:
        if low == math.log(_LEAST):  # even this little noise costs less: use it
            return low, low
        high, low, factor = low, max(low - factor, math.log(_LEAST)), factor * 2
    return low, high

"""Calibration, the inverse of accounting: noise, steps or batch for an ε, and noise for an attack risk."""

import functools
import math
from collections.abc import Callable

import scipy  # its parts load when they are used

from vips_core.privacy import accountants, gaussian
from vips_core.privacy.events import LEAST_NOISE, MOST_NOISE, SampledGaussian
from vips_core.privacy.tradeoff import AttackRisk, RiskLimit

# Largest relative excess of the noise multiplier over the least one: at most 1 in its fifth digit, the last
# one printed. The search converges so fast that 1e-10 would cost one or two more evaluations of ε.
_TOLERANCE = 1e-5
_COARSE = 1.1  # ratio of batch sizes in the coarse search, which is then refined to single records


@functools.lru_cache(maxsize=1024)  # recommending a plan repeats calibrations
def noise_multiplier(
    sampling_rate: float, steps: int, epsilon: float, delta: float, accountant: str
) -> float:
    """Return the smallest noise multiplier whose ε is at most `epsilon`, to a relative 1e-5."""
    target = f"epsilon = {epsilon:g}"
    if sampling_rate == 1 and accountant in ("pld", "gaussian"):
        noise = math.sqrt(steps) / gaussian.mu(epsilon, delta)
        if noise > MOST_NOISE:
            raise ValueError(_out_of_reach(target))
        return max(noise, LEAST_NOISE)

    def above(noise: float) -> float:
        events = [SampledGaussian(sampling_rate, noise, steps)]
        return excess(accountants.epsilon(events, delta, accountant), epsilon)

    start = 1.0  # for PLD: the noise by RDP, which lies just above and is fast to compute
    if accountant == "pld":
        start = noise_multiplier(sampling_rate, steps, epsilon, delta, "rdp")
    return _least_noise(above, start, target)


def noise_multiplier_for_risk(sampling_rate: float, steps: int, limit: RiskLimit) -> float:
    """Return the smallest noise multiplier at which no attack exceeds `limit`, to a relative 1e-5.

    The search starts where the central limit of the composition, a Gaussian mechanism with
    μ = q·√(T(e^{1/σ²} − 1)) (Bu, Dong, Long and Su 2020), meets the limit.
    """
    start = math.log1p((limit.gaussian_mu / sampling_rate) ** 2 / steps) ** -0.5
    noise = _least_noise(
        lambda noise: limit.excess(AttackRisk([SampledGaussian(sampling_rate, noise, steps)])),
        min(max(start, LEAST_NOISE), MOST_NOISE),
        str(limit),
    )
    if noise < LEAST_NOISE * (1 + _TOLERANCE):
        raise ValueError(
            f"{limit} holds with almost no noise, because few records are ever sampled; these few would be "
            "exposed. Choose a stricter limit, or plan by epsilon"
        )
    return noise


def excess(value: float | None, target: float) -> float:
    """Return log(value/target) of two ε, within about ±700; large if the accountant gave none."""
    return math.log(min(max(math.inf if value is None else value, 1e-300), 1e300)) - math.log(target)


def largest(excess: Callable[[int], float], most: int, start: int = 1) -> int:
    """Return the largest whole number up to `most` whose excess is at most 0; 0 if there is none.

    `excess` must be rising. The search begins at `start`, ideally just below the answer, because evaluations
    may take long.
    """
    fits, fails, number, stride = 0, most + 1, start, max(1, start // 1000)
    while fails > 1 and fits < most and not 0 < fits < fails <= most:
        if excess(number) <= 0:
            fits, number = number, min(number + stride, most)
        else:
            fails, number = number, max(number - stride, 1)
        stride *= 4
    if fits == 0 or fails > most:
        return fits

    def clamped(log_number: float) -> float:  # at a jump of ε, the size of the jump would mislead the search
        return min(max(excess(round(math.exp(log_number))), -1.0), 1.0)

    root = scipy.optimize.brentq(clamped, math.log(fits), math.log(fails), xtol=0.1 / fails)
    number = min(round(math.exp(root)) + 1, fails - 1)
    while excess(number) > 0:
        number -= 1
    return number


def largest_batch(excess: Callable[[int], float], work: float, records: int) -> int:
    """Return the largest batch size S up to `records` without excess at `work` = epochs · N; 0 if none.

    ε rises with S while T = ⌊work/S⌋ is constant, and falls slightly where T falls, so it is not monotone in
    S. But among all S with the same T, the smallest determines whether any fits. These are tried from the
    largest S downwards, at most a tenth apart. Bisection between the last that failed and the first that fits
    then finds the answer.
    """

    def smallest(batch: int) -> int:
        """Return the smallest S with the same number of steps."""
        steps = max(1, math.floor(work / batch + 1e-9))
        return min(batch, math.floor(work / (steps + 1)) + 1)

    batch = min(records, math.floor(work + 1e-9))
    failed = batch + 1
    while batch >= 1 and excess(smallest(batch)) > 0:
        failed = smallest(batch)
        batch = min(failed - 1, math.floor(failed / _COARSE))
    if batch < 1:
        return 0
    fitting = smallest(batch)
    while failed - fitting > 1:
        middle = (fitting + failed) // 2
        start = max(fitting, smallest(middle))
        if excess(middle) <= 0:
            fitting = middle
        elif start > fitting and excess(start) <= 0:
            fitting, failed = start, middle
        else:
            failed = start if start > fitting else middle
    return fitting


def _least_noise(above: Callable[[float], float], start: float, target: str) -> float:
    """Return the smallest noise multiplier at which `above`, which falls with the noise, is at most 0."""

    def at(log_noise: float) -> float:
        return above(_within_reach(log_noise))

    low, high = _bracket(at, math.log(start), target)
    if low < high:
        low, step = scipy.optimize.brentq(at, low, high, xtol=_TOLERANCE), _TOLERANCE
        while at(low) > 0:  # move to the private side of the root
            low, step = min(low + step, high), 2 * step
    return _within_reach(low)


def _within_reach(log_noise: float) -> float:
    return min(max(math.exp(log_noise), LEAST_NOISE), MOST_NOISE)


def _bracket(above: Callable[[float], float], start: float, target: str) -> tuple[float, float]:
    """Return log noise multipliers that bracket the answer; both are the least noise if that suffices."""
    least, most, factor = math.log(LEAST_NOISE), math.log(MOST_NOISE), 0.25
    low = high = start
    while above(high) > 0:
        if high == most:
            raise ValueError(_out_of_reach(target))
        low, high, factor = high, min(high + factor, most), factor * 2
    while low == high or above(low) <= 0:
        if low == least:
            return least, least
        high, low, factor = low, max(low - factor, least), factor * 2
    return low, high


def _out_of_reach(target: str) -> str:
    return f"no noise_multiplier up to {MOST_NOISE:g} reaches {target}"

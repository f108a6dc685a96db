"""The one event that accountants understand: a Gaussian release of a Poisson-sampled sum, some times over."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vips_core import validate

# What a plan may have, and what accountants are tested on. Noise of less than a thousandth counts as none.
LEAST_NOISE, MOST_NOISE = 1e-3, 1e7
LEAST_DELTA, MOST_STEPS, MOST_RECORDS = 1e-15, 10**7, 10**12
LEAST_RATE = 1e-9  # below, accountants take this
_MOST_COUNT = 10**15


@dataclass(frozen=True)
class SampledGaussian:
    """`count` releases, each of a Poisson-sampled sum with Gaussian noise.

    Attributes
    ----------
    sampling_rate
        q, the chance of each record to be in the batch.
    noise_multiplier
        σ/Δ, the noise's standard deviation over what one record can move. 0 means no noise.
    count
        How many such releases.
    """

    sampling_rate: float
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        for name, value in (
            ("sampling_rate", validate.number("sampling_rate", self.sampling_rate, above=0, high=1)),
            ("noise_multiplier", validate.number("noise_multiplier", self.noise_multiplier, low=0)),
            ("count", validate.whole("count", self.count, low=1, high=_MOST_COUNT)),
        ):
            object.__setattr__(self, name, value)


def merge(events: Iterable[SampledGaussian]) -> list[SampledGaussian]:
    """Give equal events one entry with their total count."""
    counts: Counter[tuple[float, float]] = Counter()
    for event in events:
        counts[event.sampling_rate, event.noise_multiplier] += event.count
    return [SampledGaussian(rate, noise, count) for (rate, noise), count in counts.items()]


def within_range(event: SampledGaussian) -> SampledGaussian:
    """Return the event within the range of accountants, where it costs no less: more sampling, less noise."""
    rate, noise = max(event.sampling_rate, LEAST_RATE), min(event.noise_multiplier, MOST_NOISE)
    return SampledGaussian(rate, noise, event.count)


def fewer(events: Sequence[SampledGaussian], most: int = 32) -> list[SampledGaussian]:
    """Return at most so many different events that cost no less: full batches joined, the others rounded.

    Rates are rounded up and noise down to three significant digits, to two, … and at last all to the worst.
    """
    if len(events) <= most:
        return list(events)
    joined = join_full_batches(events)
    for digits in (3, 2, 1):
        rounded = merge(_rounded(event, digits) for event in joined)
        if len(rounded) <= most:
            return rounded
    rate, noise = max(e.sampling_rate for e in joined), min(e.noise_multiplier for e in joined)
    return [SampledGaussian(rate, noise, sum(e.count for e in joined))]


def _rounded(event: SampledGaussian, digits: int) -> SampledGaussian:
    if event.sampling_rate == 1:
        return event
    rate, noise = _to_digits(event.sampling_rate, digits, 1), _to_digits(event.noise_multiplier, digits, -1)
    return SampledGaussian(min(rate, 1.0), noise, event.count)


def _to_digits(value: float, digits: int, way: int) -> float:
    """Round up (way 1) or down (−1) to so many significant digits; never to the other side of the value."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    rounded = (math.ceil if way > 0 else math.floor)(value * scale) / scale
    return rounded if (rounded - value) * way >= 0 else value


def chance_to_be_drawn(events: Sequence[SampledGaussian]) -> float:
    """Chance that a record is in any batch, from above: no δ beyond it is needed, even with ε = 0."""
    if any(event.sampling_rate == 1 for event in events):
        return 1.0
    log_never = sum(event.count * math.log1p(-event.sampling_rate) for event in events)
    return min(1.0, -math.expm1(log_never) * (1 + 1e-12))


def join_full_batches(events: Iterable[SampledGaussian]) -> list[SampledGaussian]:
    """Replace noisy full-batch events by the one Gaussian that they amount to, exactly: 1/σ² = Σ 1/σᵢ²."""
    events = list(events)
    sampled = [event for event in events if event.sampling_rate < 1]
    precision = sum(event.count / event.noise_multiplier**2 for event in events if event.sampling_rate == 1)
    return sampled + ([SampledGaussian(1.0, precision**-0.5)] if precision else [])

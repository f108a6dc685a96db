"""The accountants' input: Gaussian releases of Poisson-sampled sums, each repeated `count` times."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vips_core import validate

# Allowed range of plans, which tests/benchmarks/accountant_range.py covers.
LEAST_NOISE, MOST_NOISE = 1e-3, 1e7  # noise multiplier σ; below LEAST_NOISE it counts as no noise
LEAST_DELTA = 1e-15  # far below 1/N for all people on earth
MOST_STEPS, MOST_RECORDS = 10**7, 10**12
LEAST_RATE = 1e-9  # sampling rate q; accountants raise smaller rates to this, which can only raise ε
_MOST_DIFFERENT = 32  # most different events that accountants read, to bound their time
_MOST_COUNT = 10**15  # most releases of one event: exact in double precision, and beyond any sum of plans


@dataclass(frozen=True)
class SampledGaussian:
    """`count` releases, each of a Poisson-sampled sum with Gaussian noise.

    Attributes
    ----------
    sampling_rate
        q, the probability that a record is in the batch.
    noise_multiplier
        The noise's standard deviation over the sensitivity to one record. 0 means no noise.
    count
        Number of such releases.
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
    """Return each different event once, with its total count."""
    counts: Counter[tuple[float, float]] = Counter()
    for event in events:
        counts[event.sampling_rate, event.noise_multiplier] += event.count
    return [SampledGaussian(rate, noise, count) for (rate, noise), count in counts.items()]


def within_range(event: SampledGaussian) -> SampledGaussian:
    """Return the event in the accountants' range; q can only rise and σ only fall, so ε cannot fall."""
    rate, noise = max(event.sampling_rate, LEAST_RATE), min(event.noise_multiplier, MOST_NOISE)
    return SampledGaussian(rate, noise, event.count)


def fewer(events: Sequence[SampledGaussian]) -> list[SampledGaussian]:
    """Return at most 32 different events whose ε is no smaller: full batches joined, other events rounded.

    Rates are rounded up and noise down to three significant digits, then to two, then to one. If that is not
    enough, all get the highest rate and the least noise.
    """
    if len(events) <= _MOST_DIFFERENT:
        return list(events)
    joined = join_full_batches(events)
    for digits in (3, 2, 1):
        rounded = merge(_rounded(event, digits) for event in joined)
        if len(rounded) <= _MOST_DIFFERENT:
            return rounded
    rate, noise = max(e.sampling_rate for e in joined), min(e.noise_multiplier for e in joined)
    return [SampledGaussian(rate, noise, sum(e.count for e in joined))]


def _rounded(event: SampledGaussian, digits: int) -> SampledGaussian:
    if event.sampling_rate == 1:
        return event
    rate, noise = _to_digits(event.sampling_rate, digits, 1), _to_digits(event.noise_multiplier, digits, -1)
    return SampledGaussian(min(rate, 1.0), noise, event.count)


def _to_digits(value: float, digits: int, way: int) -> float:
    """Round up (way 1) or down (way −1) to significant digits, never to the wrong side of the value."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    rounded = (math.ceil if way > 0 else math.floor)(value * scale) / scale
    return rounded if (rounded - value) * way >= 0 else value


def chance_to_be_drawn(events: Sequence[SampledGaussian]) -> float:
    """Return an upper bound on the probability that a record is in any batch; at this δ, ε is 0."""
    if any(event.sampling_rate == 1 for event in events):
        return 1.0
    log_never = sum(event.count * math.log1p(-event.sampling_rate) for event in events)
    return min(1.0, -math.expm1(log_never) * (1 + 1e-12))


def squared_mu(events: Iterable[SampledGaussian]) -> float:
    """Return μ² of these releases if their batches were full: Σ 1/σ²."""
    return sum(event.count / event.noise_multiplier**2 for event in events)


def join_full_batches(events: Iterable[SampledGaussian]) -> list[SampledGaussian]:
    """Replace noisy full-batch events by one equivalent Gaussian release: 1/σ² = Σ 1/σᵢ²."""
    events = list(events)
    sampled = [event for event in events if event.sampling_rate < 1]
    precision = squared_mu(event for event in events if event.sampling_rate == 1)
    return sampled + ([SampledGaussian(1.0, precision**-0.5)] if precision else [])

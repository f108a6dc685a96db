"""The one event that accountants understand: a Gaussian release of a Poisson-sampled sum, some times over."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


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
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(f"sampling_rate must be in (0, 1], got {self.sampling_rate}")
        if not (np.isfinite(self.noise_multiplier) and self.noise_multiplier >= 0):
            raise ValueError(
                f"noise_multiplier must be a finite number of at least 0, got {self.noise_multiplier}"
            )
        if self.count < 1:
            raise ValueError(f"count must be at least 1, got {self.count}")


def merge(events: Iterable[SampledGaussian]) -> list[SampledGaussian]:
    """Give equal events one entry with their total count."""
    counts: Counter[tuple[float, float]] = Counter()
    for event in events:
        counts[event.sampling_rate, event.noise_multiplier] += event.count
    return [SampledGaussian(rate, noise, count) for (rate, noise), count in counts.items()]


def join_full_batches(events: Iterable[SampledGaussian]) -> list[SampledGaussian]:
    """Replace noisy full-batch events by the one Gaussian that they amount to, exactly: 1/σ² = Σ 1/σᵢ²."""
    events = list(events)
    sampled = [event for event in events if event.sampling_rate < 1]
    precision = sum(event.count / event.noise_multiplier**2 for event in events if event.sampling_rate == 1)
    return sampled + ([SampledGaussian(1.0, precision**-0.5)] if precision else [])

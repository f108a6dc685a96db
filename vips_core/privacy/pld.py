"""Tight accounting by privacy loss distributions (dp-accounting's), at a grid that suits the events."""

import functools
import math
from collections.abc import Sequence
from typing import Any

from vips_core.privacy import gaussian, moments
from vips_core.privacy.events import SampledGaussian, join_full_batches

_MOST_CELLS = 1e6  # cells of the loss grid: bounds memory and time; a coarser grid is looser, never unsound
_FINEST, _COARSEST = 1e-6, 1e-3
_CELLS_PER_STD = 10  # the grid adds about 1/(12·100) to the variance of one step's loss


@functools.lru_cache(maxsize=32)
def _distribution(events: tuple[SampledGaussian, ...]) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld  # here: its import takes most of a second

    spacing = _spacing(events)
    parts = [
        pld.from_gaussian_mechanism(
            e.noise_multiplier,
            sampling_prob=e.sampling_rate,
            value_discretization_interval=spacing,
            log_mass_truncation_bound=-50,
        ).self_compose(e.count)
        for e in events
    ]
    return functools.reduce(lambda left, right: left.compose(right), parts)


def distribution(events: Sequence[SampledGaussian]) -> Any:
    """dp-accounting's privacy loss distribution of the composition, for add and remove neighbours."""
    return _distribution(tuple(join_full_batches(events)))


def epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """ε of the composition; exact for full batches, which are one Gaussian.

    In extreme plans the grid is coarse; RDP is valid too, so the smaller of the two counts.
    """
    joined = join_full_batches(events)
    if len(joined) == 1 and joined[0].sampling_rate == 1:
        return float(gaussian.epsilon(1 / joined[0].noise_multiplier, delta))
    return min(
        float(distribution(events).get_epsilon_for_delta(delta)), moments.rdp_epsilon(events, delta)[0]
    )


def _spacing(events: tuple[SampledGaussian, ...]) -> float:
    """Grid spacing: a tenth of the narrowest step's standard deviation of loss, within memory."""
    narrowest = min(_loss_std(e) for e in events)
    step_range = max(20 / e.noise_multiplier + 1 / e.noise_multiplier**2 for e in events)
    total_range = 2 * moments.rdp_epsilon(events, 1e-15)[0] + step_range
    wanted = min(max(narrowest / _CELLS_PER_STD, _FINEST), max(_COARSEST, narrowest / 1000))
    return max(wanted, total_range / _MOST_CELLS)


def _loss_std(event: SampledGaussian) -> float:
    inverse_square = event.noise_multiplier**-2
    return min(
        event.sampling_rate * math.sqrt(math.expm1(min(inverse_square, 50.0))), math.sqrt(inverse_square)
    )

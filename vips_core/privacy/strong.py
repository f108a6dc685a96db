"""Composition before the moments accountant: basic, strong, and strong as the paper's experiments had it."""

import math
from collections.abc import Sequence

import numpy as np

from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.privacy.events import SampledGaussian

# Shares of δ given to the composition theorem; the rest goes to the steps. A fixed grid keeps ε monotone.
_SLACK_SHARES = np.concatenate([np.geomspace(1e-6, 0.4, 30), np.linspace(0.5, 0.999, 30)])


def basic_epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """Sum of the steps' ε, with δ divided equally over the steps."""
    per_step = _amplified_steps(events, np.array([delta]))
    return float(sum(event.count * step[0] for event, step in zip(events, per_step, strict=True)))


def strong_epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """Strong composition at its best: analytic Gaussian steps, δ split optimally, never above basic.

    The heterogeneous form is Kairouz, Oh and Viswanath (2015), Theorem 3.5.
    """
    steps = _amplified_steps(events, delta * (1 - _SLACK_SHARES))
    counts = [event.count for event in events]
    squares = sum(count * step**2 for count, step in zip(counts, steps, strict=True))
    drift = sum(count * step * np.tanh(step / 2) for count, step in zip(counts, steps, strict=True))
    total = drift + np.sqrt(-2 * np.log(delta * _SLACK_SHARES) * squares)
    return min(float(np.min(total)), basic_epsilon(events, delta))


def paper_epsilon(
    event: SampledGaussian, delta: float, delta_iter: float = 1e-6, drift: float = 1.0
) -> float | None:
    """Strong composition as in the paper's experiments: classical Gaussian rule, fixed δ per iteration.

    None where nothing of δ is left for the theorem. The classical rule is proved only for a per-step ε of
    at most 1 and is used beyond, as the paper did: a baseline, not a guarantee. `drift` scales the term
    T·ε(e^ε − 1): the noise levels of the paper's LDA come out with 1 (and δ_iter = 1e-6), those of its SBN
    with ½ (and δ_iter = 1e-9).
    """
    slack = delta - event.count * event.sampling_rate * delta_iter
    if slack <= 0:
        return None
    per_step = paper_step_epsilon(event.noise_multiplier, delta_iter)
    amplified = float(_amplify(np.array(per_step), event.sampling_rate))
    spread = math.sqrt(-2 * event.count * math.log(slack)) * amplified
    growth = math.expm1(amplified) if amplified < 700 else math.inf
    return spread + drift * event.count * amplified * growth


def paper_step_epsilon(noise_multiplier: float, delta_iter: float = 1e-6) -> float:
    """ε of one step by the classical rule σ = √(2 ln(1.25/δ))/ε."""
    return math.sqrt(2 * math.log(1.25 / delta_iter)) / noise_multiplier


def _amplified_steps(events: Sequence[SampledGaussian], delta: Array) -> list[Array]:
    """ε of one step of each event, after subsampling, when the steps share `delta` equally."""
    per_step = delta / sum(event.count for event in events)
    return [
        _amplify(gaussian.epsilon(1 / e.noise_multiplier, per_step / e.sampling_rate), e.sampling_rate)
        for e in events
    ]


def _amplify(epsilon: Array, rate: float) -> Array:
    """Amplification by Poisson sampling: ln(1 + q(e^ε − 1)), written so that a large ε does not overflow."""
    if rate == 1:
        return epsilon
    small = np.log1p(rate * np.expm1(np.minimum(epsilon, 30)))
    return np.where(epsilon > 30, np.logaddexp(math.log1p(-rate), epsilon + math.log(rate)), small)

"""The accountants by name, each with its ε of a sequence of releases and the reason why it differs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vips_core import rounding, validate
from vips_core.kernels import Array
from vips_core.privacy import gaussian, moments, pld
from vips_core.privacy.events import (
    LEAST_NOISE,
    SampledGaussian,
    fewer,
    join_full_batches,
    merge,
    within_range,
)
from vips_core.privacy.moments import MAX_LAMBDA

# Shares of δ tried for the composition theorem; the steps get the rest. Every split is valid, so the smallest
# ε is taken. The grid is fixed, which keeps ε monotone in steps and noise.
_SLACK_SHARES = np.concatenate([np.geomspace(1e-6, 0.4, 30), np.linspace(0.5, 0.999, 30)])


def basic_epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """Return the sum of the steps' ε, with δ divided equally among the steps."""
    per_step = _amplified_steps(events, np.array([delta]))
    return float(sum(event.count * step[0] for event, step in zip(events, per_step, strict=True)))


def strong_epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """Return ε by strong composition with exact Gaussian steps and the best split of δ, never above basic.

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
    """Return ε by strong composition as in the paper's experiments: classical rule, fixed δ per step.

    None if no δ is left for the theorem. The classical rule is proved only for a per-step ε of at most 1; the
    paper used it beyond that, so this is a baseline, not a guarantee. `drift` scales the term T·ε(e^ε − 1): 1
    (with δ_iter = 1e-6) reproduces the noise levels of the paper's LDA, ½ (with δ_iter = 1e-9) those of its
    SBN.
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
    """Return ε of one step by the classical rule σ = √(2 ln(1.25/δ))/ε."""
    return math.sqrt(2 * math.log(1.25 / delta_iter)) / noise_multiplier


def _amplified_steps(events: Sequence[SampledGaussian], delta: Array) -> list[Array]:
    """Return ε of one step of each event, after subsampling, with `delta` divided equally among steps."""
    per_step = delta / sum(event.count for event in events)
    return [
        _amplify(gaussian.epsilon(1 / e.noise_multiplier, per_step / e.sampling_rate), e.sampling_rate)
        for e in events
    ]


def _amplify(epsilon: Array, rate: float) -> Array:
    """Return ε after Poisson sampling, ln(1 + q(e^ε − 1)), without overflow for a large ε."""
    if rate == 1:
        return epsilon
    small = np.log1p(rate * np.expm1(np.minimum(epsilon, 30)))
    return np.where(epsilon > 30, np.logaddexp(math.log1p(-rate), epsilon + math.log(rate)), small)


@dataclass(frozen=True)
class Account:
    """ε by one accountant, or None if the accountant does not apply; `note` is the reason or a caution."""

    epsilon: float | None
    note: str = ""


@dataclass(frozen=True)
class Accountant:
    """A named way to turn releases and δ into ε.

    Attributes
    ----------
    label
        Name for people.
    why
        Reason, in one line, why its ε differs from others'.
    slow
        Whether computing ε may take longer than a tenth of a second.
    compute
        Function that returns ε of merged noisy events at δ.
    """

    label: str
    why: str
    compute: Callable[[Sequence[SampledGaussian], float], Account]
    slow: bool = False


def _moments(events: Sequence[SampledGaussian], delta: float) -> Account:
    value, order = moments.epsilon(events, delta)
    edge = f"The best order is the largest one tried (λ = {MAX_LAMBDA}), so this ε may be loose."
    return Account(value, edge if order == MAX_LAMBDA else "")


def _moments_paper(events: Sequence[SampledGaussian], delta: float) -> Account:
    if len(events) > 1 or events[0].sampling_rate == 1:
        return Account(
            None, "The paper's range of orders is defined for equal steps on sampled batches only."
        )
    rate, noise = events[0].sampling_rate, events[0].noise_multiplier
    most = min(moments.paper_max_lambda(rate, noise), MAX_LAMBDA)
    if most < 1:
        return Account(None, "The paper's range of orders, 1 to σ²·ln(1/(qσ)), is empty for this q and σ.")
    outside = (
        "Outside the lemma's condition σ < 1/(16q), like the paper's pink circles; ε is valid all the same."
    )
    return Account(moments.epsilon(events, delta, most)[0], outside if noise >= 1 / (16 * rate) else "")


def _strong_paper(events: Sequence[SampledGaussian], delta: float) -> Account:
    if len(events) > 1:
        return Account(None, "The paper's strong composition is defined for equal steps only.")
    value = paper_epsilon(events[0], delta)
    if value is None:
        return Account(None, "The steps' own δ, 1e-6 each, uses up the whole δ.")
    beyond = paper_step_epsilon(events[0].noise_multiplier) > 1
    caution = (
        "A step's ε is above 1, where the classical Gaussian rule is not proved: a baseline, not a guarantee."
    )
    return Account(value, caution if beyond else "")


def _full_batches_only(formula: Callable[[float, float], float]) -> Callable[..., Account]:
    def compute(events: Sequence[SampledGaussian], delta: float) -> Account:
        if any(event.sampling_rate < 1 for event in events):
            return Account(None, "Applies to full batches (q = 1) only.")
        (whole,) = join_full_batches(events)
        return Account(formula(1 / whole.noise_multiplier, delta))

    return compute


ACCOUNTANTS: Mapping[str, Accountant] = {
    "moments": Accountant(
        "Moments",
        f"Best integer moment up to λ = {MAX_LAMBDA}, with the paper's conversion to (ε, δ).",
        _moments,
    ),
    "strong": Accountant(
        "Strong composition",
        "Reduces each step to one (ε, δ) pair; exact Gaussian steps, best split of δ.",
        lambda events, delta: Account(strong_epsilon(events, delta)),
    ),
    "moments_paper": Accountant(
        "Moments (paper)",
        "The moments accountant over the few orders that the paper tried; reproduces its published ε.",
        _moments_paper,
    ),
    "strong_paper": Accountant(
        "Strong composition (paper)",
        "Classical Gaussian rule with δ = 1e-6 per step, as in the paper's experiments.",
        _strong_paper,
    ),
    "rdp": Accountant(
        "RDP",
        "Moments at real orders with a sharper conversion to (ε, δ).",
        lambda events, delta: Account(moments.rdp_epsilon(events, delta)),
    ),
    "pld": Accountant(
        "PLD",
        "Tracks the whole distribution of the privacy loss: tight up to its grid.",
        lambda events, delta: Account(pld.epsilon(events, delta)),
        slow=True,
    ),
    "basic": Accountant(
        "Basic composition",
        "Adds up the steps' ε: always valid, rarely tight.",
        lambda events, delta: Account(basic_epsilon(events, delta)),
    ),
    "gaussian": Accountant(
        "Gaussian, exact",
        "Full batches compose to one Gaussian mechanism, whose ε is known exactly.",
        _full_batches_only(lambda mu, delta: float(gaussian.epsilon(mu, delta))),
    ),
    "zcdp": Accountant(
        "zCDP",
        "Closed form for full batches, from a single bound on all moments.",
        _full_batches_only(lambda mu, delta: float(gaussian.zcdp_epsilon(mu**2 / 2, delta))),
    ),
}


def account(events: Sequence[SampledGaussian], delta: float, accountant: str) -> Account:
    """Return ε of any sequence of releases by one accountant, with a reason or caution."""
    validate.one_of("accountant", accountant, ACCOUNTANTS)
    validate.share("delta", delta)
    merged = merge(within_range(event) for event in events)
    if not merged:
        return Account(0.0, "Nothing was released.")
    if any(event.noise_multiplier == 0 for event in merged):
        return Account(math.inf, "A release without noise has no privacy guarantee.")
    if any(event.noise_multiplier < LEAST_NOISE for event in merged):
        return Account(
            math.inf, f"A release with a noise multiplier below {LEAST_NOISE:g} counts as one without noise."
        )
    found = ACCOUNTANTS[accountant].compute(fewer(merged), delta)
    if found.epsilon is not None and math.isnan(found.epsilon):
        return Account(math.inf, "This accountant cannot compute ε here, so there is no guarantee.")
    return found


def epsilon(events: Sequence[SampledGaussian], delta: float, accountant: str) -> float:
    """Return ε by one accountant; `ValueError` with the reason if the accountant does not apply."""
    result = account(events, delta, accountant)
    if result.epsilon is None:
        raise ValueError(f"accountant {accountant!r} does not apply: {result.note}")
    return result.epsilon


def stated(epsilon: float | None, digits: int = 4) -> str:
    """Return the ε of a guarantee as text, rounded up; ∞ if there is no guarantee.

    Examples
    --------
    >>> stated(1.00001), stated(None)
    ('1.001', '∞')
    """
    return "∞" if epsilon is None or math.isinf(epsilon) else f"{rounding.up(epsilon, digits):g}"

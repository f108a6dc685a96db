"""The accountants by name: what each says of a sequence of releases, and why it says another number."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vips_core import rounding, validate
from vips_core.privacy import gaussian, moments, pld, strong
from vips_core.privacy.events import (
    LEAST_NOISE,
    SampledGaussian,
    fewer,
    join_full_batches,
    merge,
    within_range,
)
from vips_core.privacy.moment_kernels import MAX_LAMBDA


@dataclass(frozen=True)
class Account:
    """What one accountant says: ε, or None where it does not apply; `note` gives the reason or a caution."""

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
        One line on why it differs from the others.
    slow
        Whether an answer may take longer than a tenth of a second.
    judge
        Function of merged noisy events and δ.
    """

    label: str
    why: str
    judge: Callable[[Sequence[SampledGaussian], float], Account]
    slow: bool = False


def _moments(events: Sequence[SampledGaussian], delta: float) -> Account:
    value, order = moments.epsilon(events, delta)
    edge = f"The best order is the last one tried (λ = {MAX_LAMBDA}), so this ε may be loose."
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
    outside = "Outside the lemma's condition σ < 1/(16q), as the paper's pink circles; the number is sound."
    return Account(moments.epsilon(events, delta, most)[0], outside if noise >= 1 / (16 * rate) else "")


def _strong_paper(events: Sequence[SampledGaussian], delta: float) -> Account:
    if len(events) > 1:
        return Account(None, "The paper's strong composition is defined for equal steps only.")
    value = strong.paper_epsilon(events[0], delta)
    if value is None:
        return Account(None, "The steps' own δ of 1e-6 each uses up the whole δ.")
    beyond = strong.paper_step_epsilon(events[0].noise_multiplier) > 1
    caution = (
        "A step's ε is above 1, where the classical Gaussian rule is not proved: a baseline, no guarantee."
    )
    return Account(value, caution if beyond else "")


def _full_batches_only(formula: Callable[[float, float], float]) -> Callable[..., Account]:
    def judge(events: Sequence[SampledGaussian], delta: float) -> Account:
        if any(event.sampling_rate < 1 for event in events):
            return Account(None, "Applies to full batches (q = 1) only.")
        (whole,) = join_full_batches(events)
        return Account(formula(1 / whole.noise_multiplier, delta))

    return judge


ACCOUNTANTS: Mapping[str, Accountant] = {
    "moments": Accountant(
        "Moments",
        f"Best integer moment up to λ = {MAX_LAMBDA}, with the paper's conversion to (ε, δ).",
        _moments,
    ),
    "strong": Accountant(
        "Strong composition",
        "Sees each step as an (ε, δ) pair only; exact Gaussian steps, best split of δ.",
        lambda events, delta: Account(strong.strong_epsilon(events, delta)),
    ),
    "moments_paper": Accountant(
        "Moments (paper)",
        "The moments accountant with the few orders that the paper tried; gives its published ε.",
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
        lambda events, delta: Account(moments.rdp_epsilon(events, delta)[0]),
    ),
    "pld": Accountant(
        "PLD",
        "Follows the whole distribution of the privacy loss: tight up to its grid.",
        lambda events, delta: Account(pld.epsilon(events, delta)),
        slow=True,
    ),
    "basic": Accountant(
        "Basic composition",
        "Adds up the steps' ε: always valid, rarely good.",
        lambda events, delta: Account(strong.basic_epsilon(events, delta)),
    ),
    "gaussian": Accountant(
        "Gaussian, exact",
        "Full batches compose to one Gaussian, whose ε is known exactly.",
        _full_batches_only(lambda mu, delta: float(gaussian.epsilon(mu, delta))),
    ),
    "zcdp": Accountant(
        "zCDP",
        "Closed form for full batches, from one bound on all moments.",
        _full_batches_only(lambda mu, delta: float(gaussian.zcdp_epsilon(mu**2 / 2, delta))),
    ),
}


def account(events: Sequence[SampledGaussian], delta: float, accountant: str) -> Account:
    """Judge any sequence of releases by one accountant."""
    check_accountant(accountant)
    check_delta(delta)
    merged = merge(within_range(event) for event in events)
    if not merged:
        return Account(0.0, "Nothing was released.")
    if any(event.noise_multiplier == 0 for event in merged):
        return Account(math.inf, "A release without noise has no privacy guarantee.")
    if any(event.noise_multiplier < LEAST_NOISE for event in merged):
        return Account(math.inf, f"A release with less noise than {LEAST_NOISE:g} counts as one without.")
    judged = ACCOUNTANTS[accountant].judge(fewer(merged), delta)
    if judged.epsilon is not None and math.isnan(judged.epsilon):
        return Account(math.inf, "This accountant cannot compute ε here, so nothing is promised.")
    return judged


def epsilon(events: Sequence[SampledGaussian], delta: float, accountant: str) -> float:
    """ε by one accountant; `ValueError` with the reason where it does not apply."""
    result = account(events, delta, accountant)
    if result.epsilon is None:
        raise ValueError(f"accountant {accountant!r} does not apply: {result.note}")
    return result.epsilon


def stated(epsilon: float | None, digits: int = 4) -> str:
    """Write the ε of a guarantee, rounded up; without one, or with an infinite one, ∞.

    Examples
    --------
    >>> stated(1.00001), stated(None)
    ('1.001', '∞')
    """
    return "∞" if epsilon is None or math.isinf(epsilon) else f"{rounding.up(epsilon, digits):g}"


def check_accountant(name: str) -> None:
    """Refuse an unknown accountant, naming the known ones."""
    validate.one_of("accountant", name, ACCOUNTANTS)


def check_delta(delta: float) -> None:
    """Refuse a δ outside (0, 1)."""
    validate.share("delta", delta)

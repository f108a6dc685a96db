"""The budget of a private data set: what all its runs cost together, and what still fits under its cap."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vips_core.privacy import accountants
from vips_core.privacy.events import SampledGaussian, merge
from vips_core.privacy.plan import PrivacyPlan
from vips_core.runs.chain import LedgerRow

_EQUAL = 1e-9  # noise multipliers this near, relatively, are one: they differ by rounding
_MOST_NOISE = 1e6
_LEAST_EPSILON = 1e-3  # less is no use to anyone


Judge = Callable[[Sequence[SampledGaussian], float], float]  # of events and δ


@dataclass(frozen=True)
class Cap:
    """The (ε, δ) that all releases from a data set may cost together."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError(f"the cap's epsilon must be a finite number above 0, got {self.epsilon}")
        if not 0 < self.delta <= 0.5:
            raise ValueError(f"the cap's delta must be in (0, 0.5], got {self.delta}")


@dataclass(frozen=True)
class Budget:
    """Where a data set stands. The three ε add up to the cap's, all at its δ; a public data set has no cap.

    Attributes
    ----------
    spent_epsilon
        Of all that ended, as it was really released.
    reserved_epsilon
        What waiting and running runs may add to that at most.
    history
        Time, run, and ε of everything up to and with that run, in the order of reservation.
    """

    cap: Cap | None
    spent_epsilon: float
    reserved_epsilon: float
    left_epsilon: float
    history: Sequence[tuple[float, str, float]]


@dataclass(frozen=True)
class Use:
    """What one run takes of a data set: its releases where they are settled, otherwise those reserved."""

    run: str
    time: float
    events: tuple[SampledGaussian, ...]
    settled: bool


def uses(rows: Sequence[LedgerRow]) -> list[Use]:
    """Return each run's part of a data set's ledger, in the order of reservation."""
    found: dict[str, Use] = {}
    for row in rows:
        if row.run is not None and row.kind in ("reserve", "settle"):
            time = found[row.run].time if row.run in found else row.time
            found[row.run] = Use(row.run, time, from_lists(row.content["events"]), row.kind == "settle")
    return list(found.values())


def cap_of(rows: Sequence[LedgerRow]) -> Cap | None:
    """Return the cap that holds: the last one that was set."""
    caps = [row.content for row in rows if row.kind == "cap"]
    return Cap(caps[-1]["epsilon"], caps[-1]["delta"]) if caps else None


def state(rows: Sequence[LedgerRow], judge: Judge | None = None) -> Budget:
    """Return where a private data set stands, from its ledger alone; `judge` stands in for `cost`."""
    judge = judge or cost
    cap = cap_of(rows)
    if cap is None:
        return Budget(None, 0.0, 0.0, math.inf, [])
    taken = uses(rows)
    spent = judge([event for use in taken if use.settled for event in use.events], cap.delta)
    total = judge([event for use in taken for event in use.events], cap.delta)
    history, so_far = [], list[SampledGaussian]()
    for use in taken:
        if not use.events:  # it ended before its first release
            continue
        so_far += use.events
        history.append((use.time, use.run, judge(so_far, cap.delta)))
    return Budget(cap, spent, max(0.0, total - spent), max(0.0, cap.epsilon - total), history)


def cost(events: Sequence[SampledGaussian], delta: float) -> float:
    """ε of a composition: exact for full batches, otherwise the smaller of PLD and RDP."""
    return _pld(joined(events), delta)


def fits(events: Sequence[SampledGaussian], cap: Cap) -> bool:
    """Whether a composition stays under the cap: RDP answers fast and errs on the safe side, then PLD."""
    composition = joined(events)
    return _bound(composition, cap.delta) <= cap.epsilon or _pld(composition, cap.delta) <= cap.epsilon


def refusal(name: str, taken: Sequence[SampledGaussian], plan: PrivacyPlan, cap: Cap, accountant: str) -> str:
    """Say by how much a run exceeds the cap, and what would fit."""
    total = cost([*taken, *plan.events()], cap.delta)
    before = cost(taken, cap.delta)
    start = (
        f"this run does not fit in the budget of {name}: with it ε would be {total:.4g}, "
        f"{total - cap.epsilon:.3g} above the cap of {cap.epsilon:g} (δ = {cap.delta:g}), "
        f"of which {before:.4g} is spent or reserved"
    )
    noise = _least_noise(taken, plan, cap)
    smaller = None if noise is None else plan.replace(noise_multiplier=_rounded_up(noise))
    epsilon = (
        None if smaller is None else accountants.account(smaller.events(), plan.delta, accountant).epsilon
    )
    if smaller is None or (epsilon is not None and epsilon < _LEAST_EPSILON):
        return f"{start}; nothing that is worth running fits any more"
    noisier = f"noise of at least {smaller.noise_multiplier:g}"
    return f"{start}; with {plan.steps} steps on batches of {plan.expected_batch} what fits is " + (
        noisier if epsilon is None else f"epsilon of at most {_rounded_down(epsilon):g}, or {noisier}"
    )


def prefix(events: Sequence[SampledGaussian], releases: int) -> tuple[SampledGaussian, ...]:
    """Return the first so many releases."""
    found, left = [], releases
    for event in events:
        if left > 0:
            found.append(SampledGaussian(event.sampling_rate, event.noise_multiplier, min(event.count, left)))
            left -= event.count
    return tuple(found)


def to_lists(events: Sequence[SampledGaussian]) -> list[list[float]]:
    """Return events as they stand in the ledger."""
    return [[event.sampling_rate, event.noise_multiplier, event.count] for event in events]


def from_lists(found: Sequence[Sequence[float]]) -> tuple[SampledGaussian, ...]:
    """Return events as accountants see them."""
    return tuple(SampledGaussian(rate, noise, int(count)) for rate, noise, count in found)


@functools.lru_cache(maxsize=512)
def _pld(events: tuple[SampledGaussian, ...], delta: float) -> float:
    return accountants.epsilon(events, delta, "pld")


@functools.lru_cache(maxsize=512)
def _bound(events: tuple[SampledGaussian, ...], delta: float) -> float:
    return accountants.epsilon(events, delta, "rdp")


def joined(events: Sequence[SampledGaussian]) -> tuple[SampledGaussian, ...]:
    """Merge events that differ by rounding only, each taking the least noise of its group."""
    groups: list[SampledGaussian] = []
    for event in sorted(merge(events), key=lambda e: (e.sampling_rate, e.noise_multiplier)):
        last = groups[-1] if groups else None
        same = last is not None and last.sampling_rate == event.sampling_rate
        if last is not None and same and event.noise_multiplier <= last.noise_multiplier * (1 + _EQUAL):
            groups[-1] = SampledGaussian(last.sampling_rate, last.noise_multiplier, last.count + event.count)
        else:
            groups.append(event)
    return tuple(groups)


def _least_noise(taken: Sequence[SampledGaussian], plan: PrivacyPlan, cap: Cap) -> float | None:
    """Return about the smallest noise multiplier with which the plan fits, on the side that does."""
    everything_full = all(event.sampling_rate == 1 for event in [*taken, *plan.events()])
    judge = _pld if everything_full else _bound  # PLD costs too much for a search, unless it is exact

    def under(log_noise: float) -> bool:
        events = plan.replace(noise_multiplier=math.exp(log_noise)).events()
        return judge(joined([*taken, *events]), cap.delta) <= cap.epsilon

    low, high = math.log(plan.require_noise_multiplier()), math.log(_MOST_NOISE)
    if low >= high or not under(high):
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if under(middle) else (middle, high)
    return math.exp(high)


def _rounded_up(value: float, digits: int = 4) -> float:
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return math.ceil(value * scale) / scale


def _rounded_down(value: float, digits: int = 3) -> float:
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return math.floor(value * scale) / scale

"""The budget of a private data set: its caps over time, what runs take of them, and what still fits.

Runs are chosen adaptively, so a `PrivacyFilter` decides what fits under a cap; its order is recorded with the
cap. The first run is chosen before anything was released, so it may also fit as a whole, by its ε from PLD. A
run that fits only in this way is charged all that it reserved, even if it is stopped early: stopping is an
adaptive choice too.

A cap is a promise: the cap of a run is the last one set before the run was reserved. A larger cap, and any
new cap after a run, needs a name and a reason.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy  # its parts load when they are used

from vips_core import rounding, validate
from vips_core.privacy import accountants
from vips_core.privacy.events import LEAST_NOISE, MOST_NOISE, SampledGaussian, merge
from vips_core.privacy.filter import PrivacyFilter
from vips_core.privacy.plan import PrivacyPlan
from vips_core.store import people
from vips_core.store.ledger_chain import LedgerRow

_EQUAL = 1e-9  # relative difference below which two noise multipliers differ by rounding only
_TOLERANCE = 1e-6  # relative error of the noise that a refusal suggests
_LEAST_EPSILON = 1e-3  # smallest ε of a run worth suggesting
_MOST_EPSILON = 1e6  # largest ε of a cap; more protects nobody


@dataclass(frozen=True)
class Cap:
    """The (ε, δ) that all releases from a data set may cost together.

    Examples
    --------
    >>> Cap(epsilon=1.0, delta=2)
    Traceback (most recent call last):
    ...
    ValueError: the cap's delta must be a number above 0 and at most 0.5, got 2
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        validate.positive("the cap's epsilon", self.epsilon, high=_MOST_EPSILON)
        validate.number("the cap's delta", self.delta, above=0, high=0.5)


@dataclass(frozen=True)
class Budget:
    """What is spent, reserved and left of a data set's cap; a public data set has no cap and spends nothing.

    Attributes
    ----------
    spent_share, reserved_share, left_share
        Shares of the cap by its filter, which add up to 1: the releases of runs that ended, the most that
        queued and running runs may add, and the rest.
    left_epsilon
        The largest ε, at the cap's δ, of one more run on full batches.
    history
        Time, run, and total share including that run, in the order of reservation.
    events
        Everything released or reserved.
    """

    cap: Cap | None
    spent_share: float
    reserved_share: float
    left_share: float
    left_epsilon: float
    history: Sequence[tuple[float, str, float]]
    events: Sequence[SampledGaussian]

    @property
    def planned_epsilon(self) -> float:
        """ε by PLD of everything so far, as if it had been planned as a whole."""
        return cost(self.events, self.cap.delta) if self.cap is not None else 0.0


@dataclass(frozen=True)
class Use:
    """The releases of one run on a data set.

    Attributes
    ----------
    events
        What it released, or what it reserved if it is not settled.
    reserved
        What it reserved before its first release.
    """

    run: str
    time: float
    events: tuple[SampledGaussian, ...]
    reserved: tuple[SampledGaussian, ...]
    settled: bool

    def counted(self, cap_filter: PrivacyFilter) -> tuple[SampledGaussian, ...]:
        """Return the events that count: all reserved ones if the run fitted only as a whole."""
        return self.reserved if self.events and not cap_filter.fits(joined(self.reserved)) else self.events


def uses(rows: Sequence[LedgerRow]) -> list[Use]:
    """Return the releases of each run, in the order of reservation; only its first settlement counts."""
    by_run: dict[str, Use] = {}
    for row in rows:
        if row.run is not None and row.kind in ("reserve", "settle"):
            events = from_lists(row.content["events"])
            first = by_run.get(row.run, Use(row.run, row.time, events, events, settled=False))
            if first.settled:
                continue
            by_run[row.run] = Use(row.run, first.time, events, first.reserved, row.kind == "settle")
    return list(by_run.values())


def cap_rows(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Return the rows of a ledger that set a cap, oldest first."""
    return [row for row in rows if row.kind == "cap"]


def cap_in(row: LedgerRow) -> Cap:
    """Return the cap that a row set."""
    return Cap(row.content["epsilon"], row.content["delta"])


def cap_of(rows: Sequence[LedgerRow]) -> Cap | None:
    """Return the cap in force: the last one that was set."""
    caps = cap_rows(rows)
    return cap_in(caps[-1]) if caps else None


def caps_of_run(rows: Sequence[LedgerRow], run: str) -> list[LedgerRow]:
    """Return the rows that set the caps of a run's records, oldest first; none if it reserved nothing.

    Caps of records that joined the budget after the run never applied to it.

    Parameters
    ----------
    rows
        The ledger of all records that share the run's budget today.
    run
        Name of the run.
    """
    reserved = _reservation(rows, run)
    if reserved is None:
        return []

    def shared(number: int) -> set[str]:
        links = [
            {row.fingerprint, *row.content["with"]}
            for row in rows
            if row.kind == "link" and row.number <= number
        ]
        return people.connected([reserved.fingerprint], links)

    return [row for row in cap_rows(rows) if row.fingerprint in shared(max(row.number, reserved.number))]


def cap_held(rows: Sequence[LedgerRow], run: str) -> LedgerRow | None:
    """Return the row that set the cap under which a run was reserved, None if it reserved nothing."""
    reserved = _reservation(rows, run)
    before = [row for row in caps_of_run(rows, run) if reserved is not None and row.number < reserved.number]
    return before[-1] if before else None


def _reservation(rows: Sequence[LedgerRow], run: str) -> LedgerRow | None:
    return next((row for row in rows if row.run == run and row.kind == "reserve"), None)


def check_cap_change(rows: Sequence[LedgerRow], new: Cap, by: str | None, reason: str) -> None:
    """Refuse a larger cap, or any new cap after a run, without a name and a reason.

    Parameters
    ----------
    rows
        The ledger of the records.
    new
        The cap to be set.
    by, reason
        Who sets it and why, as given: the operating system's user does not count as a name.
    """
    old = cap_of(rows)
    raised = old is None or new.epsilon > old.epsilon or new.delta > old.delta
    if not raised and not uses(rows):
        return
    missing = [what for what, given in (("name", by or ""), ("reason", reason)) if not given.strip()]
    if missing:
        when = "a larger cap" if raised else "a cap that is changed after a run"
        got = "neither" if len(missing) == 2 else f"no {missing[0]}"
        raise ValueError(f"{when} needs a name and a reason, got {got}")


def state(rows: Sequence[LedgerRow]) -> Budget:
    """Return the budget of a private data set, from its ledger alone."""
    balance = Balance.of(rows)
    if balance is None:
        return Budget(None, 0.0, 0.0, 1.0, math.inf, [], [])
    cap_filter = balance.cap_filter
    settled = so_far = Balance(cap_filter)
    events, history = list[SampledGaussian](), []
    for use in uses(rows):
        if use.events:  # the other runs ended before their first release
            events += use.events
            so_far = so_far.after(use.counted(cap_filter))
            settled = settled.after(use.counted(cap_filter)) if use.settled else settled
            history.append((use.time, use.run, so_far.taken_share))
    spent, total = settled.taken_share, balance.taken_share
    left_epsilon = cap_filter.left_epsilon(joined(balance.taken)) if balance.taken else cap_filter.epsilon
    cap = Cap(cap_filter.epsilon, cap_filter.delta)
    return Budget(cap, spent, total - spent, 1 - total, left_epsilon, history, events)


def cost(events: Sequence[SampledGaussian], delta: float) -> float:
    """Return ε by PLD of a composition that is planned as a whole."""
    return _pld(joined(events), delta)


@dataclass(frozen=True)
class Balance:
    """What counts against a cap: all that runs released or reserved."""

    cap_filter: PrivacyFilter
    taken: tuple[SampledGaussian, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[LedgerRow]) -> "Balance | None":
        """Return the balance under the cap in force, at the order recorded with it; None without a cap."""
        caps = cap_rows(rows)
        if not caps:
            return None
        cap_filter = PrivacyFilter(*(caps[-1].content[name] for name in ("epsilon", "delta", "order")))
        return cls(cap_filter, tuple(event for use in uses(rows) for event in use.counted(cap_filter)))

    def after(self, new: Sequence[SampledGaussian]) -> "Balance":
        """Return the balance with further releases."""
        return Balance(self.cap_filter, (*self.taken, *new))

    @property
    def share(self) -> float:
        """Share of the cap that is taken, by its filter."""
        return self.cap_filter.share(joined(self.taken))

    @property
    def taken_share(self) -> float:
        """`share`, at most 1: a first run that fits only as a whole may exceed the filter's cap."""
        return min(1.0, self.share)

    def fits(self, new: Sequence[SampledGaussian]) -> bool:
        """Whether new releases still fit: by the filter, or as a whole if they are the first.

        An ε of ∞ or NaN never fits.
        """
        if self.cap_filter.fits(joined([*self.taken, *new])):
            return True
        return not self.taken and cost(new, self.cap_filter.delta) <= self.cap_filter.epsilon

    def refusal(self, name: str, plan: PrivacyPlan, accountant: str) -> str:
        """Say by how much a run exceeds the cap, and what would fit."""
        before, after = percent(self.share), percent(self.after(plan.events()).share)
        start = (
            f"this run does not fit in the budget of {name}: {before} of the cap of "
            f"ε = {self.cap_filter.epsilon:g} (δ = {rounding.brief(self.cap_filter.delta)}) is spent or "
            f"reserved, and the total would be {after}"
        )
        nothing = f"{start}; no useful run fits any more"
        noise = self._least_noise(plan)
        if noise is None:
            return nothing
        smaller = plan.replace(noise_multiplier=rounding.up(noise))
        epsilon = accountants.account(smaller.events(), plan.delta, accountant).epsilon
        if epsilon is not None and epsilon < _LEAST_EPSILON:
            return nothing
        noisier = f"noise of at least {smaller.noise_multiplier:g}"
        return f"{start}; {plan.steps} steps on batches of {plan.expected_batch} fit with " + (
            noisier if epsilon is None else f"ε of at most {rounding.down(epsilon, 3):g}, or {noisier}"
        )

    def _least_noise(self, plan: PrivacyPlan) -> float | None:
        """Return the smallest noise multiplier with which the plan fits, rounded up; None if none does."""
        if not self.taken:  # then it may fit as a whole
            cap = self.cap_filter
            return plan.replace(delta=cap.delta).calibrate(cap.epsilon).noise_multiplier

        def excess(log_noise: float) -> float:
            noise = min(max(math.exp(log_noise), LEAST_NOISE), MOST_NOISE)
            share = self.after(plan.replace(noise_multiplier=noise).events()).share
            return math.log(min(share, 1e300))

        low, high = math.log(max(plan.require_noise_multiplier(), LEAST_NOISE)), math.log(MOST_NOISE)
        if low >= high or excess(high) > 0:
            return None
        root: float = low if excess(low) <= 0 else scipy.optimize.brentq(excess, low, high, xtol=_TOLERANCE)
        while excess(root) > 0:
            root += _TOLERANCE
        return math.exp(root)


@dataclass(frozen=True)
class Forecast:
    """A budget with and without further runs.

    Attributes
    ----------
    before, after
        Shares of the cap taken without and with the runs; above 1 if they do not fit.
    fits
        Whether `Store.queue` would accept all of them, one after the other.
    """

    before: float
    after: float
    fits: bool


def forecast(rows: Sequence[LedgerRow], runs: Sequence[Sequence[SampledGaussian]]) -> Forecast:
    """Return the budget with and without further runs.

    Parameters
    ----------
    rows
        The ledger of a private data set.
    runs
        Releases of each run.

    Returns
    -------
    Forecast
        Nothing fits if the ledger has no cap.

    Examples
    --------
    >>> forecast([], [[SampledGaussian(1.0, 10.0)]]).fits
    False
    """
    balance = Balance.of(rows)
    if balance is None:
        return Forecast(0.0, math.inf, fits=False)
    before, all_fit = balance.taken_share, True
    for new in runs:
        all_fit = all_fit and balance.fits(new)
        balance = balance.after(new)
    after = balance.taken_share if all_fit else max(1.0, balance.share)
    return Forecast(before, after, all_fit)


def prefix(events: Sequence[SampledGaussian], releases: int) -> tuple[SampledGaussian, ...]:
    """Return the first `releases` releases of some events."""
    first, left = [], releases
    for event in events:
        if left > 0:
            first.append(SampledGaussian(event.sampling_rate, event.noise_multiplier, min(event.count, left)))
            left -= event.count
    return tuple(first)


def to_lists(events: Sequence[SampledGaussian]) -> list[list[float]]:
    """Return events as the ledger keeps them."""
    return [[event.sampling_rate, event.noise_multiplier, event.count] for event in events]


def from_lists(lists: Sequence[Sequence[float]]) -> tuple[SampledGaussian, ...]:
    """Return events as accountants take them."""
    return tuple(SampledGaussian(rate, noise, int(count)) for rate, noise, count in lists)


@functools.lru_cache(maxsize=512)
def _pld(events: tuple[SampledGaussian, ...], delta: float) -> float:
    return accountants.epsilon(events, delta, "pld")


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


def percent(share: float) -> str:
    """Return a share of a cap as text, in which a small excess is not rounded to 100%.

    Examples
    --------
    >>> percent(0.271), percent(1.002), percent(5.674), percent(1e9)
    ('27%', 'slightly more than 100%', '567%', 'far more than all')
    """
    if 1 < share < 1.005:
        return "slightly more than 100%"
    return f"{share:.0%}" if share < 10 else "far more than all"

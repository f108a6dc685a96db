"""Budgets that follow people: which data sets share one, which are kept apart, and what is refused."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vips_core import rounding
from vips_core.store import budget, declaration, people
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Cap
from vips_core.store.database import find
from vips_core.store.people import Digests

_MOST_NAMED = 3  # data sets in a sentence
_NOT_PUBLIC = "they cannot be public: what is computed from them would not be counted"
_NOT_PRIVATE = "they cannot be private: what was computed from them there was not counted"
_LINK = "link"  # kind of row; also marks the cap that joined pools got


class KnownPeople(ValueError):
    """Records share people with other data sets: nothing was registered, and the steward has to decide.

    Attributes
    ----------
    found
        The finding and its consequence: a sentence without its full stop.
    may_share
        Whether the records may share a budget with those data sets.
    """

    def __init__(self, found: str, *, may_share: bool = False) -> None:
        ways = ": agree with share_budget, or give separate, the reason why they are different people"
        super().__init__(found + ways * may_share)
        self.found, self.may_share = found, may_share


@dataclass(frozen=True)
class Newcomer:
    """Records to be registered.

    Attributes
    ----------
    declared
        Their declaration, which the chain keeps, such as `private` and `person_column`.
    records, held_out
        Digests of their people, and of those in the held-out file.
    share_budget
        Whether they may join the budgets of data sets that hold some of their people.
    separate
        Why people who also seem to be in other data sets are different people; empty if nobody claims it.
    """

    fingerprint: str
    name: str
    declared: Mapping[str, Any]
    cap: Cap | None
    records: Digests
    held_out: Digests
    share_budget: bool
    separate: str
    signature: Mapping[str, str]

    @property
    def private(self) -> bool:
        """Whether the records need protection."""
        return bool(self.declared["private"])


def admit(connection: sqlite3.Connection, new: Newcomer) -> None:
    """Write new records into the chain with their people and their cap, and join budgets; or refuse them.

    Refused are public and held-out records that are private anywhere; private ones that were public or held
    out anywhere, because what was computed from them was not counted; and records whose unit differs from
    that of data sets with the same people, because one budget counts one unit.
    """
    if new.separate and new.share_budget:
        raise ValueError(
            "records either share a budget or are kept apart: give either share_budget or separate"
        )
    shared = _keep_apart(connection, new) if new.separate else _shared(connection, new)
    rows = people.pool_rows(connection, new.fingerprint, *shared)
    _check_declared(connection, new, rows)
    members = people.pool(connection, new.fingerprint)
    joining = {other: count for other, count in shared.items() if other not in members}
    if joining and not new.share_budget:
        raise KnownPeople(
            f"some rows or persons of these records also occur in {_counted(connection, joining)}, so these "
            "data sets would share one budget",
            may_share=True,
        )
    _check_cap(new, rows)
    mark, name = new.fingerprint, new.name
    declaration.append(connection, mark, name, new.declared, new.signature)
    people.keep(connection, mark, name, new.records, people.PRIVATE if new.private else people.PUBLIC)
    people.keep(connection, mark, name, new.held_out, people.PUBLIC)
    if joining:
        _link(connection, new, joining)
    elif new.cap is not None and budget.cap_of(rows) is None:
        declaration.append_cap(connection, mark, name, new.cap, new.signature)


def _link(connection: sqlite3.Connection, new: Newcomer, joining: Mapping[str, int]) -> None:
    """Join the pools of records that share people; the smallest ε and δ of their caps hold."""
    caps = [budget.cap_of(people.pool_rows(connection, one)) for one in (new.fingerprint, *joining)]
    known = [cap for cap in caps if cap is not None]
    others = {
        other: {"name": people.names(connection, [other]), "shared": count}
        for other, count in joining.items()
    }
    chain.append(connection, _LINK, new.fingerprint, new.name, {"with": others, **new.signature})
    strictest = Cap(min(cap.epsilon for cap in known), min(cap.delta for cap in known))
    if any(cap != strictest for cap in known):
        reason = new.signature["reason"] or "budgets were joined, and the smallest cap holds"
        signature = {**new.signature, "reason": reason, "set_by": _LINK}
        declaration.append_cap(connection, new.fingerprint, new.name, strictest, signature)


def separate(
    connection: sqlite3.Connection,
    fingerprint: str,
    name: str,
    others: Collection[str],
    called: str,
    why: str,
    signature: Mapping[str, str],
) -> None:
    """Record why two groups of data sets hold different people; from then on they share no budget.

    If they shared one, each gets back the cap that it had before, unless the shared cap was changed since.
    Once a run was counted for both, they cannot be separated any more.
    """
    joint, ties = people.pool_rows(connection, fingerprint), people.ties(connection)
    linked = people.pool(connection, fingerprint) & set(others)
    links = {other: ties.get(frozenset((fingerprint, other))) for other in linked}
    since = {other: link for other, link in links.items() if link is not None}
    content = {"from": called, "apart": sorted(others), "why": why, **signature}
    chain.append(connection, "separate", fingerprint, name, content)
    if not linked:
        return
    still = people.pool(connection, fingerprint) - {fingerprint}
    if linked & still:
        raise ValueError(
            f"{name} would still share a budget with {people.names(connection, linked & still)} through "
            f"others: separate it from all of {people.names(connection, linked | still)}"
        )
    first = min(since.values())
    later = [row for row in joint if row.number > first]
    counted = {use.run for use in budget.uses(joint) if use.events}
    runs = [row.run for row in later if row.kind == "reserve" and row.run in counted]
    if runs:
        raise ValueError(
            f"run {runs[0]} was counted against the budget that {name} shares with {called}, so they cannot "
            "be separated any more"
        )
    changed = any(row.content.get("set_by") != _LINK for row in budget.cap_rows(later))
    for side, number in {fingerprint: first, **since}.items():
        rows = people.pool_rows(connection, side)
        own = budget.cap_of([row for row in rows if row.number < number])
        cap = budget.cap_of(joint) if changed or own is None else own
        if cap is not None and cap != budget.cap_of(rows):
            answer = {**signature, "reason": f"the cap from before it shared a budget: {why}"}
            declaration.append_cap(connection, side, people.names(connection, [side]), cap, answer)


def overlap_sentences(rows: Sequence[chain.LedgerRow]) -> list[str]:
    """Say which data sets share the budget of these records: for the steward alone, as it counts people."""
    members = {row.fingerprint for row in rows}
    return [
        f"{other['shared']:,} rows or persons of {row.data} also occur in {other['name']}: both data sets "
        "share one budget."
        for row in rows
        if row.kind == _LINK
        for fingerprint, other in row.content["with"].items()
        if fingerprint in members  # others were separated since
    ]


def separations(rows: Sequence[chain.LedgerRow]) -> list[str]:
    """Say from which data sets records were kept apart although they share rows, by whom and why."""
    return [
        f"{row.data} was kept apart from {row.content['from']} by {row.content['by']}, although they share "
        f"rows or persons: {row.content['why']}"
        for row in rows
        if row.kind == "separate"
    ]


def _shared(connection: sqlite3.Connection, new: Newcomer) -> dict[str, int]:
    """Return how many people each private data set shares with new records, or refuse them."""
    shared = people.overlaps(connection, new.records, new.fingerprint)
    test_shared = people.overlaps(connection, new.held_out, new.fingerprint)
    itself = people.common(new.records, new.held_out) if new.private else 0
    if itself and not test_shared:
        test_shared = {new.fingerprint: itself}
    _refuse(connection, test_shared, "held-out records are private", _NOT_PUBLIC)
    if not new.private:
        _refuse(connection, shared, "records are private", _NOT_PUBLIC)
        return {}
    public = people.overlaps(connection, new.records, new.fingerprint, people.PUBLIC)
    _refuse(connection, public, "records are public or held out", _NOT_PRIVATE)
    if new.share_budget:
        return shared
    ties = people.ties(connection)  # those kept apart stay so when either is registered again
    return {
        other: count
        for other, count in shared.items()
        if ties.get(frozenset((new.fingerprint, other)), count) is not None
    }


def _keep_apart(connection: sqlite3.Connection, new: Newcomer) -> dict[str, int]:
    """Record why rows that also occur in other data sets belong to different people: they share no budget."""
    others = {
        other
        for some in (new.records, new.held_out)
        for kind in (people.PRIVATE, people.PUBLIC)
        for other in people.overlaps(connection, some, new.fingerprint, kind)
    }
    if others or people.common(new.records, new.held_out):
        called = people.names(connection, others) or new.name
        separate(connection, new.fingerprint, new.name, others, called, new.separate, new.signature)
    return {}


def _check_declared(connection: sqlite3.Connection, new: Newcomer, rows: Sequence[chain.LedgerRow]) -> None:
    """Refuse a declaration that contradicts an earlier one for the name or the shared budget."""
    taken = find(connection, "data", name=new.name)
    if taken is not None and taken["fingerprint"] != new.fingerprint:
        raise ValueError(f"another data set is called {new.name}: choose another name, or remove that one")
    others = {row["name"] for row in connection.execute("SELECT name FROM data WHERE name != ?", [new.name])}
    counted = {use.run for use in budget.uses(rows) if use.events}
    used = {(row.fingerprint, row.data) for row in rows if row.run in counted}
    for (fingerprint, known_as), content in declaration.last_declared(rows).items():
        if content["private"] != new.private:
            before, now = ("private", "public") if content["private"] else ("public", "private")
            raise ValueError(
                f"these records were registered as {before} under the name {known_as}, so they cannot be "
                f"{now}: what was released from public records was not counted"
            )
        column, here = content.get("person_column"), new.declared["person_column"]
        binding = known_as in others or (fingerprint, known_as) in used
        if new.private and binding and column != here:
            same = fingerprint == new.fingerprint
            start = "these records" if same else "some of these records"
            sentence = (
                f"{start} are protected {_by(column)} in {known_as}, so they cannot be protected "
                f"{_by(here)} here: one budget cannot count both units"
            )
            raise ValueError(sentence) if same else KnownPeople(sentence)


def _check_cap(new: Newcomer, rows: Sequence[chain.LedgerRow]) -> None:
    known = budget.cap_of(rows)
    if new.private and new.cap is None and known is None:
        raise ValueError(f"the private data set {new.name} needs a cap on its ε and δ")
    if new.cap is not None and (not new.private or known not in (None, new.cap)):
        reason = (
            f"they share a cap of ε = {known.epsilon:g}, δ = {rounding.brief(known.delta)}"
            if known
            else "they are public"
        )
        raise ValueError(f"these records take no cap of their own: {reason}")


def _by(person_column: str | None) -> str:
    return f"by {person_column}" if person_column else "record by record"


def _counted(connection: sqlite3.Connection, counts: Mapping[str, int]) -> str:
    """Return the names of a few data sets, each with the number of rows or persons that it shares."""
    most = sorted((-count, people.names(connection, [other])) for other, count in counts.items())
    named = [f"{name} ({-less:,})" for less, name in most[:_MOST_NAMED]]
    more = len(counts) - _MOST_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _refuse(connection: sqlite3.Connection, counts: Mapping[str, int], found: str, why: str) -> None:
    """Refuse records if some of their people were found elsewhere."""
    if counts:
        where = people.names(connection, counts) or "the private file itself"
        raise KnownPeople(f"{max(counts.values()):,} rows or persons of these {found} in {where}, so {why}")

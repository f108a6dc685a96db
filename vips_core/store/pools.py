"""Budgets that follow people: which data sets share one, which were kept apart, and what is refused."""

import sqlite3
from collections.abc import Mapping, Sequence

from vips_core import rounding
from vips_core.store import budget, declaration, people
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Cap
from vips_core.store.ledger_chain import LedgerRow
from vips_core.store.people import Digests


def admit(
    connection: sqlite3.Connection, fingerprint: str, private: bool, records: Digests, held_out: Digests
) -> dict[str, int]:
    """Return the private data sets that share people with new records, by fingerprint, with how many.

    Public records, and held-out ones, that are private anywhere are refused, and so are private ones that
    were public or held out anywhere: what was computed from them there was not counted.
    """
    unknown = people.without_digests(connection, fingerprint)
    if unknown:
        raise ValueError(
            f"{unknown[0]} was registered by an older version, so whether it shares people with these "
            "records is not known: register its file again first, or say why they are of other people"
        )
    shared = people.overlaps(connection, records, fingerprint)
    test_shared = people.overlaps(connection, held_out, fingerprint)
    itself = people.common(records, held_out) if private else 0
    _refuse(test_shared or ({fingerprint: itself} if itself else {}), "held-out records", connection)
    if private:
        _refuse(
            people.overlaps(connection, records, fingerprint, people.PUBLIC), "records", connection, private
        )
    else:
        _refuse(shared, "records", connection)
    return shared


def check_declared(
    connection: sqlite3.Connection,
    name: str,
    marks: Sequence[str],
    private: bool,
    cap: Cap | None,
    person_column: str | None,
) -> None:
    """Refuse what does not agree with what is known of a name and of records that share a budget."""
    taken = connection.execute("SELECT fingerprint FROM data WHERE name = ?", [name]).fetchone()
    if taken is not None and taken["fingerprint"] != marks[0]:
        raise ValueError(f"another data set is called {name}: choose another name, or remove that one")
    rows = people.pool_rows(connection, marks)
    declared = {(row.fingerprint, row.data): row.content for row in rows if row.kind == "data"}  # as of last
    others = {row["name"] for row in connection.execute("SELECT name FROM data WHERE name != ?", [name])}
    counted = {use.run for use in budget.uses(rows) if use.events}
    used = {(row.fingerprint, row.data) for row in rows if row.run in counted}
    for (fingerprint, known_as), content in declared.items():
        if content["private"] != private:
            before, now = ("private", "public") if content["private"] else ("public", "private")
            raise ValueError(
                f"these records were registered as {before} under the name {known_as}, so they cannot be "
                f"{now}: what was released from public records was not counted"
            )
        column = content.get("person_column")
        same_unit = (
            column == person_column if fingerprint == marks[0] else bool(column) == bool(person_column)
        )
        if private and not same_unit and (known_as in others or (fingerprint, known_as) in used):
            raise ValueError(
                f"these records were registered {_by(column)} under the name {known_as}, so they cannot be "
                f"registered {_by(person_column)}: one budget cannot count for both"
            )
    known = budget.cap_of(rows)
    if private and cap is None and known is None:
        raise ValueError(f"the private data set {name} needs a cap on its ε and δ")
    if cap is not None and (not private or known not in (None, cap)):
        reason = (
            f"they share a cap of ε = {known.epsilon:g}, δ = {rounding.brief(known.delta)}"
            if known
            else "they are public"
        )
        raise ValueError(f"a cap cannot be given with these records: {reason}")


def link(
    connection: sqlite3.Connection,
    fingerprint: str,
    name: str,
    shared: Mapping[str, int],
    signature: Mapping[str, str],
) -> None:
    """Join the pools of records that share people; of several caps, the smallest ε and δ hold."""
    members = people.pool(connection, fingerprint)
    joining = {other: count for other, count in shared.items() if other not in members}
    if not joining:
        return
    caps = [budget.cap_of(people.pool_rows(connection, [one])) for one in (fingerprint, *joining)]
    known = [cap for cap in caps if cap is not None]
    overlaps = {people.names(connection, [other]): count for other, count in joining.items()}
    content = {"with": sorted(joining), "overlaps": overlaps, **signature}
    chain.append(connection, "link", fingerprint, name, content)
    strictest = Cap(min(cap.epsilon for cap in known), min(cap.delta for cap in known))
    if any(cap != strictest for cap in known):
        reason = signature["reason"] or "budgets were joined, and the smallest cap holds"
        declaration.append_cap(connection, fingerprint, name, strictest, {**signature, "reason": reason})


def keep_apart(
    connection: sqlite3.Connection,
    fingerprint: str,
    name: str,
    digests: Sequence[Digests],
    reason: str,
    signature: Mapping[str, str],
) -> None:
    """Write down why records that occur in other data sets too are of other people."""
    others = {
        other
        for some in digests
        for table in (people.PRIVATE, people.PUBLIC)
        for other in people.overlaps(connection, some, fingerprint, table)
    }
    unknown = people.without_digests(connection, fingerprint)
    if others or unknown or people.common(*digests):
        apart = ", ".join(filter(None, [people.names(connection, others), *unknown]))
        content = {"from": apart or name, "why": reason.strip(), **signature}
        chain.append(connection, "separate", fingerprint, name, content)


def overlap_sentences(rows: Sequence[LedgerRow]) -> list[str]:
    """Say with which data sets records share their budget: for the steward alone, since it counts people."""
    return [
        f"{count:,} rows or persons of {row.data} occur in {other} too: they share one cap and one spend."
        for row in rows
        if row.kind == "link"
        for other, count in row.content["overlaps"].items()
    ]


def separations(rows: Sequence[LedgerRow]) -> list[str]:
    """Say from which data sets records were kept apart although they share rows, by whom and why."""
    return [
        f"{row.data} was kept apart from {row.content['from']} by {row.content['by']}, although they share "
        f"rows: {row.content['why']}"
        for row in rows
        if row.kind == "separate"
    ]


def _by(person_column: str | None) -> str:
    return f"with the person column {person_column}" if person_column else "without a person column"


def _refuse(
    counts: Mapping[str, int], what: str, connection: sqlite3.Connection, private: bool = False
) -> None:
    if not counts:
        return
    where = people.names(connection, counts) or "the private file itself"
    start = f"{max(counts.values()):,} rows or persons of these {what} are"
    if private:
        raise ValueError(
            f"{start} public or held out in {where}, so they cannot be private: what was computed from them "
            "there was not counted"
        )
    raise ValueError(
        f"{start} private in {where}, so they cannot be public: what is computed from them would not be "
        "counted"
    )

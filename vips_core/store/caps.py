"""Caps over time: which one held for a run, and what a change of one takes.

A cap is a promise. The one that was made for a run is the last that was set before its reservation, whatever
was set since, and a change that could make the promise look other than it was needs a name and a reason.
"""

from collections.abc import Sequence

from vips_core.store import budget, people
from vips_core.store.budget import Cap
from vips_core.store.ledger_chain import LedgerRow


def of_run(rows: Sequence[LedgerRow], run: str) -> list[LedgerRow]:
    """Return the rows that set the caps of a run's records, oldest first; none where it reserved nothing.

    Records that joined the budget after the run brought caps of their own, which never held for it.

    Parameters
    ----------
    rows
        The ledger of all records that share the run's budget today.
    run
        Its name.
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
        return people.connected(reserved.fingerprint, links)

    return [row for row in all_set(rows) if row.fingerprint in shared(max(row.number, reserved.number))]


def held(rows: Sequence[LedgerRow], run: str) -> LedgerRow | None:
    """Return the row that set the cap under which a run was reserved, None where it reserved nothing."""
    reserved = _reservation(rows, run)
    before = [row for row in of_run(rows, run) if reserved is not None and row.number < reserved.number]
    return before[-1] if before else None


def cap(row: LedgerRow) -> Cap:
    """Return the cap that a row set."""
    return Cap(row.content["epsilon"], row.content["delta"])


def check_change(rows: Sequence[LedgerRow], new: Cap, by: str | None, reason: str) -> None:
    """Refuse a larger cap, and any cap after a run, that nobody answers for by name and with a reason.

    Parameters
    ----------
    rows
        The ledger of the records.
    new
        The cap to be set.
    by, reason
        Who sets it and why, as they were given: the operating system's user is nobody's word.
    """
    old = budget.cap_of(rows)
    raised = old is None or new.epsilon > old.epsilon or new.delta > old.delta
    if not raised and not budget.uses(rows):
        return
    named, explained = bool((by or "").strip()), bool(reason.strip())
    if named and explained:
        return
    got = "no reason" if named else "no name" if explained else "neither"
    when = "a larger cap" if raised else "a cap that is changed after a run"
    raise ValueError(f"{when} needs a name and a reason, got {got}")


def all_set(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Return the rows of a ledger that set a cap, oldest first."""
    return [row for row in rows if row.kind == "cap"]


def _reservation(rows: Sequence[LedgerRow], run: str) -> LedgerRow | None:
    return next((row for row in rows if row.run == run and row.kind == "reserve"), None)

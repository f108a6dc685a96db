"""Declarations that protect people (private, unit, cap), by whom and why, kept in the ledger's chain."""

import getpass
import hashlib
import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from vips_core import rounding, validate
from vips_core.privacy.filter import PrivacyFilter
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Cap
from vips_core.store.database import StoreError, find

_MARGIN = 10  # a cap's δ is at most 1/(10·N): δ·N records may be published whole, on average
_LONGEST = 500  # characters of a name or a reason, which reports print
_KEY = re.compile("[0-9a-f]{64}")
_DATA = "kind = 'data'"
# Columns of the table that must agree with the chain.
_PROTECTING = ("private", "records", "unit", "schema", "person_column", "person_namespace")


def author(by: str | None, reason: str) -> dict[str, str]:
    """Return who decides and why, as the chain keeps it; the operating system's user stands in for `by`.

    Examples
    --------
    >>> author("Ada", "approved by the board on 3 May")
    {'by': 'Ada', 'reason': 'approved by the board on 3 May'}
    """
    texts = {"by": _user() if by is None else by, "reason": reason}
    for name, text in texts.items():
        if len(validate.text(name, text)) > _LONGEST:
            raise ValueError(f"{name} must have at most {_LONGEST} characters, got {len(text)}")
    return {name: " ".join(text.split()) for name, text in texts.items()}


def check_delta(cap: Cap | None, records: int, reason: str) -> None:
    """Refuse a δ so large that whole records could be published, unless a reason is given."""
    most = 1 / (_MARGIN * records)
    if cap is not None and cap.delta > most and not reason.strip():
        raise ValueError(
            f"the cap's delta must be at most 1/({_MARGIN}·N) = {most:.3g} for {records:,} records, got "
            f"{rounding.brief(cap.delta)}: a larger δ needs a reason"
        )


def schema_fingerprint(records: Any) -> str:
    """Return a hash of the public facts about records: words, image shape, or columns with their ranges."""
    return hashlib.sha256(json.dumps(records.public, sort_keys=True).encode()).hexdigest()[:32]


def append(
    connection: sqlite3.Connection,
    fingerprint: str,
    name: str,
    declared: Mapping[str, Any],
    signature: Mapping[str, str],
) -> None:
    """Write a declaration of records into the chain, unless the last one is the same.

    The row includes a hash of the store's key: with another key, no person would be found again.
    """
    last = last_declared(chain.rows(connection, _DATA)).get((fingerprint, name))
    if last is None or {key: last.get(key) for key in declared} != dict(declared):
        content = {**declared, **signature, "key": _key_seal(connection)}
        chain.append(connection, "data", fingerprint, name, content)


def fingerprint_key(connection: sqlite3.Connection) -> str:
    """Return the secret key of fingerprints and digests, as hexadecimal digits."""
    row = find(connection, "meta", key="fingerprint key")
    if row is None or not _KEY.fullmatch(str(row["value"])):
        raise StoreError("the key of the store's fingerprints is damaged: restore a backup of the store")
    return str(row["value"])


def _key_seal(connection: sqlite3.Connection) -> str:
    return hashlib.sha256(f"seal of {fingerprint_key(connection)}".encode()).hexdigest()[:32]


def append_cap(
    connection: sqlite3.Connection, fingerprint: str, name: str, cap: Cap, signature: Mapping[str, str]
) -> None:
    """Write a cap into the chain, with the order of its filter, who set it and why."""
    order = PrivacyFilter.for_cap(cap.epsilon, cap.delta).order
    content = {"epsilon": cap.epsilon, "delta": cap.delta, "order": order, **signature}
    chain.append(connection, "cap", fingerprint, name, content)


def differences(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each data set whose row in the table disagrees with the chain."""
    problems, rows = [], chain.rows(connection, _DATA)
    seal, last = _key_seal(connection), last_declared(rows)
    if any(row.content["key"] != seal for row in rows):
        problems.append("The key of the store's fingerprints was changed: people would not be found again.")
    for row in connection.execute("SELECT * FROM data ORDER BY created"):
        declared = last.get((row["fingerprint"], row["name"]))
        if declared is None:
            problems.append(f"The data set {row['name']} is in the store's table, but not in the ledger.")
            continue
        problems += [
            f"The store's table and the ledger disagree about “{column.replace('_', ' ')}” of the data set "
            f"{row['name']}."
            for column in _PROTECTING
            if declared[column] != (bool(row[column]) if column == "private" else row[column])
        ]
    return problems


def run_differences(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each run on private records whose row contradicts its reservation."""
    runs = {row["id"]: row for row in connection.execute("SELECT id, fingerprint, request FROM runs")}
    return [
        f"Run {row['run']} has another request, or other records, in the store's table than in the ledger."
        for row in connection.execute("SELECT * FROM ledger WHERE kind = 'reserve' ORDER BY number")
        if (run := runs.get(row["run"])) is not None
        and (run["fingerprint"], request_seal(str(run["request"])))
        != (row["fingerprint"], json.loads(row["content"])["request"])
    ]


def request_seal(request: str) -> str:
    """Return a hash of a run's request as the table of runs keeps it."""
    return hashlib.sha256(request.encode()).hexdigest()[:32]


def last_declared(rows: Sequence[chain.LedgerRow]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the last declaration of records under each of their names, by fingerprint and name."""
    return {(row.fingerprint, row.data): row.content for row in rows if row.kind == "data"}


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "unknown"

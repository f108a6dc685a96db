"""The ledger of all data sets: rows that are only ever appended, each sealed by the hash of all before it.

The chain reveals edited rows, missing rows and a cut tail, also after further rows. It cannot reveal that
someone appended to it, or recomputed all of it and replaced the file of its head. Against both,
`VIPS_LEDGER_KEY` names a key outside the store that signs heads, as hexadecimal digits or as a file. Only a
head noted elsewhere reveals that a complete older copy, with its signed head, was put in place. `ledger
verify` prints the head to note.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vips_core import files, rounding
from vips_core.store.database import Database, StoreError, find, insert

GENESIS = "0" * 64
KEY = "VIPS_LEDGER_KEY"  # environment variable
ROW_KINDS = {  # each with its label
    "data": "Registered",
    "cap": "Cap set",
    "people": "People",
    "public_people": "Public people",
    "link": "Linked",
    "separate": "Kept apart",
    "reserve": "Reserved",
    "announce": "Announced",
    "settle": "Settled",
}
NO_BUDGET = "no budget can be read"  # while the ledger is not intact
_LEAST_KEY = 16  # bytes of a signing key


@dataclass(frozen=True)
class LedgerRow:
    """One row of the ledger.

    Attributes
    ----------
    kind
        One of `ROW_KINDS`.
    fingerprint, data
        Fingerprint of the records, and their name at the time.
    content
        By kind: events [sampling_rate, noise_multiplier, count] of a run, how many releases it announced, a
        cap's ε and δ, or a declaration of records.
    """

    number: int
    time: float
    kind: str
    fingerprint: str
    data: str
    run: str | None
    content: Mapping[str, Any]
    hash: str

    def describe(self) -> str:
        """Return the content in words.

        Examples
        --------
        >>> LedgerRow(1, 0.0, "cap", "", "data", None, {"epsilon": 3.0, "delta": 1e-6}, "").describe()
        'ε = 3 at δ = 1e-6'
        """
        content = self.content
        by, reason = content.get("by", ""), content.get("reason", "")
        author = (f", by {by}" if by else "") + (f": {reason}" if reason else "")
        match self.kind:
            case "cap":
                return f"ε = {content['epsilon']:g} at δ = {rounding.brief(content['delta'])}{author}"
            case "data":
                protection = "private" if content["private"] else "public"
                return f"{content['records']:,} records, {protection}{author}"
            case "people" | "public_people":
                return "keyed digests of its rows and persons"
            case "link":
                others = ", ".join(other["name"] for other in content["with"].values())
                return f"shares its budget with {others}{author}"
            case "separate":
                return f"separated from {content['from']}: {content['why']}{author}"
            case "announce":
                count = content["releases"]
                return f"at most {count:,} {'release' if count == 1 else 'releases'} so far"
        releases = [
            f"{count:,} × (q = {rate:.4g}, σ = {noise:.5g})" for rate, noise, count in content["events"]
        ]
        return "; ".join(releases) or "nothing was released"


@dataclass(frozen=True)
class Head:
    """The number of rows, the last hash, and the signature of both if there is a key; by default, no rows."""

    count: int = 0
    hash: str = GENESIS
    signature: str = ""

    @classmethod
    def of(cls, text: str) -> "Head":
        """Read what `str` wrote."""
        count, seal, *signature = text.split()
        return cls(int(count), seal, *signature[:1])

    def __str__(self) -> str:
        return f"{self.count} {self.hash} {self.signature}".rstrip()


def append(
    connection: sqlite3.Connection,
    kind: str,
    fingerprint: str,
    data: str,
    content: Mapping[str, Any],
    run: str | None = None,
) -> None:
    """Add a row in the caller's transaction; an unusable signing key raises before the commit.

    With a key, the row is signed if the one before it was: a signature vouches for all rows.
    """
    signing_key()
    head, last = _head(connection), _stored_head(connection)
    may_sign = head.count == 0 or (last.hash == head.hash and _is_signed(last))
    body = {
        "number": head.count + 1,
        "time": time.time(),
        "kind": kind,
        "fingerprint": fingerprint,
        "data": data,
        "run": run,
        "content": json.dumps(content, sort_keys=True, allow_nan=False),
        "previous": head.hash,
    }
    seal = _seal(body)
    insert(connection, "ledger", {**body, "hash": seal})
    new = Head(head.count + 1, seal)
    _store_head(connection, replace(new, signature=_signature(new) if may_sign else ""))


def keep_head(database: Database, path: Path) -> None:
    """Write the head to a file of its own, under the write lock, so that an older head never wins.

    If the rows do not lead from the head in the file to the last one, the file stays: it is evidence.
    """
    with database.write() as connection:
        head = _stored_head(connection)
        if head.count == 0 or not _leads(connection, read_head(path), head):
            return
        partial = path.with_suffix(".new")
        with partial.open("w", encoding="ascii") as file:
            file.write(str(head) + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def sign(connection: sqlite3.Connection) -> None:
    """Sign the ledger's present head in the caller's transaction."""
    _store_head(connection, replace(head := _head(connection), signature=_signature(head)))


def rows(connection: sqlite3.Connection, where: str = "TRUE", values: Sequence[Any] = ()) -> list[LedgerRow]:
    """Return the rows that meet an SQL condition, oldest first; `StoreError` if one of them was changed."""
    table = connection.execute(f"SELECT * FROM ledger WHERE {where} ORDER BY number", values).fetchall()
    names = LedgerRow.__dataclass_fields__
    if changed := [_changed(row["number"]) for row in table if not _is_sealed(row)]:
        raise not_intact(changed, NO_BUDGET)
    return [
        LedgerRow(**{name: row[name] for name in names} | {"content": json.loads(row["content"])})
        for row in table
    ]


def rows_of(connection: sqlite3.Connection, run_id: str) -> list[LedgerRow]:
    """Return the rows of a run, its reservation first; none of a run on public data."""
    return rows(connection, "run = ?", [run_id])


def verify(connection: sqlite3.Connection, head_file: Path, *, signed: bool = True) -> list[str]:
    """Return a sentence for each defect of the chain; none if it is intact.

    With `signed` and a key, both the last row and the file of the head must be signed with it.
    """
    problems, seals, last = [], {0: GENESIS}, 0
    for row in connection.execute("SELECT * FROM ledger ORDER BY number"):
        number = row["number"]
        if number != last + 1:
            problems.append(f"Row {last + 1} of the ledger is missing.")
        elif row["previous"] != seals[last]:
            problems.append(f"Row {number} of the ledger does not follow from row {last}.")
        if not _is_sealed(row):
            problems.append(_changed(number))
        seals[number], last = row["hash"], number
    stored, kept = _stored_head(connection), read_head(head_file)
    for head in (stored, kept):
        if head.count > last:
            problems.append(f"The ledger was cut: it had {head.count} rows and now has {last}.")
            break
        if seals.get(head.count, head.hash) != head.hash:
            problems.append(
                f"Row {head.count} of the ledger was replaced: its hash differs from the recorded one."
            )
            break
    covered = _is_signed(stored) and _is_signed(kept) and stored.count == last
    if signed and last and signing_key() is not None and not covered:
        problems.append(
            f"The head of the ledger is not signed with the key of {KEY}: others may have rebuilt it."
        )
    return problems


def not_intact(problems: Sequence[str], refused: str) -> StoreError:
    """Return the error that refuses an action because of problems in the ledger."""
    return StoreError(f"{refused} while the ledger is not intact: {problems[0]}")


def signing_key() -> bytes | None:
    """Return the key of `VIPS_LEDGER_KEY`, None where it is not set."""
    given = os.environ.get(KEY, "")
    if not given:
        return None
    try:
        key = bytes.fromhex(given)
    except ValueError:
        try:
            key = files.read_bytes(Path(given), files.MOST_KEY).strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ValueError(f"{KEY} must be hexadecimal digits or a readable file: {why}") from None
    if len(key) < _LEAST_KEY:
        raise ValueError(f"the key of {KEY} must have at least {_LEAST_KEY} bytes, got {len(key)}")
    return key


def read_head(path: Path) -> Head:
    """Return the head kept in a file, that of an empty ledger if there is no file."""
    try:
        return Head.of(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return Head()
    except ValueError:
        raise ValueError(f"{path} does not hold the head of a ledger: restore a backup") from None


def _signature(head: Head) -> str:
    """Return the head's signature, empty without a key."""
    key = signing_key()
    if key is None:
        return ""
    return hmac.new(key, f"{head.count} {head.hash}".encode(), hashlib.sha256).hexdigest()


def _is_signed(head: Head) -> bool:
    return hmac.compare_digest(head.signature, _signature(head))


def _store_head(connection: sqlite3.Connection, head: Head) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('ledger head', ?)", [str(head)])


def _stored_head(connection: sqlite3.Connection) -> Head:
    row = find(connection, "meta", key="ledger head")
    try:
        return Head() if row is None else Head.of(row["value"])
    except (AttributeError, ValueError):
        raise StoreError("the head of the ledger is damaged: restore a backup of the store") from None


def _leads(connection: sqlite3.Connection, first: Head, last: Head) -> bool:
    """Whether the rows from one head to another follow from each other, each with the hash of its content."""
    place = (0, GENESIS)  # before the first row
    for row in connection.execute("SELECT * FROM ledger WHERE number >= ? ORDER BY number", [first.count]):
        before, here = (row["number"] - 1, row["previous"]), (row["number"], row["hash"])
        known = here == (first.count, first.hash) if here[0] == first.count else before == place
        if not (known and _is_sealed(row)):
            return False
        place = here
    return place == (last.count, last.hash)


def _head(connection: sqlite3.Connection) -> Head:
    row = connection.execute("SELECT number, hash FROM ledger ORDER BY number DESC LIMIT 1").fetchone()
    return Head() if row is None else Head(row["number"], row["hash"])


def _seal(body: Mapping[str, Any]) -> str:
    # Only a damaged file has values other than texts and numbers.
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _is_sealed(row: sqlite3.Row) -> bool:
    return bool(row["hash"] == _seal({name: row[name] for name in row.keys() if name != "hash"}))


def _changed(number: int) -> str:
    return f"Row {number} of the ledger was changed: its hash does not match its content."

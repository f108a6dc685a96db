"""The ledger of all data sets: rows that are only ever appended, each sealed by the hash of all before it.

An edit, a missing row and a cut tail are found. What a chain cannot find is someone who recomputes all of it
and replaces the file of its head as well; against that, note a head elsewhere: `ledger verify` prints it.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vips_core.runs.database import Database

GENESIS = "0" * 64
_COLUMNS = ("number", "time", "kind", "fingerprint", "data", "run", "content", "previous")


@dataclass(frozen=True)
class LedgerRow:
    """One row.

    Attributes
    ----------
    kind
        "data" (registered), "cap" (set), "reserve" or "settle" (of a run).
    fingerprint, data
        The records, and what they were called then.
    content
        Events [sampling_rate, noise_multiplier, count] of a run, or the cap's ε and δ.
    """

    number: int
    time: float
    kind: str
    fingerprint: str
    data: str
    run: str | None
    content: Mapping[str, Any]
    hash: str


@dataclass(frozen=True)
class Head:
    """How long the chain is and how it ends."""

    count: int
    hash: str


def append(
    connection: sqlite3.Connection,
    kind: str,
    fingerprint: str,
    data: str,
    content: Mapping[str, Any],
    run: str | None = None,
) -> None:
    """Add a row, in the caller's transaction."""
    head = _head(connection)
    body = (
        head.count + 1,
        time.time(),
        kind,
        fingerprint,
        data,
        run,
        json.dumps(content, sort_keys=True, allow_nan=False),
        head.hash,
    )
    seal = _seal(body)
    connection.execute(f"INSERT INTO ledger VALUES ({', '.join('?' * 9)})", [*body, seal])
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('ledger head', ?)", [f"{body[0]} {seal}"])


def keep_head(database: Database, path: Path) -> None:
    """Write the head to a file of its own; under the write lock, so that an older head never wins."""
    with database.write() as connection:
        head = _head(connection)
        partial = path.with_suffix(".new")
        with partial.open("w", encoding="ascii") as file:
            file.write(f"{head.count} {head.hash}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def rows(found: Sequence[sqlite3.Row]) -> list[LedgerRow]:
    """Return rows of the table as they are read elsewhere."""
    return [
        LedgerRow(
            row["number"],
            row["time"],
            row["kind"],
            row["fingerprint"],
            row["data"],
            row["run"],
            json.loads(row["content"]),
            row["hash"],
        )
        for row in found
    ]


def verify(connection: sqlite3.Connection, head_file: Path) -> list[str]:
    """Return a sentence for each thing that is wrong with the chain; none when it is whole."""
    found, seals = [], [GENESIS]
    for row in connection.execute("SELECT * FROM ledger ORDER BY number"):
        while len(seals) < row["number"]:
            found.append(f"Row {len(seals)} of the ledger is missing.")
            seals.append("")
        if seals[-1] and row["previous"] != seals[-1]:
            found.append(f"Row {row['number']} of the ledger does not follow from row {row['number'] - 1}.")
        if row["hash"] != _seal([row[name] for name in _COLUMNS]):
            found.append(f"Row {row['number']} of the ledger was changed: its hash does not match it.")
        seals.append(row["hash"])
    for head in (_stored_head(connection), read_head(head_file)):
        if head is not None and head.count >= len(seals):
            found.append(f"The ledger was cut: it had {head.count} rows, and has {len(seals) - 1}.")
            break
        if head is not None and seals[head.count] not in ("", head.hash):
            found.append(
                f"Row {head.count} of the ledger was replaced: it does not have the hash kept of it."
            )
            break
    return found


def read_head(path: Path) -> Head | None:
    """Return the head that was kept in a file, None where there is none."""
    try:
        count, seal = path.read_text(encoding="ascii").split()
        return Head(int(count), seal)
    except FileNotFoundError:
        return None
    except ValueError:
        raise ValueError(f"{path} does not hold the head of a ledger: put back a copy of it") from None


def _stored_head(connection: sqlite3.Connection) -> Head | None:
    row = connection.execute("SELECT value FROM meta WHERE key = 'ledger head'").fetchone()
    return None if row is None else Head(int(row[0].split()[0]), row[0].split()[1])


def _head(connection: sqlite3.Connection) -> Head:
    row = connection.execute("SELECT number, hash FROM ledger ORDER BY number DESC LIMIT 1").fetchone()
    return Head(0, GENESIS) if row is None else Head(row["number"], row["hash"])


def _seal(body: Sequence[Any]) -> str:
    text = json.dumps(dict(zip(_COLUMNS, body, strict=True)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

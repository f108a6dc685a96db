"""One SQLite file for many processes: opened, migrated, written, and its errors said in one sentence."""

import contextlib
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

APPLICATION = 0x56495053  # "VIPS": tells our file from any other SQLite file
WAIT = 30.0  # seconds that a writer waits for the others

# Statements per schema version: version n is reached from n - 1. Only ever append.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
        """CREATE TABLE data (
            name TEXT PRIMARY KEY, file TEXT NOT NULL, kind TEXT NOT NULL, records INTEGER NOT NULL,
            private INTEGER NOT NULL, fingerprint TEXT NOT NULL, unit TEXT NOT NULL,
            has_test INTEGER NOT NULL, created REAL NOT NULL) STRICT""",
        """CREATE TABLE runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
            request TEXT NOT NULL, model TEXT, data TEXT NOT NULL, fingerprint TEXT, seed INTEGER,
            status TEXT NOT NULL, step INTEGER NOT NULL DEFAULT 0, steps INTEGER NOT NULL,
            intended INTEGER NOT NULL DEFAULT 0, epsilon REAL, error TEXT,
            claimed REAL, launches INTEGER NOT NULL DEFAULT 0, worker TEXT, cancel INTEGER NOT NULL DEFAULT 0,
            created REAL NOT NULL, started REAL, ended REAL, versions TEXT NOT NULL DEFAULT '{}',
            pinned INTEGER NOT NULL DEFAULT 0) STRICT""",
        """CREATE TABLE scores (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, step INTEGER NOT NULL,
            value REAL NOT NULL, PRIMARY KEY (run, step)) STRICT""",
        """CREATE TABLE ledger (
            number INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, fingerprint TEXT NOT NULL,
            data TEXT NOT NULL, run TEXT, content TEXT NOT NULL, previous TEXT NOT NULL,
            hash TEXT NOT NULL) STRICT""",
        "CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE ON ledger "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
        "CREATE TRIGGER ledger_is_not_cut BEFORE DELETE ON ledger "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
        "CREATE INDEX runs_by_status ON runs (status)",
        "CREATE INDEX ledger_by_fingerprint ON ledger (fingerprint)",
    ),
    # ε of compositions that took long to compute; never consulted when a run is checked against a cap.
    ("CREATE TABLE costs (composition TEXT PRIMARY KEY, epsilon REAL NOT NULL) STRICT",),
)


class StoreError(ValueError):
    """The store cannot be read or written; the message is one sentence for people."""


_open: "weakref.WeakSet[Database]" = weakref.WeakSet()
_held = contextlib.ExitStack()


def _before_fork() -> None:
    """Close every connection, and let no thread open another until the fork is over.

    SQLite keeps its locks per process: a child that inherits an open connection believes to hold locks that
    it does not have, even on a connection of its own, and commits get lost.
    """
    for database in list(_open):
        _held.enter_context(database.lock)
        database.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_held.close, after_in_child=_held.close)


class Database:
    """A connection that all threads share; it is made when needed and closed before a fork."""

    def __init__(self, path: Path, *, may_create: bool = True) -> None:
        self.path = path
        self.lock = threading.RLock()
        if not may_create and (not path.exists() or path.stat().st_size == 0):
            raise StoreError(
                f"the store {path} is missing or empty, although it once held a ledger: put back a copy of it"
            )
        self._connection: sqlite3.Connection | None = None
        _open.add(self)
        self._migrate()

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self.path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._connection.close)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
            self._connection.execute("PRAGMA journal_mode = WAL")
        return self._connection

    def close(self) -> None:
        """Wait for a transaction to end, and close the connection; the next use opens another."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _migrate(self) -> None:
        version, application = (
            self.read(f"PRAGMA {name}")[0][0] for name in ("user_version", "application_id")
        )
        tables = self.read("SELECT count(*) FROM sqlite_master")[0][0]
        if application != APPLICATION and (application or tables):
            raise StoreError(f"{self.path} is a database of another program: choose another VIPS_HOME")
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the store {self.path} was made by a newer version of this program (schema {version}, known "
                f"up to {len(MIGRATIONS)})"
            )
        if version == len(MIGRATIONS):
            return
        with self.write() as connection:  # another process may have been faster: look again under the lock
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(
                "INSERT OR IGNORE INTO meta VALUES ('fingerprint key', ?)", [secrets.token_hex(32)]
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction that holds the write lock from its first read to its commit."""
        with self.lock, self.translated():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def read(self, statement: str, values: Any = ()) -> list[sqlite3.Row]:
        """Return the rows of one query."""
        with self.lock, self.translated():
            return self._connected().execute(statement, values).fetchall()

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turn SQLite's errors into one sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "full" in str(error) or "disk I/O" in str(error):
                raise StoreError(
                    f"the disk that holds {self.path} is full or failing ({error}): make room and try again"
                ) from None
            if "locked" in str(error):
                raise StoreError(f"the store {self.path} was busy for {WAIT:g} seconds: try again") from None
            raise StoreError(f"the store {self.path} cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"the store {self.path} is damaged or no store ({error}): nothing was changed, "
                "put back a copy of it"
            ) from None

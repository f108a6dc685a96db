"""One SQLite file for many processes: its schema, its transactions, and its errors in one sentence."""

import contextlib
import functools
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

APPLICATION = 0x56495053  # "VIPS": distinguishes our file from other SQLite files
WAIT = 30.0  # seconds that a writer waits for other writers before it gives up
_LONGEST_REASON = 100  # characters of SQLite's message, which may quote a whole table's definition

VERSION = 1  # of the schema; a store of any other version is refused
SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE data (
        name TEXT PRIMARY KEY, file TEXT NOT NULL, kind TEXT NOT NULL, records INTEGER NOT NULL,
        private INTEGER NOT NULL, fingerprint TEXT NOT NULL, unit TEXT NOT NULL, schema TEXT NOT NULL,
        person_column TEXT, person_namespace TEXT, has_test INTEGER NOT NULL, created REAL NOT NULL
    ) STRICT""",
    # Keyed digests of rows and persons, sorted; kept when the records are removed. Their kind is that of the
    # ledger's row that seals them: one for private records, one for public and held-out records.
    """CREATE TABLE people (
        fingerprint TEXT NOT NULL, kind TEXT NOT NULL, digests BLOB NOT NULL, PRIMARY KEY (fingerprint, kind)
    ) STRICT""",
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
        request TEXT NOT NULL, plan TEXT, model TEXT NOT NULL, data TEXT NOT NULL, fingerprint TEXT,
        seed INTEGER, status TEXT NOT NULL, step INTEGER NOT NULL DEFAULT 0, steps INTEGER NOT NULL,
        epsilon REAL, error TEXT, claimed REAL, launches INTEGER NOT NULL DEFAULT 0, worker TEXT,
        cancel INTEGER NOT NULL DEFAULT 0, created REAL NOT NULL, started REAL, ended REAL,
        versions TEXT NOT NULL, pinned INTEGER NOT NULL DEFAULT 0) STRICT""",
    """CREATE TABLE scores (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, step INTEGER NOT NULL,
        value REAL NOT NULL, PRIMARY KEY (run, step)) STRICT""",
    # No index by fingerprint: a damaged index would hide rows from budgets, but not from the check of hashes.
    """CREATE TABLE ledger (
        number INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, fingerprint TEXT NOT NULL,
        data TEXT NOT NULL, run TEXT, content TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
    ) STRICT""",
    "CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE ON ledger "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER ledger_is_not_cut BEFORE DELETE ON ledger "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE INDEX runs_by_status ON runs (status)",
)


class StoreError(ValueError):
    """The store cannot be read or written; the message is one sentence for the user."""


_open: "weakref.WeakSet[Database]" = weakref.WeakSet()
_held = contextlib.ExitStack()


def _before_fork() -> None:
    """Close every connection, and let no thread open another until the fork is over.

    SQLite keeps its locks per process: a child with an inherited connection believes that it holds locks
    which it does not have, even on a connection of its own, and commits get lost.
    """
    for database in list(_open):
        _held.enter_context(database.lock)
        database.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_held.close, after_in_child=_held.close)


class Database:
    """A connection that all threads share, opened when needed and closed before a fork."""

    def __init__(self, path: Path, *, may_create: bool = True, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        if read_only and not path.exists():
            raise StoreError(f"there is no store {path}, and none can be made in a read-only folder")
        self.lock = threading.RLock()
        if not may_create and (not path.exists() or path.stat().st_size == 0):
            raise StoreError(
                f"the store {path} is missing or empty, although it once held a ledger: restore a backup"
            )
        if not path.exists():
            path.touch(mode=0o600)  # its key would let others test guesses about who is in it
        self._connection: sqlite3.Connection | None = None
        _open.add(self)
        self._make_or_check()

    def connection(self) -> sqlite3.Connection:
        """Return the connection, opened if necessary; for use under `lock`."""
        if self._connection is None:
            self._connection = sqlite3.connect(
                f"{self.path.as_uri()}?{self._mode()}",
                uri=True,
                timeout=WAIT,
                isolation_level=None,
                check_same_thread=False,
            )
            weakref.finalize(self, self._connection.close)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
            if not self.read_only:
                self._connection.execute("PRAGMA journal_mode = WAL")
        return self._connection

    def _mode(self) -> str:
        """Return SQLite's open mode: beside a read-only copy, SQLite cannot write its own files."""
        if not self.read_only:
            return "mode=rwc"
        log = self.path.with_name(f"{self.path.name}-wal")
        return "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"

    def close(self) -> None:
        """Wait for a transaction to end, and close the connection; the next use opens another."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _make_or_check(self) -> None:
        """Make the tables of a new file; refuse a damaged file, and one of another program or version."""
        if not self._has_tables():
            with self.write() as connection:  # another process may have been faster: look again
                if not self._has_tables():
                    for statement in SCHEMA:
                        connection.execute(statement)
                    insert(connection, "meta", {"key": "fingerprint key", "value": secrets.token_hex(32)})
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        ((version,),) = self.read("PRAGMA user_version")
        if version != VERSION:
            raise StoreError(
                f"the store {self.path} was made by another version of this program (schema {version}, this "
                f"one reads {VERSION}): open it with that version, because another VIPS_HOME would not know "
                "what was spent"
            )
        with self.reading() as connection:
            if _columns(connection) != _our_columns():  # the name of a column may be damaged
                raise self._damaged(sqlite3.DatabaseError("its tables have unexpected columns"))

    def _has_tables(self) -> bool:
        """Whether the file is a store rather than empty; a file of another program is refused."""
        ((application,),) = self.read("PRAGMA application_id")
        ((tables,),) = self.read("SELECT count(*) FROM sqlite_master")
        if application != APPLICATION and (application or tables):
            raise StoreError(f"{self.path} is a database of another program: choose another VIPS_HOME")
        return bool(application)

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that holds the write lock from its first read to its commit."""
        if self.read_only:
            raise StoreError(f"the store {self.path} is read-only here: nothing can be changed")
        with self.lock, self.translated(), self.connection() as connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Use the connection for reads; another process may write between two of them."""
        with self.lock, self.translated():
            yield self.connection()

    def snapshot(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """Use the connection for reads of one state: under the write lock, unless the store is read-only."""
        return self.reading() if self.read_only else self.write()

    def read(self, statement: str, values: Any = ()) -> list[sqlite3.Row]:
        """Return the rows of one query."""
        with self.reading() as connection:
            return connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turn SQLite's errors into one sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", None)  # Python's own errors, about bad text, have none
            if code is None:
                raise self._damaged(error) from None
            code &= 0xFF  # the primary code, without its details
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise StoreError(
                    f"the disk that holds {self.path} is full or failing ({error}): free some space "
                    "and try again"
                ) from None
            if code == sqlite3.SQLITE_CANTOPEN and self.read_only:
                raise StoreError(
                    f"the store {self.path} was copied while it was in use, and its last changes cannot be "
                    "read from a read-only folder: open a writable copy of the folder"
                ) from None
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StoreError(f"the store {self.path} was busy for {WAIT:g} seconds: try again") from None
            raise StoreError(f"the store {self.path} cannot be used: {error}") from None
        except sqlite3.Error as error:
            raise self._damaged(error) from None

    def _damaged(self, error: sqlite3.Error) -> StoreError:
        said = " ".join(str(error).partition(" with text ")[0].split())  # the text may be private
        reason = said[:_LONGEST_REASON]
        return StoreError(
            f"the store {self.path} is damaged or is no store ({reason}): nothing was changed, "
            "restore a backup"
        )


@functools.cache
def _our_columns() -> frozenset[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        return _columns(connection)


def _columns(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Return table, name and type of each column."""
    statement = (
        "SELECT tables.name, columns.name, columns.type FROM sqlite_master AS tables, "
        "pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'"
    )
    return frozenset(tuple(row) for row in connection.execute(statement))


def find(connection: sqlite3.Connection, table: str, **key: Any) -> sqlite3.Row | None:
    """Return the row whose columns have these values, None if there is none."""
    statement = f"SELECT * FROM {table} WHERE " + " AND ".join(f"{column} = ?" for column in key)
    found: sqlite3.Row | None = connection.execute(statement, list(key.values())).fetchone()
    return found


def insert(
    connection: sqlite3.Connection, table: str, values: Mapping[str, Any], *, replace: bool = False
) -> None:
    """Add a row of `values` by column in the caller's transaction; `replace` a row with the same key."""
    verb, columns = "INSERT OR REPLACE" if replace else "INSERT", ", ".join(values)
    marks = ", ".join("?" * len(values))
    connection.execute(f"{verb} INTO {table} ({columns}) VALUES ({marks})", list(values.values()))

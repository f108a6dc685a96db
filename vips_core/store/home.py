"""The folder of a store: its database, and the ledger that is the truth about what was released."""

import contextlib
import os
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

import platformdirs

from vips_core.files import make_private_folder
from vips_core.store import declaration, people, temporary
from vips_core.store import ledger_chain as chain
from vips_core.store.database import Database, StoreError
from vips_core.store.ledger_chain import LedgerRow


class Home:
    """A folder with a database, files of data sets and runs, and the end of the ledger in its own file."""

    def __init__(self, home: str | Path | None = None) -> None:
        self.home = Path(
            home or os.environ.get("VIPS_HOME") or platformdirs.user_data_dir("vips-explorer", False)
        ).absolute()
        read_only = self.home.exists() and not _can_be_written(self.home)  # an auditor's copy
        if not read_only:
            for folder in (self.home / "data", self.home / "runs"):
                make_private_folder(folder)
            temporary.remove_abandoned(self.home)
        self._head_file = self.home / "ledger.head"
        head = chain.read_head(self._head_file)
        may_create = head is None or head.count == 0
        self.database = Database(self.home / "store.db", may_create=may_create, read_only=read_only)

    def temporary_folder(self) -> AbstractContextManager[Path]:
        """Return a new private folder for a `with` block; a killed process's goes at the next opening."""
        return temporary.temporary_folder(self.home)

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run's files."""
        return self.home / "runs" / run_id

    def verify(self) -> list[str]:
        """Return a sentence for each edit of the ledger, or of a table against it; none when all is whole."""
        with self.database.snapshot() as connection:
            return self._problems(connection)

    def _problems(self, connection: sqlite3.Connection) -> list[str]:
        return self._ledger_problems(connection) or people.problems(connection)

    def _ledger_problems(self, connection: sqlite3.Connection) -> list[str]:
        problems = chain.verify(connection, self._head_file)
        return problems or [*declaration.differences(connection), *declaration.run_differences(connection)]

    def require_whole(self, refused: str) -> None:
        """Refuse something, named as in "no report may be written", while the ledger is not whole."""
        with self.database.snapshot() as connection:
            self._check_whole(connection, refused)

    def _check_whole(self, connection: sqlite3.Connection, refused: str) -> None:
        """Refuse something while the ledger is not whole, so that nothing is built on what was edited."""
        problems = self._problems(connection)
        if problems:
            raise chain.not_whole(problems, refused)

    def notes(self) -> list[str]:
        """Return a sentence for each data set whose people cannot be found in other ones."""
        with self.database.snapshot() as connection:
            private, public = people.without_digests(connection), people.public_without_digests(connection)
        return [
            f"The {protection}data set {name} was registered by an older version, without digests of its "
            "rows: register its file again, so that the same people are found elsewhere."
            for protection, names in (("", private), ("public ", public))
            for name in names
        ]

    def keep_head(self) -> None:
        """Write down how the ledger ends, outside the database.

        What was committed stays committed where this fails: the file then lags until the next time.
        """
        with contextlib.suppress(OSError, StoreError):
            chain.keep_head(self.database, self._head_file)

    def sign(self) -> None:
        """Sign the ledger's head with the key of `VIPS_LEDGER_KEY`, where everything else is whole."""
        if chain.signing_key() is None:
            raise ValueError(f"signing needs a key: {chain.KEY} must be hexadecimal digits or a file")
        with self.database.write() as connection:
            problems = chain.verify(connection, self._head_file, signed=False)
            if problems:
                raise ValueError(f"what is not whole is not signed: {problems[0]}")
            chain.sign(connection)
        chain.keep_head(self.database, self._head_file)

    def _rows(self, connection: sqlite3.Connection, fingerprint: str) -> list[LedgerRow]:
        """Return the ledger of some records and all that share their budget, in the caller's transaction."""
        return people.pool_rows(connection, [fingerprint])


def _can_be_written(folder: Path) -> bool:
    file = folder / "store.db"
    return os.access(folder, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))

"""The folder of a store: its database, the ledger that is the truth about releases, and temporary folders.

A temporary folder holds records on their way into the store. A file beside it stays locked by the process
that uses it; the system frees the lock when that process ends, however it ends, and the next process that
opens the store removes folders without a locked file.
"""

import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from vips_core.files import make_private_folder
from vips_core.store import declaration, people
from vips_core.store import ledger_chain as chain
from vips_core.store.database import Database, StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_TEMPORARY = "tmp"  # folder within the store
_LOCK = ".lock"


class Home:
    """A folder with a database, files of data sets and runs, and the ledger's head in its own file."""

    def __init__(self, home: str | Path | None = None) -> None:
        self.home = Path(
            home or os.environ.get("VIPS_HOME") or platformdirs.user_data_dir("vips-explorer", False)
        ).absolute()
        read_only = self.home.exists() and not _can_be_written(self.home)  # an auditor's copy
        if not read_only:
            for folder in (self.home / "data", self.home / "runs"):
                make_private_folder(folder)
            _remove_abandoned(self.home)
        self._head_file = self.home / "ledger.head"
        may_create = chain.read_head(self._head_file).count == 0
        self.database = Database(self.home / "store.db", may_create=may_create, read_only=read_only)

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Return a new private folder for a `with` block, removed at its end."""
        place = self.home / _TEMPORARY
        make_private_folder(place)
        lock, descriptor = _locked_file(place)
        folder = lock.with_suffix("")
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)
            lock.unlink(missing_ok=True)

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run's files."""
        return self.home / "runs" / run_id

    def verify(self) -> list[str]:
        """Return a sentence for each edit of the ledger, or of a table that it covers."""
        with self.database.snapshot() as connection:
            return self._problems(connection)

    def _problems(self, connection: sqlite3.Connection, *, of_people: bool = True) -> list[str]:
        """Return the sentences of `verify`; without `of_people`, skip the slowest part, digests of people."""
        return (
            chain.verify(connection, self._head_file)
            or [*declaration.differences(connection), *declaration.run_differences(connection)]
            or (people.problems(connection) if of_people else [])
        )

    def require_intact(self, refused: str) -> None:
        """Refuse an action, named as in "no report may be written", while the ledger is not intact."""
        with self.database.snapshot() as connection:
            self._check_intact(connection, refused)

    def _check_intact(self, connection: sqlite3.Connection, refused: str, *, of_people: bool = True) -> None:
        """Refuse an action while the ledger is not intact, so that nothing is built on an edit."""
        if problems := self._problems(connection, of_people=of_people):
            raise chain.not_intact(problems, refused)

    def notes(self) -> list[str]:
        """Return a sentence for each public data set whose people cannot be found in private ones."""
        with self.database.reading() as connection:
            names = people.public_without_digests(connection)
        return [
            f"The public data set {name} was registered without its source rows: register its file again, so "
            "that the same people are found in private data sets."
            for name in names
        ]

    def keep_head(self) -> None:
        """Write the head of the ledger to a file outside the database.

        If this fails, what was committed stays committed, and the file lags behind until the next write.
        """
        with contextlib.suppress(OSError, StoreError):
            chain.keep_head(self.database, self._head_file)

    def sign(self) -> None:
        """Sign the ledger's head with the key of `VIPS_LEDGER_KEY`, if the ledger is intact."""
        if chain.signing_key() is None:
            raise ValueError(f"signing needs a key: {chain.KEY} must be hexadecimal digits or a file")
        with self.database.write() as connection:
            problems = chain.verify(connection, self._head_file, signed=False)
            if problems:
                raise ValueError(f"the ledger cannot be signed while it is not intact: {problems[0]}")
            chain.sign(connection)
        chain.keep_head(self.database, self._head_file)


def _can_be_written(folder: Path) -> bool:
    file = folder / "store.db"
    return os.access(folder, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))


def _remove_abandoned(home: Path) -> None:
    """Remove the temporary folders of processes that have ended."""
    with contextlib.suppress(OSError):  # no such folder, or no permission: the next opening tries again
        for name in {path.stem for path in (home / _TEMPORARY).iterdir()}:
            _remove_if_abandoned(home / _TEMPORARY / name)


def _locked_file(place: Path) -> tuple[Path, int]:
    """Return a new file and the descriptor that locks it; tries again if `_remove_abandoned` was faster."""
    while True:
        descriptor, name = tempfile.mkstemp(_LOCK, dir=place)
        path = Path(name)
        if try_lock(descriptor) and path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
            return path, descriptor
        os.close(descriptor)


def _remove_if_abandoned(folder: Path) -> None:
    lock = folder.with_suffix(_LOCK)
    try:
        with lock.open("r+b") as file:
            if try_lock(file.fileno()):
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)
    except FileNotFoundError:  # removed while this process looked, or by a process that was killed then
        shutil.rmtree(folder, ignore_errors=True)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock a file until it is closed, or return False if another process has locked it.

    On POSIX, several processes may hold a `shared` lock at once.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # Windows raises the second
        return False
    return True

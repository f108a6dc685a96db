"""The data sets of a store: records under names, their caps, and what is left of their budgets."""

import contextlib
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vips_core.data import Sharded, check_alike
from vips_core.readers import BUILT_IN, DataSet, built_in
from vips_core.store import budget, declaration, people, pools, records_file
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Budget, Cap
from vips_core.store.database import StoreError, insert
from vips_core.store.home import Home
from vips_core.store.ledger_chain import LedgerRow
from vips_core.store.people import Sources
from vips_core.store.rows import QUEUED, RUNNING, DataRow
from vips_core.tasks import TASKS, task_of

_REFUSED = "no data set may be registered, and no cap changed,"
_FILES = "SELECT file FROM data"
_NAME = re.compile(r"\w[\w .-]{0,63}")


class DataSets(Home):
    """Records under names, public or with a cap on what all runs on them together may cost."""

    def __init__(self, home: str | Path | None = None) -> None:
        super().__init__(home)
        if not self.database.read_only and self._left_over(self.database.read(_FILES)):
            with contextlib.suppress(StoreError), self.database.write() as connection:
                if not self._problems(connection):  # else a table may have lost what the file is of
                    self._remove_left_over(connection)

    def add_data(
        self,
        name: str,
        train: Any,
        test: Any = None,
        *,
        private: bool = True,
        cap: Cap | None = None,
        unit: str,
        person_column: str | None = None,
        by: str | None = None,
        reason: str = "",
        sources: Sources | None = None,
        separate: str = "",
    ) -> DataRow:
        """Register records under a name; the same ones again renew what is public about them.

        Records that are known under another name share its budget, and a cap must agree with theirs. So do
        records that share a row of their source or a person with a private data set.

        Parameters
        ----------
        name
            What to call them: letters, digits, spaces, dots, dashes and underscores.
        train, test
            Records of one type; those held out are public, and may be left out.
        private
            Whether the training records need protection; it cannot be changed later.
        cap
            The ε and δ that all runs on private records together may cost.
        unit
            What one record is of, e.g. "one patient".
        person_column
            Column that names each row's person, None where each row is a record of its own.
        by, reason
            Who registers them, by default the user of this process, and why; both go into the ledger.
        sources
            What identifies their people before anything was chosen or scaled, to find them elsewhere.
        separate
            Why rows that occur in other data sets are of other people; it goes into the ledger and reports.

        Returns
        -------
        DataRow
            What is now known of them.
        """
        task, signature = task_of(train), declaration.author(by, reason)
        declaration.check_delta(cap, len(train), reason)
        if _checked_name(name) in BUILT_IN:
            raise ValueError(f"{name} is the name of a data set that comes with the project: choose another")
        if test is not None:
            check_alike(train, test)
        mark = records_file.fingerprint(train, self._key())
        digests, test_digests = (sources or Sources()).digests(self._key())
        file = self.home / "data" / f"{secrets.token_hex(8)}.npz"
        drafts = contextlib.ExitStack()
        try:
            draft = drafts.enter_context(self.temporary_folder()) / file.name
            records_file.write(draft, train, test)
            with self.database.write() as connection:
                self._check_whole(connection, _REFUSED)
                self._remove_left_over(connection)
                draft.replace(file)  # within the transaction: a file that it does not know is left over
                if separate.strip():
                    both = (digests, test_digests)
                    pools.keep_apart(connection, mark, name, both, separate, signature)
                    shared = {}
                else:
                    shared = pools.admit(connection, mark, private, digests, test_digests)
                pools.check_declared(connection, name, [mark, *shared], private, cap, person_column)
                old = connection.execute("SELECT file FROM data WHERE name = ?", [name]).fetchone()
                declared = {
                    "private": private,
                    "records": len(train),
                    "unit": unit,
                    "schema": declaration.schema_fingerprint(train),
                    "person_column": person_column,
                }
                values = declared | {
                    "name": name,
                    "file": file.name,
                    "kind": task.name,
                    "fingerprint": mark,
                    "has_test": test is not None,
                    "created": time.time(),
                }
                insert(connection, "data", values, replace=True)
                declaration.append(connection, mark, name, declared, signature)
                people.keep(connection, mark, name, digests, people.PRIVATE if private else people.PUBLIC)
                people.keep(connection, mark, name, test_digests, people.PUBLIC)
                pools.link(connection, mark, name, shared, signature)
                if cap is not None and budget.cap_of(self._rows(connection, mark)) is None:
                    declaration.append_cap(connection, mark, name, cap, signature)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        finally:
            drafts.close()
        self.keep_head()
        if old is not None:
            (self.home / "data" / old["file"]).unlink(missing_ok=True)
        return self.data_row(name)

    def known_cap(self, train: Any) -> Cap | None:
        """Return the cap that these records have under whatever name, None where they are not known."""
        with self.database.snapshot() as connection:
            return budget.cap_of(self._rows(connection, records_file.fingerprint(train, self._key())))

    def data_sets(self) -> list[DataRow]:
        """Return all data sets, those that come with the project first."""
        names = [row["name"] for row in self.database.read("SELECT name FROM data ORDER BY created")]
        return [self.data_row(name) for name in [*BUILT_IN, *names]]

    def data_row(self, name: str) -> DataRow:
        """Return one data set; `ValueError` where there is none of this name."""
        if name in BUILT_IN:
            sample = BUILT_IN[name]
            task = next(task for task in TASKS.values() if task.data_type is sample.data_type)
            return DataRow(name, task.name, sample.records, False, None, "", task.unit, True, None)
        row = self._data(name)
        cap = budget.cap_of(self.ledger(name)) if row["private"] else None
        fields = {field: row[field] for field in DataRow.__dataclass_fields__ if field != "cap"}
        truths = {field: bool(row[field]) for field in ("private", "has_test")}
        return DataRow(**fields | truths, cap=cap)

    def load(self, name: str) -> DataSet:
        """Return the records of a data set.

        Parameters
        ----------
        name
            Of a data set that comes with the project or was registered.

        Returns
        -------
        DataSet
            Its records; `ValueError` where there is none, or its file is not what was registered.
        """
        if name in BUILT_IN:
            return built_in(name)
        row = self._data(name)
        file = self.home / "data" / row["file"]
        train, test = records_file.read(file, TASKS[row["kind"]].data_type)
        sharded = isinstance(train, Sharded)  # its files are compared with their digests when they are read
        if not sharded and records_file.fingerprint(train, self._key()) != row["fingerprint"]:
            raise ValueError(f"the file of this data set, {file}, holds other records than were registered")
        if len(train) != row["records"]:
            raise ValueError(f"the file of this data set, {file}, has another number of records")
        return DataSet(name, train, test, bool(row["private"]))

    def set_cap(self, name: str, cap: Cap, *, by: str | None = None, reason: str = "") -> None:
        """Change the cap of a private data set; the ledger keeps that it was changed.

        Parameters
        ----------
        name
            Of a private data set; all that share its records share the cap.
        cap
            What everything released from it may cost from now on, what was released before included.
        by, reason
            Who changes it, by default the user of this process, and why; both go into the ledger.
        """
        row, signature = self.data_row(name), declaration.author(by, reason)
        if not row.private:
            raise ValueError(f"{name} is public and has no budget")
        declaration.check_delta(cap, row.records, reason)
        with self.database.write() as connection:
            self._check_whole(connection, _REFUSED)
            declaration.append_cap(connection, row.fingerprint, name, cap, signature)
        self.keep_head()

    def remove_data(self, name: str) -> None:
        """Forget the records of a data set; its ledger stays, and waits for the same records."""
        row = self._data(name)
        with self.database.write() as connection:
            self._remove_left_over(connection)
            using = "SELECT id FROM runs WHERE data = ? AND status IN (?, ?)"
            run = connection.execute(using, [name, QUEUED, RUNNING]).fetchone()
            if run is not None:
                raise ValueError(f"run {run['id']} uses {name}: cancel it first")
            connection.execute("DELETE FROM data WHERE name = ?", [name])
        (self.home / "data" / row["file"]).unlink(missing_ok=True)

    def _remove_left_over(self, connection: sqlite3.Connection) -> None:
        """Remove files that killed registrations and removals left, before a transaction changes anything."""
        for path in self._left_over(connection.execute(_FILES)):
            with contextlib.suppress(OSError):  # another time, then
                path.unlink()

    def _left_over(self, rows: Iterable[sqlite3.Row]) -> list[Path]:
        return records_file.left_over(self.home / "data", {row["file"] for row in rows})

    def budget(self, name: str) -> Budget:
        """Return what a data set's records have cost under any name, and what is left.

        Parameters
        ----------
        name
            Of a data set; a public one has no cap, and costs nothing.

        Returns
        -------
        Budget
            Spent, reserved and left, from the ledger alone.
        """
        return budget.state(self.ledger(name) if self.data_row(name).private else [])

    def ledger(self, data: str | None = None) -> list[LedgerRow]:
        """Return the rows of the ledger, all or those of a data set's records under any name."""
        if data is None:
            return chain.rows(self.database.read("SELECT * FROM ledger ORDER BY number"))
        mark = self._data(data)["fingerprint"]
        with self.database.lock, self.database.translated():
            return self._rows(self.database.connection(), mark)

    def overlap_sentences(self, name: str) -> list[str]:
        """Say with which data sets this one shares its budget, and why: for the steward alone."""
        row = self.data_row(name)
        if not row.private:
            return []
        statement = "SELECT name FROM data WHERE fingerprint = ? AND name != ? ORDER BY created"
        same = [
            f"{name} holds the same records as {other['name']}: they share one cap and one spend."
            for other in self.database.read(statement, [row.fingerprint, name])
        ]
        return same + pools.overlap_sentences(self.ledger(name))

    def separations(self, name: str) -> list[str]:
        """Say which data sets this one was separated from although they share rows, by whom and why."""
        return [] if name in BUILT_IN else pools.separations(self.ledger(name))

    def _data(self, name: str) -> sqlite3.Row:
        rows = self.database.read("SELECT * FROM data WHERE name = ?", [name])
        if not rows:
            raise ValueError(f"there is no data set {name!r}")
        return rows[0]

    def _key(self) -> str:
        return str(self.database.read("SELECT value FROM meta WHERE key = 'fingerprint key'")[0]["value"])


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            "the name of a data set must be 1 to 64 letters, digits, spaces, dots, dashes or underscores, "
            f"and start with a letter or digit, got {name!r}"
        )
    return name

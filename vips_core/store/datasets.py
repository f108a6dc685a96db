"""The data sets of a store: records under names, their caps, and what is left of their budgets."""

import contextlib
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vips_core.records import KINDS, DataSet, Sharded, check_alike
from vips_core.records.samples import SAMPLES, load_sample
from vips_core.store import budget, caps, declaration, people, pools, records_file
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Budget, Cap
from vips_core.store.database import StoreError, insert
from vips_core.store.home import Home
from vips_core.store.ledger_chain import LedgerRow
from vips_core.store.people import Sources
from vips_core.store.pools import Newcomer
from vips_core.store.rows import QUEUED, RUNNING, DataRow, data_row

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
        share_budget: bool = False,
        separate: str = "",
    ) -> DataRow:
        """Register records under a name; the same ones again renew what is public about them.

        Records that are known under another name share its budget, and a cap must agree with theirs. Those
        that share a row of their source or a person with private data sets raise `KnownPeople` until it is
        said whether they share a budget, too, or are other people.

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
        share_budget
            Whether they join the budgets of data sets that hold some of their people.
        separate
            Why rows that occur in other data sets are of other people; it goes into the ledger and reports.

        Returns
        -------
        DataRow
            What is now known of them.
        """
        signature = declaration.author(by, reason)
        declaration.check_delta(cap, len(train), reason)
        if _checked_name(name) in SAMPLES:
            raise ValueError(f"{name} is the name of a data set that comes with the project: choose another")
        if test is not None:
            check_alike(train, test)
        sources = sources or Sources()
        if sources.person_namespace is not None and person_column is None:
            raise ValueError("a person_namespace needs a column that names the person")
        mark = records_file.fingerprint(train, self._key())
        digests, test_digests = sources.digests(self._key())
        new = Newcomer(
            mark,
            name,
            private,
            cap,
            person_column,
            digests,
            test_digests,
            share_budget,
            declaration.author(by, separate)["reason"],
            signature,
        )
        file = self.home / "data" / f"{secrets.token_hex(8)}.npz"
        drafts = contextlib.ExitStack()
        try:
            draft = drafts.enter_context(self.temporary_folder()) / file.name
            records_file.write(draft, train, test)
            with self.database.write() as connection:
                self._check_whole(connection, _REFUSED)
                self._remove_left_over(connection)
                draft.replace(file)  # within the transaction: a file that it does not know is left over
                joining = pools.admit(connection, new)
                old = connection.execute("SELECT file FROM data WHERE name = ?", [name]).fetchone()
                declared = {
                    "private": private,
                    "records": len(train),
                    "unit": unit,
                    "schema": declaration.schema_fingerprint(train),
                    "person_column": person_column,
                    "person_namespace": sources.person_namespace,
                }
                values = declared | {
                    "name": name,
                    "file": file.name,
                    "kind": train.kind,
                    "fingerprint": mark,
                    "has_test": test is not None,
                    "created": time.time(),
                }
                insert(connection, "data", values, replace=True)
                declaration.append(connection, mark, name, declared, signature)
                people.keep(connection, mark, name, digests, people.PRIVATE if private else people.PUBLIC)
                people.keep(connection, mark, name, test_digests, people.PUBLIC)
                pools.link(connection, new, joining)
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

    def known(self, train: Any) -> tuple[Cap | None, Mapping[str, Any]]:
        """Return the cap of these records under whatever name, and what was last declared of them."""
        mark = records_file.fingerprint(train, self._key())
        with self.database.snapshot() as connection:
            rows = self._rows(connection, mark)
        declared = [row.content for row in rows if row.kind == "data" and row.fingerprint == mark]
        return budget.cap_of(rows), declared[-1] if declared else {}

    def data_sets(self) -> list[DataRow]:
        """Return all data sets, those that come with the project first."""
        names = [row["name"] for row in self.database.read("SELECT name FROM data ORDER BY created")]
        return [self.data_row(name) for name in [*SAMPLES, *names]]

    def data_row(self, name: str) -> DataRow:
        """Return one data set; `ValueError` where there is none of this name."""
        if name in SAMPLES:
            sample = SAMPLES[name]
            unit = KINDS[sample.kind].unit()
            return DataRow(name, sample.kind, sample.records, False, None, "", unit, True, None)
        row = self._data(name)
        return data_row(row, budget.cap_of(self.ledger(name)) if row["private"] else None)

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
        if name in SAMPLES:
            return load_sample(name)
        row = self._data(name)
        file = self.home / "data" / row["file"]
        train, test = records_file.read(file, KINDS[row["kind"]].records_type)
        sharded = isinstance(train, Sharded)  # its files are compared with their digests when they are read
        if not sharded and records_file.fingerprint(train, self._key()) != row["fingerprint"]:
            raise ValueError(f"the file of this data set, {file}, holds other records than were registered")
        if len(train) != row["records"]:
            raise ValueError(f"the file of this data set, {file}, has another number of records")
        return DataSet(name, train, test, bool(row["private"]))

    def set_cap(self, name: str, cap: Cap, *, by: str | None = None, reason: str = "") -> None:
        """Change the cap of a private data set; the ledger keeps that it was changed.

        A larger cap, and any after a run, needs both a name and a reason.

        Parameters
        ----------
        name
            Of a private data set; all that share its records share the cap.
        cap
            What everything released from it may cost from now on, what was released before included.
        by, reason
            Who changes it and why; both go into the ledger. The user of this process stands for a name that
            is not needed.
        """
        row, signature = self.data_row(name), declaration.author(by, reason)
        if not row.private:
            raise ValueError(f"{name} is public and has no budget")
        declaration.check_delta(cap, row.records, reason)
        with self.database.write() as connection:
            self._check_whole(connection, _REFUSED)
            caps.check_change(self._rows(connection, row.fingerprint), cap, by, reason)
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
        row = self.data_row(name)
        with self.database.snapshot() as connection:
            problems = self._ledger_problems(connection)
            if problems:  # rows that are gone would give budget back, and so would a table that says public
                raise chain.not_whole(problems)
            return budget.state(self._rows(connection, row.fingerprint) if row.private else [])

    def ledger(self, data: str | None = None) -> list[LedgerRow]:
        """Return the rows of the ledger: all, or those that the budget of a data set's records rests on."""
        if data is None:
            return chain.rows(self.database.read("SELECT * FROM ledger ORDER BY number"))
        mark = self._data(data)["fingerprint"]
        with self.database.lock, self.database.translated():
            return self._rows(self.database.connection(), mark)

    def _data(self, name: str) -> sqlite3.Row:
        rows = self.database.read("SELECT * FROM data WHERE name = ?", [name])
        if not rows:
            raise ValueError(f"there is no data set {name!r}")
        return rows[0]

    def _key(self) -> str:
        with self.database.lock, self.database.translated():
            return declaration.fingerprint_key(self.database.connection())


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            "the name of a data set must be 1 to 64 letters, digits, spaces, dots, dashes or underscores, "
            f"and start with a letter or digit, got {name!r}"
        )
    return name

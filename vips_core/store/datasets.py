"""The data sets of a store: records under names, their caps, and what is left of their budgets."""

import contextlib
import re
import secrets
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from vips_core.records import KINDS, DataSet, Sharded, check_alike
from vips_core.records.samples import SAMPLES, load_sample
from vips_core.store import budget, declaration, people, pools, records_file
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Budget, Cap
from vips_core.store.database import StoreError, find, insert
from vips_core.store.home import Home
from vips_core.store.people import Sources
from vips_core.store.pools import Newcomer
from vips_core.store.rows import QUEUED, RUNNING, DataRow, data_row

_REFUSED = "no data set may be registered, and no cap changed,"
_NAME = re.compile(r"\w[\w .-]{0,63}")


class DataSets(Home):
    """Records under names, public or with a cap on the total cost of all runs on them."""

    def __init__(self, home: str | Path | None = None) -> None:
        super().__init__(home)
        self._files = self.home / "data"
        self._fingerprints: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # of immutable records
        self._loaded: WeakValueDictionary[tuple[Any, ...], DataSet] = WeakValueDictionary()  # in use
        if not self.database.read_only and self._left_over():
            with contextlib.suppress(StoreError), self.database.write() as connection:
                if not self._problems(connection):  # otherwise a table may have lost a file's row
                    self._remove_left_over()

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
        """Register records under a name; registering them again updates their declaration.

        Records already registered under another name share its budget, and a new cap must equal theirs.
        Records that share a source row or a person with private data sets raise `KnownPeople`, until the
        caller decides whether they share the budget or are different people.

        Parameters
        ----------
        name
            At most 64 letters, digits, spaces, dots, dashes and underscores.
        train, test
            Records of one kind; held-out ones are public and may be left out.
        private
            Whether the training records need protection; it cannot be changed later.
        cap
            The total ε and δ that all runs on private records may cost.
        unit
            What one record stands for, e.g. "one patient".
        person_column
            Column that names each row's person, None if each row is a record of its own.
        by, reason
            Who registers them, by default the user of this process, and why; both go into the ledger.
        sources
            What identifies their people in the source file, to find them in other data sets.
        share_budget
            Whether they join the budgets of data sets that hold some of their people.
        separate
            Why rows that occur in other data sets belong to different people; ledger and reports show it.

        Returns
        -------
        DataRow
            The registered data set.
        """
        signature = declaration.author(by, reason)
        declaration.check_delta(cap, len(train), reason)
        if not _NAME.fullmatch(name):
            raise ValueError(
                "the name of a data set must be 1 to 64 letters, digits, spaces, dots, dashes or "
                f"underscores, and start with a letter or digit, got {name!r}"
            )
        if name in SAMPLES:
            raise ValueError(f"{name} is the name of a data set that comes with the project: choose another")
        if test is not None:
            check_alike(train, test)
        sources = sources or Sources()
        if sources.person_namespace is not None and person_column is None:
            raise ValueError("a person_namespace needs a column that names the person")
        mark = self.fingerprint(train)
        declared = {
            "private": private,
            "records": len(train),
            "unit": unit,
            "schema": declaration.schema_fingerprint(train),
            "person_column": person_column,
            "person_namespace": sources.person_namespace,
        }
        why = declaration.author(by, separate)["reason"]
        digests = sources.digests(self._key())
        new = Newcomer(mark, name, declared, cap, *digests, share_budget, why, signature)
        file = self._files / f"{secrets.token_hex(8)}.npz"
        values = declared | {
            "name": name,
            "file": file.name,
            "kind": train.kind,
            "fingerprint": mark,
            "has_test": test is not None,
            "created": time.time(),
        }
        try:
            with self.temporary_folder() as folder:
                draft = folder / file.name
                records_file.write(draft, train, test)
                with self.database.write() as connection:
                    self._check_intact(connection, _REFUSED)
                    self._remove_left_over()
                    draft.replace(file)  # within the transaction: other files without a row are left over
                    pools.admit(connection, new)
                    old = find(connection, "data", name=name)
                    insert(connection, "data", values, replace=True)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        self.keep_head()
        if old is not None:
            (self._files / old["file"]).unlink(missing_ok=True)
        return self.data_row(name)

    def known(self, train: Any) -> tuple[Cap | None, Mapping[str, Any]]:
        """Return the cap of records under any name, and their last declaration."""
        mark = self.fingerprint(train)
        rows = self._pool_rows(mark)
        declared = [row.content for row in rows if row.kind == "data" and row.fingerprint == mark]
        return budget.cap_of(rows), declared[-1] if declared else {}

    def data_sets(self) -> list[DataRow]:
        """Return all data sets, those that come with the project first."""
        names = [row["name"] for row in self.database.read("SELECT name FROM data ORDER BY created")]
        return [self.data_row(name) for name in [*SAMPLES, *names]]

    def data_row(self, name: str) -> DataRow:
        """Return one data set; `ValueError` if none has this name."""
        if name in SAMPLES:
            sample = SAMPLES[name]
            unit = KINDS[sample.kind].unit()
            return DataRow(name, sample.kind, sample.records, private=False, unit=unit, has_test=True)
        row = self._data(name)
        return data_row(row, budget.cap_of(self._pool_rows(row["fingerprint"])) if row["private"] else None)

    def load(self, name: str) -> DataSet:
        """Return the records of a data set.

        Parameters
        ----------
        name
            Name of a data set that was registered or comes with the project.

        Returns
        -------
        DataSet
            The records; `ValueError` if the name is unknown, or the file does not hold what was registered.
        """
        if name in SAMPLES:
            return load_sample(name)
        row = self._data(name)
        known = self._loaded.get(tuple(row))
        if known is not None:
            return known
        file = self._files / row["file"]
        train, test = records_file.read(file, KINDS[row["kind"]].records_type)
        # Files of shards are compared with their digests when they are read.
        if train.in_memory and self.fingerprint(train) != row["fingerprint"]:
            raise ValueError(
                f"the file of this data set, {file}, does not hold the records that were registered"
            )
        if len(train) != row["records"]:
            raise ValueError(f"the file of this data set, {file}, has a different number of records")
        loaded = DataSet(name, train, test, bool(row["private"]), row["fingerprint"])
        self._loaded[tuple(row)] = loaded
        return loaded

    def fingerprint(self, records: Any) -> str:
        """Return the fingerprint of records, computed once while they are in memory."""
        if records not in self._fingerprints:
            self._fingerprints[records] = records_file.fingerprint(records, self._key())
        return self._fingerprints[records]

    def set_cap(self, name: str, cap: Cap, *, by: str | None = None, reason: str = "") -> None:
        """Change the cap of a private data set, and record the change in the ledger.

        A larger cap, and any after a run, needs both a name and a reason.

        Parameters
        ----------
        name
            Name of a private data set; all data sets that share its budget share the cap.
        cap
            The new limit on all releases, including those made before.
        by, reason
            Who changes it and why, for the ledger. Where no name is needed, the default is the user of
            this process.
        """
        row, signature = self.data_row(name), declaration.author(by, reason)
        if not row.private:
            raise ValueError(f"{name} is public and has no budget")
        declaration.check_delta(cap, row.records, reason)
        with self.database.write() as connection:
            self._check_intact(connection, _REFUSED)
            budget.check_cap_change(people.pool_rows(connection, row.fingerprint), cap, by, reason)
            declaration.append_cap(connection, row.fingerprint, name, cap, signature)
        self.keep_head()

    def remove_data(self, name: str) -> None:
        """Delete the records of a data set; its ledger stays and still counts for the same records."""
        row = self._data(name)
        with self.database.write() as connection:
            self._remove_left_over()
            using = "SELECT id FROM runs WHERE data = ? AND status IN (?, ?)"
            run = connection.execute(using, [name, QUEUED, RUNNING]).fetchone()
            if run is not None:
                raise ValueError(f"run {run['id']} uses {name}: cancel it first")
            connection.execute("DELETE FROM data WHERE name = ?", [name])
        (self._files / row["file"]).unlink(missing_ok=True)

    def _remove_left_over(self) -> None:
        """Remove files of killed registrations and removals, before a transaction changes anything."""
        for path in self._left_over():
            with contextlib.suppress(OSError):  # the next opening tries again
                path.unlink()

    def _left_over(self) -> list[Path]:
        """Return the files that no data set uses: of killed registrations, or of one that is committing."""
        used = {row["file"] for row in self.database.read("SELECT file FROM data")}
        return [path for path in self._files.glob("*.npz") if path.name not in used]

    def budget(self, name: str) -> Budget:
        """Return what a data set's records have cost under any name, and what is left of their cap.

        Parameters
        ----------
        name
            Name of a data set; a public one has no cap, and its runs cost nothing.

        Returns
        -------
        Budget
            Spent, reserved and left, from the ledger alone.
        """
        row = self.data_row(name)
        with self.database.snapshot() as connection:
            # Missing rows would give budget back, and so would a table edited to say public.
            self._check_intact(connection, chain.NO_BUDGET, of_people=False)
            return budget.state(people.pool_rows(connection, row.fingerprint) if row.private else [])

    def ledger(self, data: str | None = None) -> list[chain.LedgerRow]:
        """Return the rows of the ledger: all, or those that determine a data set's budget."""
        if data is not None:
            return self._pool_rows(self._data(data)["fingerprint"])
        with self.database.reading() as connection:
            return chain.rows(connection)

    def write_people(self, data: Sharded, sources: Sources) -> None:
        """Write digests of the people in shards beside them; only this store can compare them."""
        people.write_beside(data, sources, self._key())

    def people_beside(self, data: Sharded) -> Sources:
        """Return what `write_people` of this store wrote beside shards; `ValueError` if nothing."""
        return people.read_beside(data, self._key())

    def overlap_sentences(self, name: str) -> list[str]:
        """Say which data sets share this one's budget, and why; for the steward alone."""
        row = self.data_row(name)
        if not row.private:
            return []
        statement = "SELECT name FROM data WHERE fingerprint = ? AND name != ? ORDER BY created"
        same = [
            f"{name} holds the same records as {other['name']}: they share one budget."
            for other in self.database.read(statement, [row.fingerprint, name])
        ]
        return same + pools.overlap_sentences(self.ledger(name))

    def linked(self, name: str) -> list[str]:
        """Return the last names of the data sets that were linked to this one because they share people.

        Parameters
        ----------
        name
            Name of a private data set; a public one shares no budget.

        Returns
        -------
        list of str
            Names for `separate_data`.
        """
        row = self.data_row(name)
        with self.database.reading() as connection:
            pairs = [pair for pair, link in people.ties(connection).items() if link is not None]
            others = [pair - {row.fingerprint} for pair in pairs if row.fingerprint in pair]
            return sorted(people.names(connection, other) for other in others)

    def separate_data(self, name: str, others: Sequence[str], *, by: str, reason: str) -> None:
        """Give a data set its own budget again, because it shares no people with other data sets after all.

        This is possible until a run is counted for both. Each gets back the cap that it had before, unless
        the shared cap was changed since.

        Parameters
        ----------
        name
            Name of a private data set.
        others
            Names, or last names, of the data sets with which it shares its budget by mistake.
        by, reason
            Who decides it and why; both go into the ledger and into reports.
        """
        signature = declaration.author(by, reason)
        if not signature["by"] or not signature["reason"]:
            raise ValueError("separating data sets needs a name and a reason: say who decides it, and why")
        mark = self._data(name)["fingerprint"]
        with self.database.write() as connection:
            self._check_intact(connection, "no data sets may be separated")
            rows = people.pool_rows(connection, mark)
            apart = set[str]()
            for other in others:
                known = {row.fingerprint for row in rows if row.kind == "data" and row.data == other}
                if not known:
                    raise ValueError(f"{name} does not share its budget with {other!r}")
                if mark in known:
                    raise ValueError(f"{other} holds the same records as {name}: they share one budget")
                apart |= known
            called, author = ", ".join(others), {"by": signature["by"]}
            pools.separate(connection, mark, name, apart, called, signature["reason"], author)
        self.keep_head()

    def _data(self, name: str) -> sqlite3.Row:
        with self.database.reading() as connection:
            row = find(connection, "data", name=name)
        if row is None:
            raise ValueError(f"there is no data set {name!r}")
        return row

    def _pool_rows(self, fingerprint: str) -> list[chain.LedgerRow]:
        with self.database.reading() as connection:
            return people.pool_rows(connection, fingerprint)

    def _key(self) -> str:
        with self.database.reading() as connection:
            return declaration.fingerprint_key(connection)

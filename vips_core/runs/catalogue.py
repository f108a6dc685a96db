"""The data sets of a store, their budgets, and the ledger that is the truth about both."""

import contextlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import platformdirs

from vips_core.privacy.events import SampledGaussian
from vips_core.runs import budget, chain, datasets, sources
from vips_core.runs.budget import Budget, Cap
from vips_core.runs.chain import LedgerRow
from vips_core.runs.database import Database, StoreError
from vips_core.runs.rows import QUEUED, RUNNING, DataRow


class Catalogue:
    """Everything that lasts, in one folder: `VIPS_HOME`, or the platform's folder for user data."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = Path(
            home or os.environ.get("VIPS_HOME") or platformdirs.user_data_dir("vips-explorer", False)
        ).absolute()
        for folder in (self.home, self.home / "data", self.home / "runs"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._head_file = self.home / "ledger.head"
        head = chain.read_head(self._head_file)
        self.database = Database(self.home / "store.db", may_create=head is None or head.count == 0)

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run's files."""
        return self.home / "runs" / run_id

    def add_data(
        self,
        name: str,
        train: Any,
        test: Any = None,
        *,
        private: bool = True,
        cap: Cap | None = None,
        unit: str,
    ) -> DataRow:
        """Register records under a name; the same ones again renew what is public about them.

        Records that are known under another name share its budget, and a cap must agree with theirs.
        """
        kind = datasets.kind_of(train)
        if datasets.check_name(name) in sources.BUILT_IN:
            raise ValueError(f"{name} is the name of a data set that comes with the project: choose another")
        if test is not None and datasets.kind_of(test) != kind:
            raise ValueError(
                f"held-out records must be of the same kind as the others, {type(train).__name__}"
            )
        mark = datasets.fingerprint(train, self._key())
        file = self.home / "data" / f"{secrets.token_hex(8)}.npz"
        datasets.write(file, train, test)
        try:
            with self.database.write() as connection:
                self._check_declared(connection, name, mark, private, cap)
                old = connection.execute("SELECT file FROM data WHERE name = ?", [name]).fetchone()
                values = (file.name, kind, len(train), private, mark, unit, test is not None, time.time())
                connection.execute(
                    "INSERT OR REPLACE INTO data VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [name, *values]
                )
                content = {"private": private, "records": len(train)}
                if not any(row.kind == "data" and row.data == name for row in self._rows(connection, mark)):
                    chain.append(connection, "data", mark, name, content)
                if cap is not None and budget.cap_of(self._rows(connection, mark)) is None:
                    _append_cap(connection, mark, name, cap)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        self.keep_head()
        if old is not None:
            (self.home / "data" / old["file"]).unlink(missing_ok=True)
        return self.data_row(name)

    def _check_declared(
        self, connection: sqlite3.Connection, name: str, mark: str, private: bool, cap: Cap | None
    ) -> None:
        taken = connection.execute("SELECT fingerprint FROM data WHERE name = ?", [name]).fetchone()
        if taken is not None and taken["fingerprint"] != mark:
            raise ValueError(f"another data set is called {name}: choose another name, or remove that one")
        rows = self._rows(connection, mark)
        for row in rows:
            if row.kind == "data" and row.content["private"] != private:
                before, now = ("private", "public") if row.content["private"] else ("public", "private")
                raise ValueError(
                    f"these records were registered as {before} under the name {row.data}, so they cannot be "
                    f"{now}: what was released from public records was not counted"
                )
        known = budget.cap_of(rows)
        if private and cap is None and known is None:
            raise ValueError(f"the private data set {name} needs a cap on its ε and δ")
        if cap is not None and (not private or known not in (None, cap)):
            reason = (
                f"they share a cap of ε = {known.epsilon:g}, δ = {known.delta:g}" if known else "are public"
            )
            raise ValueError(f"a cap cannot be given with these records: {reason}")

    def known_cap(self, train: Any) -> Cap | None:
        """Return the cap that these records have under whatever name, None where they are not known."""
        with self.database.write() as connection:
            return budget.cap_of(self._rows(connection, datasets.fingerprint(train, self._key())))

    def data_sets(self) -> list[DataRow]:
        """Return all data sets, those that come with the project first."""
        names = [row["name"] for row in self.database.read("SELECT name FROM data ORDER BY created")]
        return [self.data_row(name) for name in [*sources.BUILT_IN, *names]]

    def data_row(self, name: str) -> DataRow:
        """Return one data set; `ValueError` where there is none of this name."""
        if name in sources.BUILT_IN:
            sample = sources.BUILT_IN[name]
            kind = datasets.KINDS[sample.kind]
            return DataRow(name, kind, sample.records, False, None, "", datasets.UNITS[kind], True, None)
        row = self._data(name)
        cap = budget.cap_of(self.ledger(name)) if row["private"] else None
        return DataRow(
            name,
            row["kind"],
            row["records"],
            bool(row["private"]),
            cap,
            row["fingerprint"],
            row["unit"],
            bool(row["has_test"]),
            row["created"],
        )

    def load(self, name: str) -> sources.DataSet:
        """Return the records of a data set; `ValueError` where its file is not what was registered."""
        if name in sources.BUILT_IN:
            return sources.built_in(name)
        row = self._data(name)
        file = self.home / "data" / row["file"]
        train, test = datasets.read(file, row["kind"])
        if datasets.fingerprint(train, self._key()) != row["fingerprint"]:
            raise ValueError(f"the file of this data set, {file}, holds other records than were registered")
        return sources.DataSet(name, train, test, bool(row["private"]))

    def set_cap(self, name: str, cap: Cap) -> None:
        """Change the cap of a private data set; the ledger keeps that it was changed."""
        row = self.data_row(name)
        if not row.private:
            raise ValueError(f"{name} is public and has no budget")
        with self.database.write() as connection:
            _append_cap(connection, row.fingerprint, name, cap)
        self.keep_head()

    def remove_data(self, name: str) -> None:
        """Forget the records of a data set; its ledger stays, and waits for the same records."""
        row = self._data(name)
        with self.database.write() as connection:
            using = "SELECT id FROM runs WHERE data = ? AND status IN (?, ?)"
            found = connection.execute(using, [name, QUEUED, RUNNING]).fetchone()
            if found is not None:
                raise ValueError(f"run {found['id']} uses {name}: cancel it first")
            connection.execute("DELETE FROM data WHERE name = ?", [name])
        (self.home / "data" / row["file"]).unlink(missing_ok=True)

    def budget(self, name: str) -> Budget:
        """Return what a data set's records have cost under any name, and what is left."""
        return budget.state(self.ledger(name) if self.data_row(name).private else [], self._cost)

    def _cost(self, events: Sequence[SampledGaussian], delta: float) -> float:
        """ε of a composition, remembered where it takes long: PLD of many different plans takes seconds."""
        composition = budget.joined(events)
        if all(event.sampling_rate == 1 for event in composition):
            return budget.cost(composition, delta)
        key = json.dumps([budget.to_lists(composition), delta])
        found = self.database.read("SELECT epsilon FROM costs WHERE composition = ?", [key])
        if found:
            return float(found[0]["epsilon"])
        epsilon = budget.cost(composition, delta)
        with contextlib.suppress(StoreError), self.database.write() as connection:
            connection.execute("INSERT OR IGNORE INTO costs VALUES (?, ?)", [key, epsilon])
        return epsilon

    def ledger(self, data: str | None = None) -> list[LedgerRow]:
        """Return the rows of the ledger, all or those of a data set's records under any name."""
        if data is None:
            return chain.rows(self.database.read("SELECT * FROM ledger ORDER BY number"))
        mark = self._data(data)["fingerprint"]
        found = self.database.read("SELECT * FROM ledger WHERE fingerprint = ? ORDER BY number", [mark])
        return chain.rows(found)

    def verify(self) -> list[str]:
        """Return a sentence for each edit of the ledger that is found, none when it is whole."""
        with self.database.write() as connection:
            return chain.verify(connection, self._head_file)

    def keep_head(self) -> None:
        """Write down how the ledger ends, outside the database.

        What was committed stays committed where this fails: the file then lags until the next time.
        """
        with contextlib.suppress(OSError, StoreError):
            chain.keep_head(self.database, self._head_file)

    def _rows(self, connection: sqlite3.Connection, fingerprint: str) -> list[LedgerRow]:
        statement = "SELECT * FROM ledger WHERE fingerprint = ? ORDER BY number"
        return chain.rows(connection.execute(statement, [fingerprint]).fetchall())

    def _data(self, name: str) -> sqlite3.Row:
        found = self.database.read("SELECT * FROM data WHERE name = ?", [name])
        if not found:
            raise ValueError(f"there is no data set {name!r}")
        return found[0]

    def _key(self) -> str:
        return str(self.database.read("SELECT value FROM meta WHERE key = 'fingerprint key'")[0]["value"])


def _append_cap(connection: sqlite3.Connection, fingerprint: str, name: str, cap: Cap) -> None:
    content = {"epsilon": cap.epsilon, "delta": cap.delta}
    chain.append(connection, "cap", fingerprint, name, content)

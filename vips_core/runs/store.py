"""The store: data sets, runs and the ledger of what was released from private data, for many processes."""

import json
import secrets
import shutil
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.plan import PrivacyPlan
from vips_core.runs import budget, chain, execution
from vips_core.runs.catalogue import Catalogue
from vips_core.runs.chain import LedgerRow
from vips_core.runs.request import Request
from vips_core.runs.rows import CANCELLED, QUEUED, RUNNING, DataRow, RunRow, run_row, versions
from vips_core.runs.tasks import STRONG


class Store(Catalogue):
    """Everything that lasts, in one folder: `VIPS_HOME`, or the platform's folder for user data."""

    def submit(self, request: Request, *, held: bool = False) -> str:
        """Queue a run and return its name; on private data its whole cost is reserved, or it is refused.

        `held` keeps it from other processes for a while, because the caller starts it itself.
        """
        row = self.data_row(request.data)
        if row.private:
            _check_private(request)
        plan = execution.prepare(request, self.load(request.data)).plan
        run_id = secrets.token_hex(4)
        if row.private:
            # The slow part before the lock: under it the answer is known, unless others were faster.
            self._check_budget(self.ledger(request.data), request, plan)
        with self.database.write() as connection:
            if row.private:
                self._reserve(connection, row, request, plan, run_id)
            self._insert(
                connection,
                id=run_id,
                kind="fit",
                request=request.to_mapping(),
                model=request.model,
                data=request.data,
                fingerprint=row.fingerprint if row.private else None,
                seed=request.seed,
                steps=plan.steps,
                epsilon=0.0 if request.private else None,
                claimed=time.time() if held else None,
            )
        if row.private:
            self.keep_head()
        return run_id

    def _reserve(
        self, connection: sqlite3.Connection, row: DataRow, request: Request, plan: PrivacyPlan, run_id: str
    ) -> None:
        wrong = chain.verify(connection, self._head_file)
        if wrong:
            raise ValueError(f"no run may use private data while the ledger is not whole: {wrong[0]}")
        now = connection.execute("SELECT fingerprint FROM data WHERE name = ?", [row.name]).fetchone()
        if now is None or now["fingerprint"] != row.fingerprint:
            raise ValueError(f"the data set {row.name} was replaced just now: try again")
        self._check_budget(self._rows(connection, row.fingerprint), request, plan)
        content = {"events": budget.to_lists(plan.events()), "steps": plan.steps}
        chain.append(connection, "reserve", row.fingerprint, row.name, content, run_id)

    def _check_budget(self, rows: list[LedgerRow], request: Request, plan: PrivacyPlan) -> None:
        cap = budget.cap_of(rows)
        assert cap is not None  # a private data set cannot be registered without one
        taken = [event for use in budget.uses(rows) for event in use.events]
        if not budget.fits([*taken, *plan.events()], cap):
            accountant = "strong" if request.method == STRONG else request.get("accountant")
            raise ValueError(budget.refusal(request.data, taken, plan, cap, accountant))

    def submit_sweep(self, sweep: Mapping[str, Any], *, held: bool = False) -> str:
        """Queue a sweep, given as its TOML table, and return its name; `held` as in `submit`."""
        from vips_core.sweeps.sweep import Sweep  # here: a sweep needs the store too

        cells = Sweep.from_mapping(sweep).cells()
        names = {cell.data for cell in cells}
        private = [name for name in sorted(names) if self.data_row(name).private]
        if private:
            raise ValueError(f"a sweep would spend the budget of {private[0]}, which is private, on trials")
        run_id = secrets.token_hex(4)
        with self.database.write() as connection:
            self._insert(
                connection,
                id=run_id,
                kind="sweep",
                request=sweep,
                model=", ".join(sorted({cell.model for cell in cells})),
                data=", ".join(sorted(names)),
                steps=len(cells),
                claimed=time.time() if held else None,
            )
        return run_id

    def _insert(self, connection: sqlite3.Connection, *, request: Mapping[str, Any], **values: Any) -> None:
        values |= {
            "request": json.dumps(request, ensure_ascii=False),
            "status": QUEUED,
            "created": time.time(),
            "versions": json.dumps(versions()),
        }
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", list(values.values()))

    def run(self, run_id: str) -> RunRow:
        """Return one run; `ValueError` where there is none of this name."""
        found = self._runs("id = ?", [run_id])
        if not found:
            raise ValueError(f"there is no run {run_id!r}")
        return found[0]

    def runs(
        self,
        data: str | None = None,
        model: str | None = None,
        status: str | None = None,
        kind: str | None = None,
    ) -> list[RunRow]:
        """Return the runs that match, newest first."""
        wanted = {"data": data, "model": model, "status": status, "kind": kind}
        given = {name: value for name, value in wanted.items() if value is not None}
        return self._runs(" AND ".join(f"{name} = ?" for name in given) or "1", list(given.values()))

    def _runs(self, where: str, values: list[Any]) -> list[RunRow]:
        found = self.database.read(f"SELECT * FROM runs WHERE {where} ORDER BY number DESC", values)
        scores: dict[str, list[tuple[int, float]]] = {row["id"]: [] for row in found}
        inner = f"SELECT id FROM runs WHERE {where}"
        for row in self.database.read(f"SELECT * FROM scores WHERE run IN ({inner}) ORDER BY step", values):
            scores.setdefault(row["run"], []).append((row["step"], row["value"]))
        return [run_row(row, scores[row["id"]]) for row in found]

    def cancel(self, run_id: str) -> None:
        """Stop a run within one step; what it has released by then stays and is settled."""
        with self.database.write() as connection:
            row = connection.execute("SELECT * FROM runs WHERE id = ?", [run_id]).fetchone()
            if row is None:
                raise ValueError(f"there is no run {run_id!r}")
            if row["status"] == QUEUED:
                end(connection, row, CANCELLED, ())
            elif row["status"] == RUNNING:
                connection.execute("UPDATE runs SET cancel = 1 WHERE id = ?", [run_id])
            else:
                raise ValueError(f"run {run_id} cannot be cancelled: it is {row['status']} already")
        self.keep_head()

    def pin(self, run_id: str, pinned: bool) -> None:
        """Mark a run as one to keep in view, or undo it."""
        self.run(run_id)
        with self.database.write() as connection:
            connection.execute("UPDATE runs SET pinned = ? WHERE id = ?", [pinned, run_id])

    def delete(self, run_id: str) -> None:
        """Remove a run that has ended, with its files; the ledger keeps what it cost."""
        row = self.run(run_id)
        with self.database.write() as connection:
            ended = "DELETE FROM runs WHERE id = ? AND status NOT IN (?, ?)"
            if not connection.execute(ended, [run_id, QUEUED, RUNNING]).rowcount:
                raise ValueError(f"run {run_id} cannot be deleted while it is {row.status}: cancel it first")
        shutil.rmtree(self.folder(run_id), ignore_errors=True)


def end(
    connection: sqlite3.Connection,
    row: sqlite3.Row,
    status: str,
    released: Sequence[SampledGaussian],
    *,
    epsilon: float | None = 0.0,
    error: str | None = None,
) -> None:
    """End a run in the caller's transaction, and settle its reservation to what was released."""
    connection.execute(
        "UPDATE runs SET status = ?, ended = ?, epsilon = ?, error = ?, worker = NULL WHERE id = ?",
        [status, time.time(), epsilon, error, row["id"]],
    )
    if row["fingerprint"] is not None:
        content = {"events": budget.to_lists(released)}
        chain.append(connection, "settle", row["fingerprint"], row["data"], content, row["id"])


def _check_private(request: Request) -> None:
    """Refuse what would void the guarantee of a private data set."""
    name = request.data
    if not request.private:
        raise ValueError(f"{name} is private: a run without noise is refused")
    if request.seed is not None:
        raise ValueError(
            f"{name} is private: a run with a seed is refused, because whoever knows it can "
            "subtract the noise"
        )
    if request.method == "perm":
        raise ValueError(
            f"{name} is private: method perm is refused, because its ε is for replacing a record "
            "and does not compose with the ledger"
        )

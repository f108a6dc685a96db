"""The store: data sets, runs and the ledger of what was released from private data, for many processes."""

import contextlib
import json
import secrets
import shutil
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vips_core.models.task import TASKS
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.plan import PrivacyPlan, PurePlan
from vips_core.store import budget, declaration, people
from vips_core.store import ledger_chain as chain
from vips_core.store.database import find, insert
from vips_core.store.datasets import DataSets
from vips_core.store.rows import CANCELLED, QUEUED, RUNNING, DataRow, RunRow, run_row, versions

_REFUSED = "no run may use registered data"


class Store(DataSets):
    """Data sets, their budgets and ledger, and runs, in one folder that many processes share.

    Parameters
    ----------
    home
        The folder; by default `VIPS_HOME`, or the platform's folder for user data.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(folder.name)
    >>> store.runs(), store.verify()
    ([], [])
    >>> store.database.close()
    >>> folder.cleanup()
    """

    def queue(
        self,
        kind: str,
        request: Mapping[str, Any],
        steps: int,
        plan: PrivacyPlan | PurePlan | None = None,
        *,
        accountant: str = "pld",
        held: bool = False,
    ) -> str:
        """Queue a run and return its name.

        On private data its whole cost is reserved, or the run is refused. The plan is stored with the run and
        derived nowhere else.

        Parameters
        ----------
        kind
            `FIT`, `SWEEP` or `AUDIT`.
        request
            What the run does, as a table for TOML or JSON, with `model`, `data` and, if it has one, `seed`.
        steps
            Its steps, or the cells of a sweep.
        plan
            Plan of its releases; None for a sweep or an audit, which private data do not allow.
        accountant
            The accountant by which a refusal computes what would fit.
        held
            Whether other processes leave it alone for a while, because the caller starts it.

        Returns
        -------
        str
            The run's name.
        """
        row = self.data_row(request["data"])
        to_reserve = _countable(row.name, kind, plan) if row.private else None
        if to_reserve is not None:
            # Slow, so before the lock; under the lock the result is cached, unless others were faster.
            _check_budget(self._pool_rows(row.fingerprint), row.name, to_reserve, accountant)
        run_id, text = secrets.token_hex(4), json.dumps(request, ensure_ascii=False)
        with self.database.write() as connection:
            if row.fingerprint:  # a table can be edited, which may have declared private records public
                self._check_intact(connection, _REFUSED)
            if to_reserve is not None:
                now = find(connection, "data", name=row.name)
                if now is None or now["fingerprint"] != row.fingerprint:
                    raise ValueError(f"the data set {row.name} was replaced just now: try again")
                rows = people.pool_rows(connection, row.fingerprint)
                _check_budget(rows, row.name, to_reserve, accountant)
                events, seal = budget.to_lists(to_reserve.events()), declaration.request_seal(text)
                content = {"events": events, "steps": to_reserve.steps, "request": seal}
                chain.append(connection, "reserve", row.fingerprint, row.name, content, run_id)
            values = {
                "id": run_id,
                "kind": kind,
                "request": text,
                "model": request["model"],
                "data": row.name,
                "seed": request.get("seed"),
                "steps": steps,
                "fingerprint": row.fingerprint if row.private else None,
                "status": QUEUED,
                "epsilon": 0.0 if plan is not None and plan.is_private else None,
                "plan": None if plan is None else json.dumps(asdict(plan)),
                "claimed": time.time() if held else None,
                "created": time.time(),
                "versions": json.dumps(versions()),
            }
            insert(connection, "runs", values)
        if row.private:
            self.keep_head()
        return run_id

    def run(self, run_id: str) -> RunRow:
        """Return one run; `ValueError` if none has this name."""
        runs = self.runs(id=run_id)
        if not runs:
            raise ValueError(f"there is no run {run_id!r}")
        return runs[0]

    def data_of(self, run: RunRow) -> DataRow:
        """Return the public facts about the records that a run used.

        They come from the ledger if the records were removed, or their name now belongs to other records.
        """
        with contextlib.suppress(ValueError):  # removed since
            row = self.data_row(run.data)
            if run.fingerprint == (row.fingerprint if row.private else None):
                return row
        with self.database.reading() as connection:
            own = chain.rows(connection, "kind = 'data' AND fingerprint = ?", [run.fingerprint])
        declared = declaration.last_declared(own).get((run.fingerprint or "", run.data), {})
        told = ("records", "unit", "person_column", "person_namespace")
        public = {"records": 0} | {name: declared[name] for name in told if name in declared}
        kind, mark = TASKS[run.request["model"]].kind, run.fingerprint
        return DataRow(run.data, kind, private=mark is not None, fingerprint=mark or "", **public)

    def ledger_of(self, run: RunRow) -> list[chain.LedgerRow]:
        """Return the ledger of the private records that a run used, even if they were removed."""
        return [] if run.fingerprint is None else self._pool_rows(run.fingerprint)

    def runs(self, **wanted: str | None) -> list[RunRow]:
        """Return the runs that match.

        Parameters
        ----------
        **wanted
            `data`, `model`, `status` or `kind` (or another column) that the runs must have; None is any.

        Returns
        -------
        list of RunRow
            Newest first.
        """
        given = {name: value for name, value in wanted.items() if value is not None}
        where, values = " AND ".join(f"{name} = ?" for name in given) or "TRUE", list(given.values())
        rows = self.database.read(f"SELECT * FROM runs WHERE {where} ORDER BY number DESC", values)
        scores: dict[str, list[tuple[int, float]]] = {row["id"]: [] for row in rows}
        inner = f"SELECT id FROM runs WHERE {where}"
        for row in self.database.read(f"SELECT * FROM scores WHERE run IN ({inner}) ORDER BY step", values):
            scores.setdefault(row["run"], []).append((row["step"], row["value"]))
        return [run_row(row, scores[row["id"]]) for row in rows]

    def cancel(self, run_id: str) -> None:
        """Stop a run within one step; what it has released is kept and settled."""
        with self.database.write() as connection:
            row = find(connection, "runs", id=run_id)
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
        """Pin a run, so that pages keep it in view, or unpin it."""
        self.run(run_id)
        with self.database.write() as connection:
            connection.execute("UPDATE runs SET pinned = ? WHERE id = ?", [pinned, run_id])

    def delete(self, run_id: str) -> None:
        """Delete a run that has ended, with its files; the ledger keeps its cost."""
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
    released: Sequence[SampledGaussian] | None,
    *,
    epsilon: float | None = 0.0,
    error: str | None = None,
) -> None:
    """End a run in the caller's transaction and settle it to `released`, or to what it announced if None."""
    if released is None:
        rows = chain.rows_of(connection, row["id"])
        announced = max((one.content["releases"] for one in rows if one.kind == "announce"), default=0)
        released = budget.prefix(reserved_in(rows), announced) if rows else ()
        private = row["fingerprint"] is not None
        epsilon = budget.cost(released, json.loads(row["request"])["delta"]) if private else row["epsilon"]
    connection.execute(
        "UPDATE runs SET status = ?, ended = ?, epsilon = ?, error = ?, worker = NULL WHERE id = ?",
        [status, time.time(), epsilon, error, row["id"]],
    )
    if row["fingerprint"] is not None:
        content = {"events": budget.to_lists(released)}
        chain.append(connection, "settle", row["fingerprint"], row["data"], content, row["id"])


def reserved_in(rows: Sequence[chain.LedgerRow]) -> tuple[SampledGaussian, ...]:
    """Return what a run reserved, from its rows of the ledger."""
    return budget.from_lists(rows[0].content["events"])


def _countable(name: str, kind: str, plan: PrivacyPlan | PurePlan | None) -> PrivacyPlan:
    """Return the plan of a run on private data, or refuse one whose cost no cap can count."""
    if plan is None:
        raise ValueError(f"{name} is private: a {kind} would spend its budget on trials")
    if isinstance(plan, PurePlan):
        raise ValueError(f"{name} is private: its cap counts only releases at the wall")
    if not plan.is_sampled_as_accounted:
        raise ValueError(
            f"{name} is private: batches of fixed size are refused, because ε assumes Poisson batches"
        )
    return plan


def _check_budget(rows: Sequence[chain.LedgerRow], name: str, plan: PrivacyPlan, accountant: str) -> None:
    """Refuse a run on private data that does not fit under the cap."""
    balance = budget.Balance.of(rows)
    if balance is None:  # a private data set cannot be registered without a cap
        raise ValueError(f"{_REFUSED} while the ledger is not intact: it has no cap for {name}")
    if not balance.fits(plan.events()):
        raise ValueError(balance.refusal(name, plan, accountant))

"""The facts in a run's report: its files, its entries in the store, and the numbers of its guarantee."""

import functools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vips_core import rounding
from vips_core.jobs import execution
from vips_core.jobs.request import Request
from vips_core.privacy.accountants import ACCOUNTANTS, Account, account
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.store import budget, pools
from vips_core.store import ledger_chain as chain
from vips_core.store.budget import Budget
from vips_core.store.ledger_chain import LedgerRow
from vips_core.store.rows import DONE, DataRow, RunRow
from vips_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

REPORTED = ("pld", "rdp", "moments", "moments_paper", "strong", "basic", "gaussian", "zcdp")


def best_account(accounts: Mapping[str, Account]) -> tuple[float, str]:
    """Return the smallest ε and its accountant: all are upper bounds for the same releases.

    Examples
    --------
    >>> best_account({"pld": Account(1.5, ""), "rdp": Account(1.7, ""), "zcdp": Account(None, "")})
    (1.5, 'PLD')
    """
    known = [(item.epsilon, name) for name, item in accounts.items() if item.epsilon is not None]
    epsilon, name = min(known)
    return epsilon, ACCOUNTANTS[name].label


def account_table(accounts: Mapping[str, Account]) -> "pd.DataFrame":
    """Return one row per accountant, with its ε or the reason for none."""
    import pandas as pd

    rows = [
        {
            "accountant": ACCOUNTANTS[name].label,
            "ε": None if item.epsilon is None else rounding.up(item.epsilon),
            "why": item.note or ACCOUNTANTS[name].why,
        }
        for name, item in accounts.items()
    ]
    return pd.DataFrame(rows).astype({"ε": float})


def block_table(ledger: Ledger) -> "pd.DataFrame":
    """Return one row per block of each kind of release."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "releases": entry.count,
                "sampling rate q": entry.sampling_rate,
                "block": name,
                "cells": block.cells,
                "bound of one record (L2)": block.bound,
                "noise std of a cell": block.noise_std,
                "σ of the joint release": entry.noise_multiplier,
            }
            for entry in ledger
            for name, block in entry.blocks.items()
        ]
    )


@dataclass(frozen=True)
class RunFacts:
    """All facts in the report of a run.

    Attributes
    ----------
    row, request
        The run in the store, and its request.
    folder
        Folder of its files.
    result
        Scores, plan and cautions; None if the run left none.
    ledger
        What it released; None if the run left none.
    data
        Public facts about its records, even after their removal, with N from the ledger.
    budget
        Today's budget of private records; None for public ones.
    promised
        Their budget under the cap in force when the run was reserved; None if it reserved nothing.
    caps, held_cap
        Ledger rows that set the caps of its records, before the run and since; the one in force when the run
        was reserved.
    separations
        Sentences on data sets that share rows with the records and were separated from them: by whom and why.
    """

    row: RunRow
    request: Request
    folder: Path
    result: Mapping[str, Any] | None
    ledger: Ledger | None
    data: DataRow
    budget: Budget | None
    promised: Budget | None = None
    caps: Sequence[LedgerRow] = ()
    held_cap: LedgerRow | None = None
    separations: Sequence[str] = ()

    @property
    def title(self) -> str:
        """Title of the report."""
        return f"{self.request.task.product} of {self.row.data}: run {self.row.id}"

    @property
    def delta(self) -> float:
        """The δ of its ε, 0 for a method that has none."""
        return float(self.request.get("delta") or 0)

    @property
    def proved_as_a_whole(self) -> bool:
        """Whether the method is proved as a whole, without releases in a ledger."""
        return self.request.chosen_method.pure is not None

    @functools.cached_property
    def guarantee(self) -> dict[str, Any]:
        """The numbers of the guarantee, from the ledger; none without a ledger."""
        if self.ledger is None:
            return {}
        events, ideal_delta = self.ledger.events(), self.ledger.ideal_delta(self.delta)
        accounts = {name: account(events, ideal_delta, name) for name in REPORTED}
        epsilon, accountant = best_account(accounts)
        batches: Counter[tuple[float, str]] = Counter()
        for entry in self.ledger:
            batches[entry.sampling_rate, entry.sampling] += entry.count
        return {
            "batches": batches,
            "best_epsilon": epsilon,
            "best_accountant": accountant,
            "account_table": account_table(accounts),
            "block_table": block_table(self.ledger),
            "noise_multipliers": sorted({entry.noise_multiplier for entry in self.ledger}),
            "attack_risk": AttackRisk(events, ideal_delta),
        }

    @property
    def earlier_runs(self) -> int | None:
        """Number of earlier runs on the same private records; None if their ledger lacks this run."""
        if self.promised is None:
            return None
        run_ids = [run_id for _, run_id, _ in self.promised.history]
        return run_ids.index(self.row.id) if self.row.id in run_ids else None


def gather(store: Store, run_id: str) -> RunFacts:
    """Return the facts of a fit.

    Parameters
    ----------
    store
        Store of the run.
    run_id
        Name of the run; `ValueError` if it is unknown.

    Returns
    -------
    RunFacts
        Also for a failed run, or one whose data set was removed since.
    """
    row, folder = store.run(run_id), store.folder(run_id)
    result_text, ledger_text = _text(folder / execution.RESULT), _text(folder / execution.LEDGER)
    ledger = None if ledger_text is None else Ledger.from_json(ledger_text)
    if ledger is not None:
        _check_counted(store, row, ledger)
    data, rows = store.data_of(row), store.ledger_of(row)
    held = budget.cap_held(rows, run_id)
    under_that_cap = [row for row in rows if row.kind != "cap" or row == held]
    return RunFacts(
        row=row,
        request=Request.from_mapping(row.request),
        folder=folder,
        result=None if result_text is None else json.loads(result_text),
        ledger=ledger,
        data=data if ledger is None else replace(data, records=ledger.records),
        budget=budget.state(rows) if data.private else None,
        promised=None if held is None else budget.state(under_that_cap),
        caps=budget.caps_of_run(rows, run_id),
        held_cap=held,
        separations=pools.separations(rows),
    )


def _check_counted(store: Store, row: RunRow, ledger: Ledger) -> None:
    """Refuse a ledger that differs from what the store counted for a private run: files can be edited.

    For an unfinished run, the store may count more than was released.
    """
    with store.database.reading() as connection:
        rows = chain.rows_of(connection, row.id)
    for use in budget.uses(rows):
        counted, said = budget.joined(use.events), budget.joined(ledger.events())
        same = len(counted) == len(said) and all(
            one.sampling_rate == other.sampling_rate
            and math.isclose(one.noise_multiplier, other.noise_multiplier, rel_tol=1e-9)
            and (one.count == other.count or (one.count > other.count and row.status != DONE))
            for one, other in zip(counted, said, strict=True)
        )
        if use.settled and not same:
            raise ValueError(
                f"the ledger of run {row.id} differs from what the store counted: its file was changed"
            )


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None

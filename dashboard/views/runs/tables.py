"""Tables of the Runs page: runs, what differs between some of them, budgets, and the ledger."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dashboard import stored
from dashboard.components import layout
from dashboard.components.bounds import at_most
from dashboard.components.formats import brief, number, signed
from dashboard.components.tables import NarrowRow
from dashboard.views.runs.data import OWN_PROOF, RunResults
from dashboard.views.runs.parameters import CHOSEN
from vips_core import ACCOUNTANTS
from vips_core.jobs.request import PLACE, SPENDING
from vips_core.models.task import TASKS
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.budget import Budget
from vips_core.store.ledger_chain import KINDS, LedgerRow
from vips_core.store.rows import AUDIT, DONE, FIT, SWEEP, RunRow

Results = Mapping[str, RunResults | None]  # by run; None is being computed

_OPTIONS = {**SPENDING, **PLACE} | {
    name: option for task in TASKS.values() for name, option in task.options.items()
}
_MODELS = {name: task.title for name, task in TASKS.items()}
_ACCOUNT_LABELS = {name: item.label for name, item in ACCOUNTANTS.items()} | {OWN_PROOF: "Its own proof"}


def history_table(runs: Sequence[RunRow]) -> pd.DataFrame:
    """One row for each run; what a narrow screen shows comes first."""
    rows = [
        {
            "Method": method_label(run),
            "ε": _epsilon(run),
            "Held-out score": _score(run),
            "Data": run.data,
            "Model": TASKS[run.request["model"]].title,
            "Status": run.status.capitalize(),
            "Progress": 100 if run.status == DONE else 100 * run.step // max(1, run.steps),
            "Started": pd.Timestamp(run.started or run.created, unit="s"),
            "Run": run.id,
            "Pinned": "Pinned" if run.pinned else "",
        }
        for run in runs
    ]
    table = pd.DataFrame(rows)
    return table if any(run.pinned for run in runs) else table.drop(columns="Pinned", errors="ignore")


def history_rows(runs: Sequence[RunRow], chosen: Sequence[str]) -> list[NarrowRow]:
    """The same for a narrow screen; a link adds its run to those that are compared, or takes it out."""
    rows = []
    for run, line in zip(runs, history_table(runs).to_dict("records"), strict=True):
        marked = run.id in chosen
        others = [name for name in chosen if name != run.id] + ([] if marked else [run.id])
        share = f" {line['Progress']}%" if run.status in stored.LIVE else ""
        known = {"ε": f"ε = {line['ε']}", "Held-out score": line["Held-out score"]}
        details = [
            *(words for name, words in known.items() if line[name] != "–"),
            f"{line['Status']}{share}",
            f"{line['Started']:%d %b, %H:%M} UTC",
            f"run {run.id}",
        ]
        title = f"{line['Method']} on {run.data}"
        rows.append(NarrowRow(title, " · ".join(details), f"?{CHOSEN.name}={','.join(others)}", marked))
    return rows


def method_label(run: RunRow) -> str:
    """Name a run's method for people."""
    if run.kind == SWEEP:
        return "Sweep"
    method = METHOD_NAMES[run.request["method"]]
    return f"Audit of {method}" if run.kind == AUDIT else method


def _epsilon(run: RunRow) -> str:
    if run.kind == SWEEP or (run.kind == AUDIT and run.epsilon is None):
        return "–"
    return "∞" if run.epsilon is None else at_most(run.epsilon)


def _score(run: RunRow) -> str:
    """Return the score over all held-out records, while training the last one over some, with its name."""
    if run.kind != FIT:
        return "–"
    name = TASKS[run.request["model"]].validation_score
    last = run.scores[-1][1] if run.scores else None
    score = stored.held_out(run).get(name, last)
    return "–" if score is None else f"{number(score)} {name.partition(' (')[0]}"


def run_label(run: RunRow) -> str:
    """Name a run in comparisons."""
    return f"{method_label(run)} {run.id}"


def settings_table(fits: Sequence[RunRow]) -> pd.DataFrame:
    """What was asked for, one column for each run; of several, only what differs."""
    rows = []
    for name in dict.fromkeys(name for run in fits for name in run.request):
        values = [run.request.get(name) for run in fits]
        if len(fits) == 1 or len({str(value) for value in values}) > 1:
            rows.append([_setting_name(name), *(_setting(name, value) for value in values)])
    return pd.DataFrame(rows, columns=["Setting", *map(run_label, fits)])


def _setting_name(name: str) -> str:
    return _OPTIONS[name].title if name in _OPTIONS else name.capitalize()


def _setting(name: str, value: Any) -> str:
    names = {"method": METHOD_NAMES, "model": _MODELS, "accountant": _ACCOUNT_LABELS}.get(name, {})
    return "–" if value is None else names.get(value) or brief(value)


def accounts_table(fits: Sequence[RunRow], results: Results) -> pd.DataFrame:
    """ε by accountant (rows) and run (columns), from the ledgers."""
    cells = {
        run_id: {_ACCOUNT_LABELS[name]: at_most(account.epsilon) for name, account in left.accounts.items()}
        for run_id, left in results.items()
        if left is not None
    }
    return _by_run("Accountant", fits, cells)


def scores_table(fits: Sequence[RunRow], results: Results) -> pd.DataFrame:
    """Held-out scores (rows) by run (columns)."""
    shown = {run.id: results.get(run.id) for run in fits}
    cells = {
        run_id: {name: signed(score) for name, score in left.scores.items()}
        for run_id, left in shown.items()
        if left is not None
    }
    return _by_run("Held-out score", fits, cells)


def _by_run(title: str, fits: Sequence[RunRow], cells: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return a table with a column for each run, given its cells by the name of their row."""
    names = dict.fromkeys(name for of_run in cells.values() for name in of_run)
    rows = [[name, *(cells.get(run.id, {}).get(name, "–") for run in fits)] for name in names]
    return pd.DataFrame(rows, columns=[title, *map(run_label, fits)])


def score_curves_table(fits: Sequence[RunRow]) -> pd.DataFrame:
    """The followed score after steps, one row for each look."""
    rows = [
        {"Run": run_label(run), "Model": run.request["model"], "Step": step, "Score": value}
        for run in fits
        for step, value in run.scores
    ]
    return pd.DataFrame(rows, columns=["Run", "Model", "Step", "Score"])


def budget_table(budget: Budget) -> pd.DataFrame:
    """The history of a budget: when, which run, and the share of the cap that everything up to then takes."""
    rows = [(pd.Timestamp(moment, unit="s"), run, 100 * share) for moment, run, share in budget.history]
    return pd.DataFrame(rows, columns=["Time (UTC)", "Run", "% of the cap"])


def caps_table(rows: Sequence[LedgerRow]) -> pd.DataFrame:
    """All caps that were set, the newest first: when, ε, δ, by whom and why."""
    shown = [
        {
            "Set (UTC)": f"{pd.Timestamp(row.time, unit='s'):%Y-%m-%d %H:%M}",
            "ε": f"{row.content['epsilon']:g}",
            "δ": brief(row.content["delta"]),
            "By": layout.plain(row.content.get("by") or "–"),
            "Why": layout.plain(row.content.get("reason") or "–"),
        }
        for row in reversed(rows)
    ]
    return pd.DataFrame(shown)


def ledger_table(rows: Sequence[LedgerRow]) -> pd.DataFrame:
    """The ledger for people."""
    shown = [
        {
            "Row": row.number,
            "Time (UTC)": pd.Timestamp(row.time, unit="s"),
            "What": KINDS[row.kind],
            "Data": row.data,
            "Run": row.run or "–",
            "Content": row.describe(),
            "Hash": row.hash[:12],
        }
        for row in rows
    ]
    return pd.DataFrame(shown, columns=["Row", "Time (UTC)", "What", "Data", "Run", "Content", "Hash"])


def ledger_rows(rows: Sequence[LedgerRow]) -> list[NarrowRow]:
    """The same for a narrow screen."""
    return [
        NarrowRow(
            f"{line['Row']} {line['What']}, {line['Data']}",
            f"{line['Content']} · {line['Time (UTC)']:%Y-%m-%d %H:%M:%S} UTC · {line['Hash']}",
        )
        for line in ledger_table(rows).to_dict("records")
    ]

"""Tables and charts of the Runs page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from dashboard import stored
from dashboard.components import layout
from dashboard.components.charts import steps_axis, with_level
from dashboard.components.formats import at_most, brief, number, signed
from dashboard.components.tables import NarrowRow
from dashboard.views.runs.data import CHOSEN, OWN_PROOF, RunResults
from vips_core import ACCOUNTANTS
from vips_core.jobs.request import PLACE, SPENDING
from vips_core.models.task import TASKS, TITLES
from vips_core.reports import figures
from vips_core.reports.figures import METHOD_NAMES, Figure, figure
from vips_core.reports.traces import axis, marked_line
from vips_core.store.budget import Budget
from vips_core.store.ledger_chain import ROW_KINDS, LedgerRow
from vips_core.store.rows import AUDIT, DONE, FIT, SWEEP, RunRow

Results = Mapping[str, RunResults | None]  # by run; None while they are computed

_LEAST_TIME = pd.Timedelta(minutes=10)  # smallest margin of the time axis, since a single point has no range
_COLOURS = (figures.BLUE, figures.VERMILION, figures.GREEN, figures.PURPLE, figures.GREY)
_ACCOUNT_LABELS = {name: item.label for name, item in ACCOUNTANTS.items()}
_ACCOUNT_LABELS |= {OWN_PROOF: "The method's own proof"}


def history_table(runs: Sequence[RunRow]) -> pd.DataFrame:
    """Return one row for each run, with the columns that fit a narrow screen first."""
    rows = [
        {
            "Method": method_label(run),
            "ε": _epsilon(run),
            "Held-out score": _score(run),
            "Data": run.data,
            "Model": TITLES[run.request["model"]],
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
    """Return the history for a narrow screen; a row's link adds its run to the comparison or removes it."""
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
    """Return the label of a run's method."""
    if run.kind == SWEEP:
        return "Sweep"
    method = METHOD_NAMES[run.request["method"]]
    return f"Audit of {method}" if run.kind == AUDIT else method


def _epsilon(run: RunRow) -> str:
    if run.kind == SWEEP or (run.kind == AUDIT and run.epsilon is None):
        return "–"
    return "∞" if run.epsilon is None else at_most(run.epsilon)


def _score(run: RunRow) -> str:
    """Return the score on all held-out records, or, while training, the last validation score."""
    if run.kind != FIT:
        return "–"
    name = TASKS[run.request["model"]].validation_score
    last = run.validation_scores[-1][1] if run.validation_scores else None
    score = stored.held_out(run).get(name, last)
    return "–" if score is None else f"{number(score)} {name.partition(' (')[0]}"


def run_label(run: RunRow) -> str:
    """Name a run in comparisons."""
    return f"{method_label(run)} {run.id}"


def settings_table(fits: Sequence[RunRow]) -> pd.DataFrame:
    """Return the settings of runs, one column each; of several runs, only settings that differ."""
    rows = []
    for name in dict.fromkeys(name for run in fits for name in run.request):
        values = [run.request.get(name) for run in fits]
        if len(fits) == 1 or len({str(value) for value in values}) > 1:
            rows.append([_setting_name(name), *(_setting(name, value) for value in values)])
    return pd.DataFrame(rows, columns=["Setting", *map(run_label, fits)])


def _setting_name(name: str) -> str:
    groups = (SPENDING, PLACE, *(task.options for task in TASKS.values()))
    return next((options[name].title for options in groups if name in options), name.capitalize())


def _setting(name: str, value: Any) -> str:
    names = {"method": METHOD_NAMES, "model": TITLES, "accountant": _ACCOUNT_LABELS}.get(name, {})
    return "–" if value is None else names.get(value) or brief(value)


def accounts_table(fits: Sequence[RunRow], results: Results) -> pd.DataFrame:
    """Return ε by accountant (rows) and run (columns), from the ledgers."""

    def cells(left: RunResults) -> Mapping[str, str]:
        return {_ACCOUNT_LABELS[name]: at_most(account.epsilon) for name, account in left.accounts.items()}

    return _by_run("Accountant", fits, results, cells)


def scores_table(fits: Sequence[RunRow], results: Results) -> pd.DataFrame:
    """Return held-out scores (rows) by run (columns)."""

    def cells(left: RunResults) -> Mapping[str, str]:
        return {name: signed(score) for name, score in left.scores.items()}

    return _by_run("Held-out score", fits, results, cells)


def _by_run(
    title: str, fits: Sequence[RunRow], results: Results, cells_of: Callable[[RunResults], Mapping[str, str]]
) -> pd.DataFrame:
    """Return a table with one column for each run, from the cells of its results by row."""
    known = ((run.id, results.get(run.id)) for run in fits)
    cells = {run_id: cells_of(left) for run_id, left in known if left is not None}
    names = dict.fromkeys(name for of_run in cells.values() for name in of_run)
    rows = [[name, *(cells.get(run.id, {}).get(name, "–") for run in fits)] for name in names]
    return pd.DataFrame(rows, columns=[title, *map(run_label, fits)])


def score_curves_table(fits: Sequence[RunRow]) -> pd.DataFrame:
    """Return the validation scores of runs, one row for each evaluation."""
    rows = [
        (run_label(run), run.request["model"], *evaluation)
        for run in fits
        for evaluation in run.validation_scores
    ]
    return pd.DataFrame(rows, columns=["Run", "Model", "Step", "Score"])


def budget_table(budget: Budget) -> pd.DataFrame:
    """Return the history of a budget: time, run, and the share of the cap used up to then."""
    rows = [(pd.Timestamp(moment, unit="s"), run, 100 * share) for moment, run, share in budget.history]
    return pd.DataFrame(rows, columns=["Time (UTC)", "Run", "% of the cap"])


def caps_table(rows: Sequence[LedgerRow]) -> pd.DataFrame:
    """Return all caps, newest first: time, ε, δ, who set it and why."""
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
    """Return the ledger as a readable table."""
    shown = [
        {
            "Row": row.number,
            "Time (UTC)": pd.Timestamp(row.time, unit="s"),
            "Event": ROW_KINDS[row.kind],
            "Data": row.data,
            "Run": row.run or "–",
            "Content": row.describe(),
            "Hash": row.hash[:12],
        }
        for row in rows
    ]
    return pd.DataFrame(shown, columns=["Row", "Time (UTC)", "Event", "Data", "Run", "Content", "Hash"])


def ledger_rows(rows: Sequence[LedgerRow]) -> list[NarrowRow]:
    """Return the ledger for a narrow screen."""
    return [
        NarrowRow(
            f"{line['Row']} {line['Event']}, {line['Data']}",
            f"{line['Content']} · {line['Time (UTC)']:%Y-%m-%d %H:%M:%S} UTC · {line['Hash']}",
        )
        for line in ledger_table(rows).to_dict("records")
    ]


def score_curves(evaluations: pd.DataFrame, score: str) -> Figure:
    """Draw the validation scores of runs of one model while they trained."""
    traces = []
    for index, (name, of_run) in enumerate(evaluations.groupby("Run", sort=False)):
        style = _COLOURS[index % len(_COLOURS)], figures.DASHES[index % len(figures.DASHES)]
        hover = f"{name}: step %{{x}}, %{{y:.4g}}"
        traces.append(
            marked_line(str(name), of_run["Step"].tolist(), of_run["Score"].tolist(), *style, hover=hover)
        )
    return figure(traces, steps_axis("Step", evaluations["Step"].max()), axis(figures.score_title(score)))


def budget_over_time(budget: Budget) -> Figure:
    """Draw the share of the cap that all releases so far use, against time."""
    history = budget_table(budget)
    taken = marked_line(
        "Spent and reserved",
        [moment.isoformat() for moment in history["Time (UTC)"]],
        history["% of the cap"].tolist(),
        figures.BLUE,
        hover="%{x}: %{y:.3g}% with run %{customdata}",
        customdata=history["Run"].tolist(),
        line={"color": figures.BLUE, "width": 2.5, "shape": "hv"},
    )
    times = history["Time (UTC)"]
    margin = max(_LEAST_TIME, 0.05 * (times.max() - times.min()))
    around = [(times.min() - margin).isoformat(), (times.max() + margin).isoformat()]
    drawn = figure(
        [taken],
        axis("Time of reservation (UTC)", range=around),
        axis("% of today's cap", range=[0, 115]),
        height=300,
        showlegend=False,
        margin=figures.NO_LEGEND,
    )
    return with_level(drawn, 100, "Today's cap", figures.VERMILION)

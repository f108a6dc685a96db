"""What the Runs page asks of the store: the history, comparisons, configs and budgets."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dashboard import library
from dashboard.charts import BLUE, GREEN, GREY, PURPLE, VERMILION, Figure, figure
from dashboard.formats import brief, number
from dashboard.session import Choice, Text
from vips_core import ACCOUNTANTS, Ledger
from vips_core.privacy import accountants
from vips_core.privacy.accountants import Account
from vips_core.reports.figures import METHOD_NAMES
from vips_core.runs.request import Request, read_toml
from vips_core.runs.rows import STATUSES, RunRow
from vips_core.runs.store import Store
from vips_core.runs.tasks import TASKS
from vips_core.sweeps.grid import Sweep

ALL = "all"
MODELS = {"lda": "Topics", "logistic": "Risk", "sbn": "Images"}
PAGES = {"lda": "topics", "logistic": "risk", "sbn": "images"}
LARGEST_CONFIG = 100_000  # characters
CAPTION = (
    "Newest first, pinned ones on top. Mark rows to compare them, to export reports, to pin or to delete."
)
NOTHING = "No run matches these filters."
NOTHING_YET = "Nothing was trained here yet. Begin on Topics, Risk or Images."

PART = Choice(
    "part", "Show", "history",
    {"history": "Runs", "budgets": "Budgets", "import": "Import"},
    "Runs and sweeps, the budgets of private data, or a run from a config file.",
)  # fmt: skip
MODEL = Choice("model", "Model", ALL, {ALL: "All models", **MODELS}, "Only runs of this model.")
STATUS = Choice(
    "status", "Status", ALL, {ALL: "Any status", **{name: name.capitalize() for name in STATUSES}},
    "Only runs in this state.",
)  # fmt: skip
METHOD = Choice(
    "method", "Method", ALL, {ALL: "All methods", **METHOD_NAMES, "sweep": "Sweeps"}, "Only this method."
)
DATA = Text("data", ALL, r"\w[\w .,-]{0,200}")
CHOSEN = Text("runs", None, r"[0-9a-f]{8}", several=True)
PARAMETERS = (PART, MODEL, DATA, STATUS, METHOD, CHOSEN)
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, GREY)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def method_of(run: RunRow) -> str:
    """Return a run's method, or that it is a sweep."""
    return "sweep" if run.kind == "sweep" else str(run.request["method"])


def filtered(runs: Sequence[RunRow], model: str, data: str, status: str, method: str) -> list[RunRow]:
    """Return the runs that match, those that are pinned first, then the newest."""
    found = [
        run
        for run in runs
        if model in (ALL, run.request["model"])
        and data in (ALL, run.data)
        and status in (ALL, run.status)
        and method in (ALL, method_of(run))
    ]
    return sorted(found, key=lambda run: not run.pinned)


def table(runs: Sequence[RunRow]) -> pd.DataFrame:
    """One row for each run."""
    rows = [
        {
            "Run": run.id,
            "Model": MODELS[run.request["model"]],
            "Method": label_of_method(run),
            "Data": run.data,
            "Status": run.status.capitalize(),
            "Progress": 100 * run.step // max(1, run.steps),
            "ε": _epsilon(run),
            "Held-out score": score_of(run),
            "Started": pd.Timestamp(run.started or run.created, unit="s"),
            "Seconds": None if run.started is None else round((run.ended or time.time()) - run.started, 1),
            "Pinned": "Pinned" if run.pinned else "",
        }
        for run in runs
    ]
    found = pd.DataFrame(rows)
    return found if any(run.pinned for run in runs) else found.drop(columns="Pinned", errors="ignore")


def label_of_method(run: RunRow) -> str:
    """Name a run's method for people."""
    return "Sweep" if run.kind == "sweep" else METHOD_NAMES[run.request["method"]]


def _epsilon(run: RunRow) -> str:
    if run.kind == "sweep":
        return "–"
    return "∞" if run.epsilon is None else number(run.epsilon)


def score_of(run: RunRow) -> str:
    """Return the score over all held-out records, while training the last one over some, with its name."""
    if run.kind == "sweep":
        return "–"
    name = TASKS[run.request["model"]].watched
    last = run.scores[-1][1] if run.scores else None
    score = library.held_out(run).get(name, last)
    return "–" if score is None else f"{name} {number(score)}"


def name_of(run: RunRow) -> str:
    """Name a run in comparisons."""
    return f"{label_of_method(run)} {run.id}"


def settings(runs: Sequence[RunRow]) -> pd.DataFrame:
    """What was asked for, one column for each run; of several, only what differs."""
    fits = [run for run in runs if run.kind == "fit"]
    names = list(dict.fromkeys(name for run in fits for name in run.request))
    rows = []
    for name in names:
        values = [run.request.get(name) for run in fits]
        if len(fits) == 1 or len({str(value) for value in values}) > 1:
            rows.append(
                {"Setting": name} | {name_of(run): _value(v) for run, v in zip(fits, values, strict=True)}
            )
    return pd.DataFrame(rows, columns=["Setting", *(name_of(run) for run in fits)])


def _value(value: Any) -> str:
    return "–" if value is None else brief(value)


@dataclass(frozen=True)
class Released:
    """What a run left: ε by every accountant from its ledger, and its held-out scores."""

    accounts: Mapping[str, Account]
    scores: Mapping[str, float]


def released(home: str, run_id: str, status: str) -> Released:
    """Judge the ledger of a run that has ended, which may have left nothing; slow, so for the background."""
    store = Store(Path(home))
    folder = store.folder(run_id)
    if not (folder / "result.json").exists():
        return Released({}, {})
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    found: dict[str, Account] = {}
    if (folder / "ledger.json").exists():
        events = Ledger.from_json((folder / "ledger.json").read_text(encoding="utf-8")).events()
        delta = store.run(run_id).request["delta"]
        found = {name: accountants.account(events, delta, name) for name in ACCOUNTANTS}
    elif result["epsilon"].get("pure") is not None:
        found = {"pure": Account(result["epsilon"]["pure"], "For replacing one record, at δ = 0.")}
    return Released(found, result["held_out"])


def accounts_table(runs: Sequence[RunRow], found: Mapping[str, Released | None]) -> pd.DataFrame:
    """ε by accountant (rows) and run (columns), from the ledgers."""
    names = dict.fromkeys(name for item in found.values() if item for name in item.accounts)
    rows = []
    for name in names:
        label = ACCOUNTANTS[name].label if name in ACCOUNTANTS else "Its own proof"
        row = {"Accountant": label}
        for run in runs:
            item = found.get(run.id)
            account = item.accounts.get(name) if item else None
            row[name_of(run)] = number(account.epsilon) if account else "–"
        rows.append(row)
    return pd.DataFrame(rows)


def scores_table(runs: Sequence[RunRow], found: Mapping[str, Released | None]) -> pd.DataFrame:
    """Held-out scores (rows) by run (columns)."""
    names = dict.fromkeys(name for item in found.values() if item for name in item.scores)
    rows = []
    for name in names:
        values = {run.id: (found[run.id].scores if found.get(run.id) else {}).get(name) for run in runs}
        rows.append(
            {"Held-out score": name}
            | {name_of(run): "–" if values[run.id] is None else f"{values[run.id]:.4g}" for run in runs}
        )
    return pd.DataFrame(rows)


def score_curves(runs: Sequence[RunRow]) -> pd.DataFrame:
    """The followed score after steps, one row for each look."""
    rows = [
        {"Run": name_of(run), "Model": run.request["model"], "Step": step, "Score": value}
        for run in runs
        for step, value in run.scores
    ]
    return pd.DataFrame(rows, columns=["Run", "Model", "Step", "Score"])


def curves_figure(rows: pd.DataFrame, score: str) -> Figure:
    """The followed score of runs of one model while they trained."""
    traces = []
    for index, (name, part) in enumerate(rows.groupby("Run", sort=False)):
        colour = _COLOURS[index % len(_COLOURS)]
        traces.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": name, "x": part["Step"].tolist(),
                "y": part["Score"].tolist(), "marker": {"size": 6, "color": colour},
                "line": {"color": colour, "width": 2.5, "dash": _DASHES[index % len(_DASHES)]},
                "hovertemplate": f"{name}: step %{{x}}, %{{y:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    return figure(
        traces, {"title": {"text": "Step"}, "rangemode": "tozero"}, {"title": {"text": f"Held-out {score}"}}
    )


def page_values(request: Request) -> dict[str, str]:
    """Return a request as values of its page's address."""
    table = request.to_mapping()
    values = {name: str(value) for name, value in table.items() if name not in ("model", "method")}
    return values | {"methods": request.method}


def read_config(text: str) -> Request | Sweep:
    """Read a config of a run or a sweep; `ValueError` with one sentence where it is neither."""
    if len(text) > LARGEST_CONFIG:
        raise ValueError(f"a config must have at most {LARGEST_CONFIG:,} characters, got {len(text):,}")
    given = read_toml(text)
    several = any(isinstance(value, list) for value in given.values()) or {"grid", "seeds"} & given.keys()
    return Sweep.from_mapping(given) if several else Request.from_mapping(given)

"""The inputs of the Runs page, each with its name in the address, and what it reads from the store."""

import json
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dashboard.state import Choice, Text
from dashboard.views.runs import text
from vips_core import ACCOUNTANTS, Ledger
from vips_core.jobs import execution
from vips_core.jobs.request import Request
from vips_core.models.task import TITLES
from vips_core.privacy import accountants
from vips_core.privacy.accountants import Account
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import AUDIT, FIT, STATUSES, SWEEP, RunRow
from vips_core.store.store import Store
from vips_core.sweeps.grid import Sweep
from vips_core.toml import read_toml

ALL = "all"
HISTORY, BUDGETS, IMPORT = "history", "budgets", "import"
LARGEST_CONFIG = 100_000  # most characters of a config: a hundred times a large sweep's, parsed in a moment
OWN_PROOF = "pure"  # stands among the accountants for a method's own privacy proof

PART = Choice(
    "part", "Show", HISTORY, {HISTORY: "Runs", BUDGETS: "Budgets", IMPORT: "Import"}, text.PART_HELP
)
# A ChainMap also lists models that are registered later.
MODEL = Choice("model", "Model", ALL, ChainMap(TITLES, {ALL: "All models"}), "Show runs of this model only.")
DATA = Text("data", ALL, r"\w[\w .,-]{0,200}")
_STATUSES = {ALL: "Any status", **{name: name.capitalize() for name in STATUSES}}
STATUS = Choice("status", "Status", ALL, _STATUSES, "Show runs with this status only.")
_METHODS = {ALL: "All methods", **METHOD_NAMES, SWEEP: "Sweeps", AUDIT: "Audits"}
METHOD = Choice("method", "Method", ALL, _METHODS, "Show runs of this method only.")
CHOSEN = Text("runs", None, r"[0-9a-f]{8}", several=True)
PARAMETERS = (PART, MODEL, DATA, STATUS, METHOD, CHOSEN)


def matching(runs: Sequence[RunRow], model: str, data: str, status: str, method: str) -> list[RunRow]:
    """Return the runs that match the filters, pinned ones first, then the newest."""
    matches = [
        run
        for run in runs
        if model in (ALL, run.request["model"])
        and data in (ALL, run.data)
        and status in (ALL, run.status)
        and method in (ALL, run.request["method"] if run.kind == FIT else run.kind)
    ]
    return sorted(matches, key=lambda run: not run.pinned)


@dataclass(frozen=True)
class RunResults:
    """The results of a run: ε by every accountant from its ledger, and its held-out scores."""

    accounts: Mapping[str, Account]
    scores: Mapping[str, float]


def run_results(home: str, run_id: str, status: str) -> RunResults:
    """Account for the ledger of an ended run and read its scores, if it left any; slow, so run it later."""
    store = Store(Path(home))
    folder = store.folder(run_id)
    if not (folder / execution.RESULT).exists():
        return RunResults({}, {})
    result = json.loads((folder / execution.RESULT).read_text(encoding="utf-8"))
    accounts: dict[str, Account] = {}
    if (folder / execution.LEDGER).exists():
        ledger = Ledger.from_json((folder / execution.LEDGER).read_text(encoding="utf-8"))
        delta = ledger.ideal_delta(store.run(run_id).request["delta"])
        accounts = {name: accountants.account(ledger.events(), delta, name) for name in ACCOUNTANTS}
    elif result["epsilon"].get(OWN_PROOF) is not None:
        note = "For replacing one record, at δ = 0."
        accounts = {OWN_PROOF: Account(result["epsilon"][OWN_PROOF], note)}
    return RunResults(accounts, result["held_out"])


def page_values(request: Request) -> dict[str, str]:
    """Return a request as values in its page's address."""
    values = {name: str(value) for name, value in request.values.items()}
    return {"data": request.data, **values, "methods": request.method}


def read_config(text: str) -> Request | Sweep:
    """Read the config of a run or sweep, or raise `ValueError` with one sentence."""
    if len(text) > LARGEST_CONFIG:
        raise ValueError(f"a config must have at most {LARGEST_CONFIG:,} characters, got {len(text):,}")
    given = read_toml(text)
    several = any(isinstance(value, list) for value in given.values()) or {"grid", "seeds"} & given.keys()
    return Sweep.from_mapping(given) if several else Request.from_mapping(given)

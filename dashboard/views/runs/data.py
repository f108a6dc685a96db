"""What the Runs page asks of the store: runs that match, what a run left, and what a config asks for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dashboard.views.runs.parameters import ALL, AUDITS, SWEEPS
from vips_core import ACCOUNTANTS, Ledger
from vips_core.jobs.request import Request
from vips_core.privacy import accountants
from vips_core.privacy.accountants import Account
from vips_core.store.rows import AUDIT, SWEEP, RunRow
from vips_core.store.store import Store
from vips_core.sweeps.grid import Sweep
from vips_core.toml import read_toml

LARGEST_CONFIG = 100_000  # characters
OWN_PROOF = "pure"  # among the accounts: ε of a method with a proof of its own


def matching(runs: Sequence[RunRow], model: str, data: str, status: str, method: str) -> list[RunRow]:
    """Return the runs that match, those that are pinned first, then the newest."""
    matches = [
        run
        for run in runs
        if model in (ALL, run.request["model"])
        and data in (ALL, run.data)
        and status in (ALL, run.status)
        and method in (ALL, _method(run))
    ]
    return sorted(matches, key=lambda run: not run.pinned)


def _method(run: RunRow) -> str:
    """Return what the filter by method calls a run."""
    return {SWEEP: SWEEPS, AUDIT: AUDITS}.get(run.kind) or str(run.request["method"])


@dataclass(frozen=True)
class RunResults:
    """What a run left: ε by every accountant from its ledger, and its held-out scores."""

    accounts: Mapping[str, Account]
    scores: Mapping[str, float]


def run_results(home: str, run_id: str, status: str) -> RunResults:
    """Judge the ledger of a run that has ended, which may have left nothing; slow, so for the background."""
    store = Store(Path(home))
    folder = store.folder(run_id)
    if not (folder / "result.json").exists():
        return RunResults({}, {})
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    accounts: dict[str, Account] = {}
    if (folder / "ledger.json").exists():
        events = Ledger.from_json((folder / "ledger.json").read_text(encoding="utf-8")).events()
        delta = store.run(run_id).request["delta"]
        accounts = {name: accountants.account(events, delta, name) for name in ACCOUNTANTS}
    elif result["epsilon"].get(OWN_PROOF) is not None:
        note = "For replacing one record, at δ = 0."
        accounts = {OWN_PROOF: Account(result["epsilon"][OWN_PROOF], note)}
    return RunResults(accounts, result["held_out"])


def page_values(request: Request) -> dict[str, str]:
    """Return a request as values of its page's address."""
    values = request.to_mapping().items()
    return {name: str(value) for name, value in values if name not in ("model", "method")} | {
        "methods": request.method
    }


def read_config(text: str) -> Request | Sweep:
    """Read a config of a run or a sweep; `ValueError` with one sentence where it is neither."""
    if len(text) > LARGEST_CONFIG:
        raise ValueError(f"a config must have at most {LARGEST_CONFIG:,} characters, got {len(text):,}")
    given = read_toml(text)
    several = any(isinstance(value, list) for value in given.values()) or {"grid", "seeds"} & given.keys()
    return Sweep.from_mapping(given) if several else Request.from_mapping(given)

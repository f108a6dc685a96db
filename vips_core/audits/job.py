"""An audit as a run of the store: its request, its submission, and its execution."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vips_core.audits.run_attack import OneRunAudit, attack_one_run
from vips_core.audits.verdict import RUN, WALL, Verdict, roc, verdict
from vips_core.audits.wall_attack import WallAudit, attack_the_wall
from vips_core.csv_text import to_csv
from vips_core.jobs.lifecycle import ClaimedRun
from vips_core.jobs.request import Request
from vips_core.jobs.submission import Prepared, prepare
from vips_core.jobs.worker import OnStep
from vips_core.models.base import for_records
from vips_core.options import Option
from vips_core.records import DataSet
from vips_core.store.rows import AUDIT, CANCELLED, DONE
from vips_core.store.store import Store
from vips_core.toml import to_toml

if TYPE_CHECKING:
    import pandas as pd

VERDICT, ROC = "audit.json", "roc.csv"
OPTIONS: Mapping[str, Option] = {
    "attack": Option(
        str,
        "At the wall: repeated releases of a step of every kind, with and without one person, and an "
        "inspection of noise, coins and bounds. One run: many canaries, each included by a fair coin.",
        WALL,
        choices={WALL: "At the wall", RUN: "One run"},
        label="Attack",
    ),
    "releases": Option(
        int,
        "At the wall: number of releases, half of them with the person. More give a tighter bound.",
        10_000,
        low=100,
        high=10**6,
        label="Releases",
    ),
    "canaries": Option(
        int,
        "In one run: number of canaries, which are made-up records.",
        500,
        low=4,
        high=10**4,
        label="Canaries",
    ),
    "confidence": Option(
        float,
        "Confidence of the lower bound: it is right with at least this probability.",
        0.95,
        low=0.5,
        high=0.999999,
        label="Confidence",
    ),
}
_PAUSE = 0.2  # seconds between two writes of progress to the store, so that fast releases do not wait for it


@dataclass(frozen=True)
class AuditRequest:
    """A request to attack one run's plan.

    Attributes
    ----------
    request
        The run that is attacked: its model, method, data and plan.
    values
        Values of `OPTIONS`.
    """

    request: Request
    values: Mapping[str, Any]

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "AuditRequest":
        """Check a flat table and complete it; `ValueError` with one sentence for the first mistake.

        Examples
        --------
        >>> table = {"model": "logistic", "data": "nhanes-stroke", "epsilon": 1, "delta": 1e-5}
        >>> AuditRequest.from_mapping({**table, "attack": "run"}).values["canaries"]
        500
        """
        given = {name: value for name, value in table.items() if name in OPTIONS and value is not None}
        values = {
            name: option.check(name, given.get(name, option.default)) for name, option in OPTIONS.items()
        }
        request = Request.from_mapping({name: value for name, value in table.items() if name not in OPTIONS})
        if not request.private:
            raise ValueError("an audit needs noise: without it ε is infinite, which nothing can refute")
        if request.chosen_method.pure is not None:
            raise ValueError(
                f"method {request.method} cannot be audited: it does not release through the wall"
            )
        return cls(request, values)

    def to_mapping(self) -> dict[str, Any]:
        """Return the request as a flat table."""
        return {**self.request.to_mapping(), **self.values}

    def to_toml(self) -> str:
        """Return the request as a config file."""
        return to_toml(self.to_mapping())

    def prepare(self, data: DataSet) -> Prepared:
        """Make model and plan; `ValueError` where the data are private or have too few records.

        Parameters
        ----------
        data
            Public records: the attacker has to know their raw statistics.

        Returns
        -------
        Prepared
            What the attack needs.
        """
        if data.private:
            raise ValueError(
                f"{data.name} is private: an audit needs raw statistics, so it runs on public data only"
            )
        canaries = self.values["canaries"]
        if self.values["attack"] == RUN and canaries > len(data.train):
            raise ValueError(f"canaries must be at most the {len(data.train):,} records, got {canaries:,}")
        return prepare(self.request, data)


def submit_audit(store: Store, table: Mapping[str, Any], *, held: bool = False) -> str:
    """Queue an audit; private data are refused.

    Parameters
    ----------
    store
        Store of the data.
    table
        The attack and its target, as in a config file.
    held
        Whether other processes leave it alone for a while, because the caller starts it.

    Returns
    -------
    str
        The run's name.
    """
    audit = AuditRequest.from_mapping(table)
    plan = audit.prepare(store.load(audit.request.data)).wall_plan
    steps = audit.values["releases"] if audit.values["attack"] == WALL else plan.steps
    # Without a plan, so that the store refuses private data once more.
    return store.queue(AUDIT, audit.to_mapping(), steps, held=held)


def run_audit(run: ClaimedRun, on_step: OnStep | None) -> None:
    """Run an audit and write verdict and ROC into its folder; a stopped attack keeps its results so far."""
    row = run.store.run(run.id)
    audit = AuditRequest.from_mapping(row.request)
    prepared = audit.prepare(run.store.load(row.data))
    progress = _Progress(run, on_step)
    attacked = attack(audit, prepared, progress)
    confidence = audit.values["confidence"]
    said = verdict(attacked, prepared.wall_plan, confidence)
    folder = run.store.folder(run.id)
    (folder / VERDICT).write_text(said.to_json(), encoding="utf-8")
    (folder / ROC).write_bytes(to_csv(roc(attacked, said.delta, confidence)))
    run.advance(progress.done, 0)
    run.finish(CANCELLED if progress.stopped else DONE, (), epsilon=said.claimed)


def attack(audit: AuditRequest, prepared: Prepared, on_attack: Any = None) -> WallAudit | OneRunAudit:
    """Attack the wall, or one run."""
    train, plan, seed = prepared.data.train, prepared.wall_plan, audit.request.seed
    model = for_records(prepared.model, train)
    if audit.values["attack"] == WALL:
        releases = audit.values["releases"]
        return attack_the_wall(model, train, plan, releases=releases, seed=seed, on_attack=on_attack)
    canaries = audit.values["canaries"]
    return attack_one_run(model, train, plan, canaries=canaries, seed=seed, on_attack=on_attack)


def results(store: Store, run_id: str) -> "tuple[Verdict, pd.DataFrame] | None":
    """Return verdict and ROC of an audit, None if the audit left none.

    Parameters
    ----------
    store
        Store of the audit.
    run_id
        Name of the audit.

    Returns
    -------
    tuple of Verdict and pandas.DataFrame, or None
        As `run_audit` wrote them.
    """
    import pandas as pd

    folder = store.folder(run_id)
    if not (folder / VERDICT).exists() or not (folder / ROC).exists():
        return None
    return Verdict.from_json((folder / VERDICT).read_text(encoding="utf-8")), pd.read_csv(folder / ROC)


class _Progress:
    """Called after each release or step: stores progress now and then, and notices a stop."""

    def __init__(self, run: ClaimedRun, on_step: OnStep | None) -> None:
        self._run, self._on_step, self._noted = run, on_step, 0.0
        self.done, self.stopped = 0, False

    def __call__(self, done: int) -> bool:
        self.done = done
        asked = self._on_step is not None and self._on_step(done) is True
        now = time.monotonic()
        if now - self._noted >= _PAUSE:
            self._noted = now
            asked = self._run.advance(done, 0) or asked
        self.stopped = self.stopped or asked
        return self.stopped

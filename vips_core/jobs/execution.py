"""One run from its plan to its results: train, save what was released first, then report."""

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vips_core import saved
from vips_core.csv_text import to_csv
from vips_core.engines.cluster import Cluster
from vips_core.fit import Fit, Progress, fit
from vips_core.jobs.request import Request
from vips_core.jobs.submission import Prepared
from vips_core.models.task import Task
from vips_core.privacy.accountants import stated
from vips_core.privacy.ledger import SEEDED
from vips_core.rounding import brief

RESCUE = "VIPS_RESCUE"  # environment variable: folder for results that cannot be written to the store
PURE = "ε is for replacing one record, at δ = 0, without a ledger: the proof covers the whole run."
REPORTED = ("moments", "strong", "pld")  # accountants in a result
WATCHES = 20  # most held-out scores computed while training
LEDGER, PARAMETERS, SETTINGS = saved.LEDGER, saved.PARAMETERS, saved.SETTINGS
RESULT, SUMMARY = "result.json", "summary.txt"
LOG = "worker.log"  # output of the process that does the run; it never leaves the store


def published_files(task: Task, folder: Path) -> list[Path]:
    """Return the files of a run that may leave the store, because they hold only what was released.

    Everything else in the folder (logs, locks, whatever comes later) stays in the store.
    """
    names = [RESULT, SUMMARY, LEDGER, PARAMETERS, SETTINGS, *(f"{name}.csv" for name in task.tables)]
    return [folder / name for name in names if (folder / name).exists()]


def run(
    prepared: Prepared, out: Path, on_step: Callable[[Progress[Any]], object] | None = None
) -> dict[str, Any]:
    """Train, and write ledger, parameters, tables and result into the folder `out`.

    Parameters
    ----------
    prepared
        Request, data, model and plan.
    out
        Folder for the published files.
    on_step
        Called after each step, as by `vips_core.fit`.

    Returns
    -------
    dict
        Scores, ε and cautions, as they were written.
    """
    request, data = prepared.request, prepared.data
    out.mkdir(parents=True, exist_ok=True)  # before any budget is spent
    if pure := request.chosen_method.pure:
        report, arrays = pure.train(request.values, data.train, data.test)
        np.savez_compressed(out / PARAMETERS, **arrays)
        releases, spent = 1, {"pure": request.get("epsilon")}
        cautions = [PURE] if request.seed is None else [PURE, SEEDED]
    else:
        trained = fit(
            prepared.model,
            data.train,
            prepared.wall_plan,
            seed=request.seed,
            on_step=on_step,
            cluster=Cluster.from_environment() if request.on_cluster else None,
        )
        trained.save(out)  # first: what was paid for must not be lost to a later mistake
        report, releases = request.task.report(trained, data.test), trained.ledger.steps
        spent = {name: trained.epsilon(name) if request.private else None for name in REPORTED}
        cautions = trained.ledger.cautions() + prepared.wall_plan.warnings()
        cautions += request.task.cautions(prepared.model, prepared.wall_plan)
        cautions += _stopped(prepared, releases)
    result = {
        "model": request.model,
        "method": request.method,
        "data": data.name,
        "plan": dataclasses.asdict(prepared.plan),
        "releases": releases,
        "epsilon": spent,
        "held_out": dict(report.scores),
        "cautions": cautions,
    }
    for name, table in report.tables.items():
        (out / f"{name}.csv").write_bytes(to_csv(table))
    (out / SUMMARY).write_text(report.text, encoding="utf-8")
    (out / RESULT).write_text(
        json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    return result


def _stopped(prepared: Prepared, steps: int) -> list[str]:
    """Warn that a stopped private run costs its whole ε: accountants take the number of steps as fixed."""
    plan = prepared.wall_plan
    if not prepared.request.private or steps == plan.steps:
        return []
    return [
        f"The run was stopped after {steps:,} of {plan.steps:,} steps. Whoever stopped it may have seen "
        "results before. Then the ε of the whole plan holds: "
        f"{stated(plan.epsilon())} at δ = {brief(plan.delta)}."
    ]


def epsilon_so_far(request: Request, progress: Progress[Any]) -> float:
    """Return ε by a fast accountant: exact for full batches, otherwise RDP.

    No part of a run costs more than the target of the whole.
    """
    accountant = "gaussian" if progress.plan.sampling_rate == 1 else "rdp"
    epsilon = progress.ledger.epsilon(progress.plan.delta, accountant)
    target = None if request.accountant == "strong_paper" else request.get("epsilon")  # whose ε is not proved
    return epsilon if target is None else min(epsilon, target)


def watch(prepared: Prepared, progress: Progress[Any]) -> float | None:
    """Return the task's held-out score at some steps, None at the others."""
    steps = prepared.wall_plan.steps
    if prepared.data.test is None or (progress.step % -(-steps // WATCHES) and progress.step != steps):
        return None
    so_far = Fit(prepared.model, progress.params, progress.ledger, progress.plan)
    return prepared.request.task.score_validation(so_far, prepared.data.test)


def rescue(name: str, trained: Fit[Any]) -> Path | None:
    """Save a fit in the folder of `VIPS_RESCUE`, or the system's temporary one; None if neither takes it."""
    for place in filter(None, (os.environ.get(RESCUE), tempfile.gettempdir())):
        folder = Path(place) / f"vips-run-{name}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            trained.save(folder)
            return folder
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
    return None

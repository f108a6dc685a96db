"""One run from request to results: train behind the wall, keep what was paid for, then report."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.fit import Fit, Progress, fit
from vips_core.privacy.ledger import SEEDED, Ledger
from vips_core.privacy.plan import PrivacyPlan
from vips_core.runs.request import Request, plan_for
from vips_core.runs.sources import DataSet
from vips_core.runs.tasks import Report

PURE = "ε is for replacing one record, at δ = 0, and has no ledger: it is proved as a whole."
REPORTED = ("moments", "pld")  # accountants in a result
WATCHES = 20  # scores that are taken while training, at most


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run leaves.

    Attributes
    ----------
    result
        Scores, ε and cautions, ready for JSON.
    report
        Tables and a text for people.
    """

    result: Mapping[str, Any]
    report: Report


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A run before its first release: everything about it is public."""

    request: Request
    data: DataSet
    model: Any
    plan: PrivacyPlan


def prepare(request: Request, data: DataSet) -> Prepared:
    """Make model and plan, so that every mistake shows before any budget is spent."""
    task, found = request.task, type(data.train)
    if not issubclass(found, task.kind):
        raise ValueError(
            f"{request.model} needs data of the kind {task.kind.__name__}, "
            f"but {data.name} is {found.__name__}"
        )
    if data.test is not None:
        task.check(data.test)
    model = task.model(request.method, request.values, data.train)
    return Prepared(request, data, model, plan_for(request, model, len(data.train)))


def run(prepared: Prepared, out: Path, on_step: Callable[[Progress[Any]], object] | None = None) -> Outcome:
    """Train, and write ledger, parameters, tables and result into the folder `out`."""
    request, data = prepared.request, prepared.data
    out.mkdir(parents=True, exist_ok=True)  # before any budget is spent
    rival = request.task.without_wall(request.method, request.values, data.train, data.test)
    if rival is not None:
        report, arrays = rival
        np.savez_compressed(out / "params.npz", **arrays)
        cautions = [PURE] if request.seed is None else [PURE, SEEDED]
        result = _result(prepared, report, 1, {"pure": request.get("epsilon")}, cautions)
    else:
        trained = fit(prepared.model, data.train, prepared.plan, seed=request.seed, on_step=on_step)
        _write_release(out, trained)  # first: what was paid for must not be lost to a later mistake
        report = request.task.report(trained, data.test)
        spent = {name: trained.epsilon(name) if request.private else None for name in REPORTED}
        cautions = trained.ledger.cautions() + prepared.plan.warnings()
        result = _result(prepared, report, trained.ledger.steps, spent, cautions)
    for name, table in report.tables.items():
        table.to_csv(out / f"{name}.csv", index=False)
    (out / "summary.txt").write_text(report.text, encoding="utf-8")
    (out / "result.json").write_text(
        json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    return Outcome(result, report)


def epsilon_so_far(progress: Progress[Any]) -> float:
    """ε by an accountant that answers at once: exact for full batches, otherwise RDP."""
    accountant = "gaussian" if progress.plan.sampling_rate == 1 else "rdp"
    return progress.ledger.epsilon(progress.plan.delta, accountant)


def watch(prepared: Prepared, progress: Progress[Any]) -> float | None:
    """Return the task's held-out score after some of the steps, None after the others."""
    every = -(-prepared.plan.steps // WATCHES)
    if prepared.data.test is None or (progress.step % every and progress.step != prepared.plan.steps):
        return None
    so_far = Fit(prepared.model, progress.params, progress.ledger, progress.plan)
    return prepared.request.task.watch(so_far, prepared.data.test)


def restore(prepared: Prepared, out: Path) -> Fit[Any]:
    """Return the fit whose release is in the folder `out`."""
    template = prepared.model.init(prepared.plan, np.random.default_rng(0))
    try:
        with (out / "params.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            params = _params_like(template, dict(arrays))
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise ValueError(f"the parameters of this run cannot be read: {error}") from None
    ledger = Ledger.from_json((out / "ledger.json").read_text(encoding="utf-8"))
    return Fit(prepared.model, params, ledger, prepared.plan)


def _result(
    prepared: Prepared,
    report: Report,
    releases: int,
    spent: Mapping[str, float | None],
    cautions: list[str],
) -> dict[str, Any]:
    return {
        "model": prepared.request.model,
        "method": prepared.request.method,
        "data": prepared.data.name,
        "plan": dataclasses.asdict(prepared.plan),
        "releases": releases,
        "epsilon": dict(spent),
        "held_out": dict(report.scores),
        "cautions": cautions,
    }


def _write_release(out: Path, trained: Fit[Any]) -> None:
    (out / "ledger.json").write_text(trained.ledger.to_json(), encoding="utf-8")
    np.savez_compressed(out / "params.npz", **_arrays(trained.params))


def _arrays(params: Any, prefix: str = "") -> dict[str, Any]:
    """Flatten a dataclass of arrays, numbers and further dataclasses to named arrays."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if dataclasses.is_dataclass(value):
            found |= _arrays(value, f"{prefix}{field.name}.")
        elif value is not None:
            found[prefix + field.name] = np.asarray(value)
    return found


def _params_like(template: Any, arrays: Mapping[str, Any], prefix: str = "") -> Any:
    """Undo `_arrays`, with the types that `template` has."""
    values = {}
    for field in dataclasses.fields(template):
        like, name = getattr(template, field.name), prefix + field.name
        if dataclasses.is_dataclass(like):
            values[field.name] = _params_like(like, arrays, f"{name}.")
        elif name not in arrays:
            values[field.name] = None
        else:
            found = arrays[name]
            values[field.name] = found.item() if found.ndim == 0 else found
    return dataclasses.replace(template, **values)

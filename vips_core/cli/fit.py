"""`vips-explorer fit`: train a model privately and write what may be published."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.fit import Fit, Progress, fit, recommend
from vips_core.privacy.ledger import SEEDED
from vips_core.privacy.plan import PrivacyPlan
from vips_core.runs.tasks import TASKS, Report, Task

_BAR = 24


def add_fit(commands: Any) -> None:
    """Declare the options of `fit` for each model."""
    parser = commands.add_parser("fit", help="train a model privately")
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL")
    for name, task in TASKS.items():
        options = models.add_parser(name, help=task.help)
        options.add_argument("--data", required=True, help=f"{task.samples}, or a file")
        options.add_argument("--test", help="file of held-out records that are public; only these are scored")
        spend = options.add_mutually_exclusive_group(required=True)
        spend.add_argument("--epsilon", type=float, help="ε to spend")
        spend.add_argument("--noise", type=float, help="σ, noise multiplier; 0 trains without privacy")
        options.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")
        options.add_argument("--epochs", type=float, default=task.epochs, help="passes over the data")
        options.add_argument("--batch", type=int, help="expected batch size (default: the model's choice)")
        options.add_argument("--accountant", default="pld", help="accountant that ε is calibrated by")
        options.add_argument("--method", choices=task.methods, default=task.methods[0])
        options.add_argument("--seed", type=int, help="repeat exactly, as a demonstration without guarantee")
        options.add_argument("--out", type=Path, required=True, help="folder for the results")
        options.add_argument("--json", action="store_true", help="print a JSON object")
        task.add_options(options)
        options.set_defaults(run=_fit, task=task)


def _fit(options: argparse.Namespace) -> None:
    task: Task = options.task
    train, test = task.load(options)
    rival = task.without_wall(options, train, test)
    if rival is not None:
        _report_rival(options, rival)
        return
    model = task.model(options, train)
    plan = _plan(options, task, model, len(train))
    options.out.mkdir(parents=True, exist_ok=True)  # before any budget is spent
    trained = fit(model, train, plan, seed=options.seed, on_step=None if options.json else _show_progress)
    _write_release(options.out, trained)  # first: what was paid for must not be lost to a later mistake
    report = task.report(trained, test)
    result = {
        "model": options.model,
        "method": options.method,
        "plan": dataclasses.asdict(plan),
        "epsilon": {
            name: trained.epsilon(name) if plan.noise_multiplier else None for name in ("moments", "pld")
        },
        "held_out": report.scores,
        "cautions": trained.ledger.cautions() + plan.warnings(),
    }
    _write_report(options.out, report.tables, result)
    if options.json:
        print(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(result, report.text, options.out)


def _report_rival(options: argparse.Namespace, report: Report) -> None:
    cautions = ["ε is for replacing one record, at δ = 0, and has no ledger: it is proved as a whole."]
    if options.seed is not None:
        cautions.append(SEEDED)
    result = {
        "model": options.model,
        "method": options.method,
        "epsilon": {"pure": options.epsilon},
        "held_out": report.scores,
        "cautions": cautions,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    _write_report(options.out, report.tables, result)
    print(json.dumps(result, indent=2, ensure_ascii=False) if options.json else f"{report.text}\n{result}")


def _plan(options: argparse.Namespace, task: Task, model: Any, records: int) -> PrivacyPlan:
    epsilon = 1.0 if options.epsilon is None else options.epsilon
    plan = recommend(model, records=records, epsilon=epsilon, delta=options.delta, epochs=options.epochs)
    if options.batch is not None:
        plan = plan.replace(expected_batch=options.batch, epochs=options.epochs)
    if options.noise is not None:
        return plan.replace(noise_multiplier=options.noise)
    accountant = task.accountant(options)
    if options.batch is not None or accountant != "pld":
        plan = plan.calibrate(epsilon, accountant)
    return plan


def _show_progress(progress: Progress[Any]) -> None:
    done = progress.step * _BAR // progress.plan.steps
    print(
        f"\r{'█' * done}{'·' * (_BAR - done)} step {progress.step}/{progress.plan.steps}, "
        f"ε so far {_epsilon_so_far(progress)}",
        end="\n" if progress.step == progress.plan.steps else "",
        file=sys.stderr,
        flush=True,
    )


def _epsilon_so_far(progress: Progress[Any]) -> str:
    """ε by an accountant that answers at once: exact for full batches, otherwise RDP."""
    if progress.plan.noise_multiplier == 0:
        return "∞"
    accountant = "gaussian" if progress.plan.sampling_rate == 1 else "rdp"
    return f"{progress.ledger.epsilon(progress.plan.delta, accountant):.3f}"


def _write_release(out: Path, trained: Fit[Any]) -> None:
    (out / "ledger.json").write_text(trained.ledger.to_json(), encoding="utf-8")
    np.savez_compressed(out / "params.npz", **_arrays(trained.params))


def _write_report(out: Path, tables: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    (out / "result.json").write_text(json.dumps(result, indent=2, ensure_ascii=False), encoding="utf-8")
    for name, table in tables.items():
        table.to_csv(out / f"{name}.csv", index=False)


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


def _print(result: Mapping[str, Any], text: str, out: Path) -> None:
    plan = result["plan"]
    cost = ", ".join(f"{name} {value:.4f}" for name, value in result["epsilon"].items() if value is not None)
    print(text)
    print(
        f"\nReleased {plan['steps']} times with σ = {plan['noise_multiplier']:.4g}, q = "
        f"{plan['expected_batch'] / plan['records']:.4g}. "
        + (f"ε at δ = {plan['delta']:g}: {cost}." if cost else "No privacy: ε = ∞.")
    )
    if result["held_out"]:
        print(
            "Held out: "
            + ", ".join(f"{name} {value:.4g}" for name, value in result["held_out"].items())
            + "."
        )
    else:
        print("No scores: give public held-out records with --test to get them.")
    for caution in result["cautions"]:
        print(f"Warning: {caution}")
    print(f"Written to {out}: result.json, ledger.json, params.npz and tables.")

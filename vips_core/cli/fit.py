"""`vips-explorer fit`: train a model privately and write what may be published."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vips_core.fit import Progress
from vips_core.runs import execution, sources
from vips_core.runs.options import SPENDING, Option
from vips_core.runs.request import Request
from vips_core.runs.tasks import TASKS

_BAR = 24


def add_fit(commands: Any) -> None:
    """Declare the options of `fit` for each model."""
    parser = commands.add_parser("fit", help="train a model privately")
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL")
    for name, task in TASKS.items():
        options = models.add_parser(name, help=task.help)
        samples = [name for name, sample in sources.BUILT_IN.items() if sample.kind is task.kind]
        options.add_argument("--data", required=True, help=f"{', '.join(samples)}, or a file")
        options.add_argument("--test", help="file of held-out records that are public; only these are scored")
        options.add_argument("--method", choices=task.methods, default=task.methods[0])
        _add(options, {**SPENDING, **task.options, **sources.FILE_OPTIONS[task.kind]})
        options.add_argument("--out", type=Path, required=True, help="folder for the results")
        options.add_argument("--json", action="store_true", help="print a JSON object")
        options.set_defaults(run=_fit)


def _add(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    for name, option in options.items():
        parser.add_argument(f"--{name}", type=option.kind, help=option.help)


def _fit(options: argparse.Namespace) -> None:
    given = vars(options)
    task = TASKS[options.model]
    known = ("model", "data", "method", *SPENDING, *task.options)
    request = Request.from_mapping({name: given[name] for name in known})
    prepared = execution.prepare(request, _data(options, task.kind))
    outcome = execution.run(prepared, options.out, None if options.json else _show_progress)
    if options.json:
        print(json.dumps(outcome.result, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(outcome.result, outcome.report.text, options.out)


def _data(options: argparse.Namespace, kind: type) -> sources.DataSet:
    about = {name: getattr(options, name) for name in sources.FILE_OPTIONS[kind]}
    about = {name: value for name, value in about.items() if value is not None}
    if options.data in sources.BUILT_IN:
        data = sources.built_in(options.data)
    else:
        data = sources.DataSet(
            options.data, sources.read(kind, Path(options.data), about), None, private=True
        )
    if options.test is None:
        return data
    return sources.DataSet(data.name, data.train, sources.read(kind, Path(options.test), about), data.private)


def _show_progress(progress: Progress[Any]) -> None:
    done = progress.step * _BAR // progress.plan.steps
    spent = "∞" if progress.plan.noise_multiplier == 0 else f"{execution.epsilon_so_far(progress):.3f}"
    print(
        f"\r{'█' * done}{'·' * (_BAR - done)} step {progress.step}/{progress.plan.steps}, ε so far {spent}",
        end="\n" if progress.step == progress.plan.steps else "",
        file=sys.stderr,
        flush=True,
    )


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

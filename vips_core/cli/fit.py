"""`vips-explorer fit`: train a model privately and write what may be published."""

import argparse
import contextlib
import dataclasses
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vips_core.cli.data import add_file_options, describe_cap, read_files, register
from vips_core.cli.terminal import (
    add_cluster_options,
    add_command,
    add_options,
    add_subcommands,
    chosen_cluster,
    print_answer,
    progress_bar,
    show,
)
from vips_core.fit import Progress
from vips_core.jobs import execution, supervisor, worker
from vips_core.jobs.request import SPENDING, Request
from vips_core.jobs.submission import Prepared, prepare, queue
from vips_core.models.task import REFINED, TASKS, Task
from vips_core.privacy.accountants import stated
from vips_core.records import DataSet
from vips_core.records.samples import samples_of
from vips_core.rounding import brief
from vips_core.store.pools import KnownPeople
from vips_core.store.rows import CANCELLED
from vips_core.store.store import Store
from vips_core.toml import read_toml_file


def add_fit(commands: Any) -> None:
    """Declare the options of `fit` for each model."""
    parser = add_command(commands, "fit", _fit_config, "train a model privately")
    parser.add_argument("--config", type=Path, help="TOML file with all options, instead of MODEL")
    _add_output(parser)
    models = add_subcommands(parser, "MODEL", required=False)
    for name, task in TASKS.items():
        options = add_command(models, name, _fit_options, task.help)
        add_request(options, task, f"a registered data set, or a file: {task.records.formats}")
        add_file_options(options, task.records)
        _add_output(options)


def add_request(parser: argparse.ArgumentParser, task: Task, other_data: str) -> None:
    """Declare the options of a request; `other_data` names what `--data` accepts besides samples."""
    parser.add_argument("--data", required=True, help=f"{', '.join(samples_of(task.kind))}, {other_data}")
    parser.add_argument("--method", choices=task.methods, default=REFINED)
    add_options(parser, {**SPENDING, **task.options})


def requested(options: argparse.Namespace) -> dict[str, Any]:
    """Return the request that the options of `add_request` hold, as a table."""
    names = ("model", "data", "method", *SPENDING, *TASKS[options.model].options)
    return {name: getattr(options, name) for name in names}


def print_queued(store: Store, run_id: str, options: argparse.Namespace) -> None:
    """Run in the background, and print how to follow the run."""
    supervisor.detach(store)
    print_answer(
        options, {"run": run_id}, f"Run {run_id} is queued; follow it with vips-explorer runs show {run_id}"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, help="folder for a copy of the results")
    parser.add_argument("--background", action="store_true", help="queue the run and return at once")
    add_cluster_options(parser)


def _fit_config(options: argparse.Namespace) -> None:
    if options.config is None:
        raise ValueError(f"name a model ({', '.join(TASKS)}) or give --config")
    store, request = Store(), _request(read_toml_file(options.config), options)
    _run(store, prepare(request, store.load(request.data)), options)


def _fit_options(options: argparse.Namespace) -> None:
    store, request = Store(), _request(requested(options), options)
    if request.data not in {row.name for row in store.data_sets()}:
        data = read_files(options, request.task.records)
        request = dataclasses.replace(request, data=data.name)
        prepared = prepare(request, data)  # a mistake shows before anything is registered
        _register(store, data, options)
        # The fingerprint decides whose budget is charged; the name may stand for other records by now.
        data = dataclasses.replace(data, fingerprint=store.fingerprint(data.train))
        prepared = dataclasses.replace(prepared, data=data)
    elif options.test is not None or options.public:
        raise ValueError(f"{request.data} is a data set already: --test and --public are only for new files")
    else:
        prepared = prepare(request, store.load(request.data))
    _run(store, prepared, options)


def _request(table: Mapping[str, Any], options: argparse.Namespace) -> Request:
    return Request.from_mapping({**table, "engine": "cluster"} if chosen_cluster(options) else table)


def _register(store: Store, data: DataSet, options: argparse.Namespace) -> None:
    """Register public records, or private ones that have a cap under another name."""
    if data.private:
        _check_known(store, data, options)
    try:
        row = register(store, data, options)
    except KnownPeople as known:
        raise ValueError(f"{known.found}; register it with vips-explorer data add first") from None
    if row.private:
        show(describe_cap(row.name, row.cap))


def _check_known(store: Store, data: DataSet, options: argparse.Namespace) -> None:
    """Refuse private records that have no cap, or whose cap was set for another unit."""
    cap, declared = store.known(data.train)
    if cap is None:
        raise ValueError(
            f"{data.name} is private and has no cap yet: register it with one, by vips-explorer data add "
            f"{data.train.kind} {options.data} --epsilon E --delta D, or give --public"
        )
    column = declared.get("person_column")
    if column != options.person:
        unit = f"by {column}: give --person {column}" if column else "record by record: leave out --person"
        raise ValueError(
            f"{options.data} is registered as protected {unit}, or register it again with data add"
        )
    options.person_namespace = options.person_namespace or declared.get("person_namespace")


def _run(store: Store, prepared: Prepared, options: argparse.Namespace) -> None:
    if options.background:
        if options.out is not None:
            raise ValueError("--background excludes --out: use runs export when the run has ended")
        supervisor.limit()  # refuses a bad VIPS_WORKERS before anything is reserved
        print_queued(store, queue(store, prepared), options)
        return
    request, steps = prepared.request, prepared.plan.steps
    with contextlib.ExitStack() as bars:

        def show_progress(run_id: str) -> worker.OnStep:
            if options.out is not None:
                options.out.mkdir(parents=True, exist_ok=True)  # before any budget is spent
            bar = bars.enter_context(progress_bar(steps, "step", hidden=options.json))

            def on_step(progress: Progress[Any]) -> None:
                if bar.update(progress.step - bar.n) or progress.step == steps:
                    epsilon = execution.epsilon_so_far(request, progress) if request.private else None
                    bar.set_postfix_str(f"ε so far {stated(epsilon)}")

            return on_step

        run, _ = worker.work_in_foreground(store, prepared, show_progress)
    _print_outcome(store, run.id, request, options)
    if run.status == CANCELLED:
        raise KeyboardInterrupt


def _print_outcome(store: Store, run_id: str, request: Request, options: argparse.Namespace) -> None:
    folder = store.folder(run_id)
    if not (folder / execution.RESULT).exists():
        return  # stopped before its first release
    if options.out is not None:
        try:
            for file in execution.published_files(request.task, folder):
                shutil.copy(file, options.out)
        except OSError as error:
            raise ValueError(
                f"run {run_id} has ended and its results are in {folder}, but they cannot be copied to "
                f"{options.out}: {error.strerror}"
            ) from None
    result = json.loads((folder / execution.RESULT).read_text(encoding="utf-8"))
    lines = result_lines(result, (folder / execution.SUMMARY).read_text(encoding="utf-8"))
    where = f"Run {run_id}. Results are in {options.out or folder}: result.json, params.npz and more."
    print_answer(options, result, *lines, where)


def _cost(result: Mapping[str, Any]) -> str:
    plan = result["plan"]
    if "pure" in result["epsilon"]:
        return f"Released once, with its own privacy proof: ε = {stated(plan['epsilon'])}."
    spent = {name: value for name, value in result["epsilon"].items() if value is not None}
    cost = ", ".join(f"{name} {stated(value)}" for name, value in spent.items())
    return (
        f"Released {result['releases']} times with σ = {plan['noise_multiplier']:.4g}, q = "
        f"{plan['expected_batch'] / plan['records']:.4g}. "
        + (f"ε at δ = {brief(plan['delta'])}: {cost}." if cost else "No privacy: ε = ∞.")
    )


def result_lines(result: Mapping[str, Any], summary: str) -> list[str]:
    """Return a run's results and cost, line by line."""
    scores = ", ".join(f"{name} {value:.4g}" for name, value in result["held_out"].items())
    missing = "No scores: they need public held-out records, given with --test."
    cautions = [f"Warning: {caution}" for caution in result["cautions"]]
    return [f"{summary}\n", _cost(result), f"Held out: {scores}." if scores else missing, *cautions]

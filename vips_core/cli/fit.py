"""`vips-explorer fit`: train a model privately and write what may be published."""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vips_core.cli.data import add_file_options, add_options, describe_cap, read_files
from vips_core.fit import Progress
from vips_core.runs import execution, sources, supervisor, worker
from vips_core.runs.budget import Cap
from vips_core.runs.datasets import UNITS
from vips_core.runs.options import SPENDING
from vips_core.runs.request import Request, read_config
from vips_core.runs.rows import CANCELLED, FAILED
from vips_core.runs.store import Store
from vips_core.runs.tasks import TASKS

DEFAULT_CAP = 10.0  # ε of a private file that was not registered with another
_BAR = 24
_KEPT_BACK = ("alive", "worker.log")  # files of a run that are no results


def add_fit(commands: Any) -> None:
    """Declare the options of `fit` for each model."""
    parser = commands.add_parser("fit", help="train a model privately")
    parser.add_argument("--config", type=Path, help="TOML file with all options, instead of MODEL")
    _add_output(parser)
    parser.set_defaults(run=_fit_config)
    models = parser.add_subparsers(dest="model", metavar="MODEL")
    for name, task in TASKS.items():
        options = models.add_parser(name, help=task.help)
        samples = [name for name, sample in sources.BUILT_IN.items() if sample.kind is task.kind]
        options.add_argument(
            "--data", required=True, help=f"{', '.join(samples)}, a known data set, or a file"
        )
        options.add_argument("--method", choices=task.methods, default=task.methods[0])
        add_options(options, {**SPENDING, **task.options})
        add_file_options(options, task.kind)
        _add_output(options)
        options.set_defaults(run=_fit_options)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, help="folder for a copy of the results")
    parser.add_argument("--background", action="store_true", help="queue the run and return at once")
    parser.add_argument("--json", action="store_true", help="print a JSON object")


def _fit_config(options: argparse.Namespace) -> None:
    if options.config is None:
        raise ValueError(f"name a model ({', '.join(TASKS)}) or give --config")
    _run(Store(), Request.from_mapping(read_config(options.config)), options)


def _fit_options(options: argparse.Namespace) -> None:
    task, store = TASKS[options.model], Store()
    known = ("model", "data", "method", *SPENDING, *task.options)
    table = {name: getattr(options, name) for name in known}
    request = Request.from_mapping(table)
    if request.data not in {row.name for row in store.data_sets()}:
        data = read_files(options, task.kind)
        request = Request.from_mapping(table | {"data": data.name})
        execution.prepare(request, data)  # a mistake in the request shows before anything is registered
        _register(store, data, request)
    elif options.test is not None or options.public:
        raise ValueError(f"{request.data} is known already: --test and --public belong to new files")
    _run(store, request, options)


def _register(store: Store, data: sources.DataSet, request: Request) -> None:
    cap = None
    if data.private:
        cap = store.known_cap(data.train) or Cap(DEFAULT_CAP, request.get("delta"))
    row = store.add_data(
        data.name, data.train, data.test, private=data.private, cap=cap, unit=UNITS[request.model]
    )
    if row.private:
        print(describe_cap(row.name, row.cap), file=sys.stderr)


def _run(store: Store, request: Request, options: argparse.Namespace) -> None:
    if options.background:
        _queue(store, request, options)
        return
    run_id = store.submit(request, held=True)
    try:
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)  # before any budget is spent
    except OSError:
        store.cancel(run_id)
        raise
    with _interruptible() as stopped:

        def on_step(progress: Progress[Any]) -> bool:
            if not options.json:
                _show_progress(progress)
            return stopped.is_set()

        worker.work(store, run_id, on_step)
    row = store.run(run_id)
    if row.status == FAILED:
        raise ValueError(f"run {run_id} failed: {row.error}")
    _print_outcome(store, run_id, options)
    if row.status == CANCELLED:
        raise KeyboardInterrupt


def _queue(store: Store, request: Request, options: argparse.Namespace) -> None:
    if options.out is not None:
        raise ValueError("a run in the background cannot have --out: use runs export when it has ended")
    run_id = store.submit(request)
    supervisor.detach(store)
    if options.json:
        print(json.dumps({"run": run_id}))
    else:
        print(f"Run {run_id} is queued; see vips-explorer runs show {run_id}")


@contextlib.contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let the first Ctrl-C end the run after its step, with results; a second one ends it at once."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(number: int, frame: Any) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()
        print("\nStopping after this step; press Ctrl-C again to stop now.", file=sys.stderr)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


def _show_progress(progress: Progress[Any]) -> None:
    done = progress.step * _BAR // progress.plan.steps
    spent = "∞" if progress.plan.noise_multiplier == 0 else f"{execution.epsilon_so_far(progress):.3f}"
    print(
        f"\r{'█' * done}{'·' * (_BAR - done)} step {progress.step}/{progress.plan.steps}, ε so far {spent}",
        end="\n" if progress.step == progress.plan.steps else "",
        file=sys.stderr,
        flush=True,
    )


def _print_outcome(store: Store, run_id: str, options: argparse.Namespace) -> None:
    folder = store.folder(run_id)
    if not (folder / "result.json").exists():
        return  # stopped before its first release
    if options.out is not None:
        for file in folder.iterdir():
            if file.name not in _KEPT_BACK:
                shutil.copy(file, options.out)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if options.json:
        print(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_result(result, (folder / "summary.txt").read_text(encoding="utf-8"))
        print(f"Run {run_id}. Results are in {options.out or folder}: result.json, params.npz and more.")


def print_result(result: Mapping[str, Any], summary: str) -> None:
    """Print what a run found and what it cost."""
    plan = result["plan"]
    cost = ", ".join(f"{name} {value:.4f}" for name, value in result["epsilon"].items() if value is not None)
    print(summary)
    print(
        f"\nReleased {result['releases']} times with σ = {plan['noise_multiplier']:.4g}, q = "
        f"{plan['expected_batch'] / plan['records']:.4g}. "
        + (f"ε at δ = {plan['delta']:g}: {cost}." if cost else "No privacy: ε = ∞.")
    )
    if result["held_out"]:
        scores = ", ".join(f"{name} {value:.4g}" for name, value in result["held_out"].items())
        print(f"Held out: {scores}.")
    else:
        print("No scores: give public held-out records with --test to get them.")
    for caution in result["cautions"]:
        print(f"Warning: {caution}")

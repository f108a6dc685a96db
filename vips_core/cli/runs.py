"""`vips-explorer runs`: list, show, cancel and export runs."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vips_core.audits import job
from vips_core.cli.audit import verdict_lines
from vips_core.cli.fit import result_lines
from vips_core.cli.terminal import add_command, add_subcommands, local_time, print_answer
from vips_core.jobs import execution, lifecycle
from vips_core.models.task import TASKS
from vips_core.privacy.accountants import stated
from vips_core.privacy.plan import PurePlan
from vips_core.store.budget import cap_held, cap_in
from vips_core.store.rows import AUDIT, STATUSES, SWEEP, RunRow
from vips_core.store.store import Store


def add_runs(commands: Any) -> None:
    """Declare the options of `runs`."""
    actions = add_subcommands(commands.add_parser("runs", help="runs and their results"), "ACTION")
    known = add_command(actions, "list", _list, "runs, newest first")
    known.add_argument("--data", help="only runs on this data set")
    known.add_argument("--model", choices=tuple(TASKS), help="only runs of this model")
    known.add_argument("--status", choices=STATUSES, help="only runs in this state")
    show = add_command(actions, "show", _show, "one run with its request and results")
    cancel = add_command(actions, "cancel", _cancel, "stop a run within one step, and settle what it spent")
    export = add_command(
        actions, "export", _export, "write a report, with everything needed to repeat the run"
    )
    export.add_argument("--out", type=Path, required=True, metavar="FILE.zip", help="path of the report")
    for action in (show, cancel, export):
        action.add_argument("run_id", metavar="RUN")


def _list(options: argparse.Namespace) -> None:
    store = Store()
    lifecycle.end_abandoned(store)
    rows = store.runs(data=options.data, model=options.model, status=options.status)
    lines = (
        f"{row.id:<10}{row.status:<11}{_progress(row):>9}  {stated(row.epsilon):>8}  "
        f"{'–' if row.started is None else local_time(row.started):<17} {_what(row)}"
        for row in rows
    )
    heading = f"{'run':<10}{'state':<11}{'step':>9}  {'ε':>8}  {'started':<17} what"
    print_answer(options, [asdict(row) for row in rows], heading, *lines)


def _show(options: argparse.Namespace) -> None:
    store = Store()
    lifecycle.end_abandoned(store)
    row, folder = store.run(options.run_id), store.folder(options.run_id)
    file = folder / (job.VERDICT if row.kind == AUDIT else execution.RESULT)
    result = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    held = cap_held(store.ledger_of(row), row.id)
    cap = None if held is None else asdict(cap_in(held))
    steps = "" if isinstance(row.plan, PurePlan) else f", step {row.step} of {row.steps}"
    lines = [f"Run {row.id}: {_what(row)}, {row.status}{steps}, ε = {stated(row.epsilon)}"]
    lines += [] if held is None else [f"Cap when the run was reserved: {held.describe()}"]
    lines += [f"Error: {row.error}"] if row.error else []
    lines += [f"  {name} = {value}" for name, value in row.request.items()]
    results = job.results(store, row.id) if row.kind == AUDIT else None
    if results is not None:
        lines += verdict_lines(results[0])
    elif result is not None:
        lines += result_lines(result, (folder / execution.SUMMARY).read_text(encoding="utf-8"))
    content = asdict(row) | {"cap": cap, "folder": str(folder), "result": result}
    print_answer(options, content, *lines, f"Files: {folder}")


def _cancel(options: argparse.Namespace) -> None:
    store = Store()
    store.cancel(options.run_id)
    lifecycle.end_abandoned(store)
    print_answer(options, asdict(store.run(options.run_id)), f"Run {options.run_id} stops within one step.")


def _export(options: argparse.Namespace) -> None:
    from vips_core.reports import report  # here: plotly takes long to import

    report.write_run(Store(), options.run_id, options.out)
    print_answer(options, {"run": options.run_id, "written": str(options.out)}, f"Written to {options.out}.")


def _what(row: RunRow) -> str:
    if row.kind == SWEEP:
        return f"sweep on {row.data}"
    what = f"{row.request['model']} ({row.request['method']}) on {row.data}"
    return f"audit of {what}" if row.kind == AUDIT else what


def _progress(row: RunRow) -> str:
    return "–" if isinstance(row.plan, PurePlan) else f"{row.step:>4}/{row.steps:<4}"

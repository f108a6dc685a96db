"""`vips-explorer audit`: attack a model and its plan on public data, and print the verdict."""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from vips_core import rounding
from vips_core.audits import job
from vips_core.audits.verdict import NEVER_PROVES, Verdict
from vips_core.cli.fit import add_request, print_queued, requested
from vips_core.cli.terminal import add_command, add_options, add_subcommands, print_answer, progress_bar
from vips_core.jobs import worker
from vips_core.models.task import TASKS
from vips_core.privacy.accountants import stated
from vips_core.store.rows import FAILED
from vips_core.store.store import Store


def add_audit(commands: Any) -> None:
    """Declare the options of `audit` for each model."""
    parser = commands.add_parser("audit", help="attack a model's releases on public data")
    models = add_subcommands(parser, "MODEL")
    for name, task in TASKS.items():
        options = add_command(models, name, _audit, task.help)
        add_request(options, task, "or a registered public data set")
        add_options(options, job.OPTIONS)
        options.add_argument("--background", action="store_true", help="queue the audit and return at once")


def _audit(options: argparse.Namespace) -> None:
    store = Store()
    table = requested(options) | {name: getattr(options, name) for name in job.OPTIONS}
    run_id = job.submit_audit(store, table, held=not options.background)
    if options.background:
        print_queued(store, run_id, options)
        return
    with progress_bar(store.run(run_id).steps, "attack", hidden=options.json) as bar:

        def on_attack(done: int) -> None:
            bar.update(done - bar.n)

        worker.work(store, run_id, on_attack, job.run_audit)
    row, results = store.run(run_id), job.results(store, run_id)
    if row.status == FAILED or results is None:
        raise ValueError(f"run {run_id} failed: {row.error}")
    verdict, _ = results
    where = f"Run {run_id}. Results are in {store.folder(run_id)}: {job.VERDICT} and {job.ROC}."
    print_answer(options, {"run": run_id} | json.loads(verdict.to_json()), *verdict_lines(verdict), where)


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the verdict of an audit, line by line."""
    yield verdict.sentence()
    measured = rounding.down(verdict.measured)
    rows = {
        f"claimed ε of {verdict.target}": stated(verdict.claimed),
        f"measured ε, at least ({verdict.confidence * 100:g}% confidence)": f"{measured:g}",
        "measured / claimed": "–" if verdict.ratio is None else f"{verdict.ratio:.4f}",
        f"ε of the whole plan at δ = {rounding.brief(verdict.delta)}": stated(verdict.run_epsilon),
    }
    for label, value in rows.items():
        yield f"  {label:<46}{value:>10}"
    yield f"  {verdict.attempts:,} {verdict.unit}."
    yield verdict.inspection_sentence()
    yield verdict.support_sentence()
    yield NEVER_PROVES

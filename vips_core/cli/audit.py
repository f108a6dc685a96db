"""`vips-explorer audit`: attack a model and its plan on public data, and say what the attack shows."""

import argparse
import json
from typing import Any

from vips_core import rounding
from vips_core.audits import job
from vips_core.audits.verdict import NEVER_PROVES, Verdict
from vips_core.cli.fit import add_request, answer_queued, requested
from vips_core.cli.terminal import add_json, add_options, print_json, progress_bar
from vips_core.jobs import worker
from vips_core.models.task import TASKS
from vips_core.privacy.accountants import stated
from vips_core.store.rows import FAILED
from vips_core.store.store import Store


def add_audit(commands: Any) -> None:
    """Declare the options of `audit` for each model."""
    parser = commands.add_parser("audit", help="attack a model's releases, on public data")
    models = parser.add_subparsers(dest="model", metavar="MODEL", required=True)
    for name, task in TASKS.items():
        options = models.add_parser(name, help=task.help)
        add_request(options, task, "or a known public data set")
        add_options(options, job.OPTIONS)
        options.add_argument("--background", action="store_true", help="queue the audit and return at once")
        add_json(options)
        options.set_defaults(run=_audit)


def _audit(options: argparse.Namespace) -> None:
    store = Store()
    table = requested(options) | {name: getattr(options, name) for name in job.OPTIONS}
    run_id = job.submit_audit(store, table, held=not options.background)
    if options.background:
        answer_queued(store, run_id, options)
        return
    with progress_bar(store.run(run_id).steps, "attack", hidden=options.json) as bar:

        def on_attack(done: int) -> None:
            bar.update(done - bar.n)

        worker.work(store, run_id, on_attack, job.run_audit)
    row, left = store.run(run_id), job.results(store, run_id)
    if row.status == FAILED or left is None:
        raise ValueError(f"run {run_id} failed: {row.error}")
    verdict, _ = left
    if options.json:
        print_json({"run": run_id} | json.loads(verdict.to_json()))
        return
    print_verdict(verdict)
    print(f"Run {run_id}. Results are in {store.folder(run_id)}: {job.VERDICT} and {job.ROC}.")


def print_verdict(verdict: Verdict) -> None:
    """Print the verdict of an audit."""
    print(verdict.sentence())
    measured = rounding.down(verdict.measured)
    rows = {
        f"claimed ε of {verdict.target}": stated(verdict.claimed),
        f"measured ε, at least ({verdict.confidence * 100:g}% confidence)": f"{measured:g}",
        "measured / claimed": "–" if verdict.ratio is None else f"{verdict.ratio:.4f}",
        f"ε of the whole plan at δ = {rounding.brief(verdict.delta)}": stated(verdict.run_epsilon),
    }
    for label, value in rows.items():
        print(f"  {label:<46}{value:>10}")
    print(f"  {verdict.attempts:,} {verdict.unit}.")
    print(verdict.inspection_sentence())
    print(verdict.support_sentence())
    print(NEVER_PROVES)

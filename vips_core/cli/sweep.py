"""`vips-explorer sweep`: run a grid of settings, each with several seeds, on public data, and report it."""

import argparse
import functools
import json
from pathlib import Path
from typing import Any

from vips_core.cli.terminal import (
    add_cluster_options,
    add_command,
    chosen_cluster,
    print_answer,
    progress_bar,
    show,
)
from vips_core.jobs import worker
from vips_core.store.rows import FAILED
from vips_core.store.store import Store
from vips_core.sweeps import results
from vips_core.sweeps.grid import PRESETS, SIZES, Sweep, preset
from vips_core.sweeps.job import CellProgress, run_sweep, submit_sweep
from vips_core.toml import read_toml_file


def add_sweep(commands: Any) -> None:
    """Declare the options of `sweep`."""
    parser = add_command(
        commands, "sweep", _sweep, "run a grid of settings, each with several seeds, on public data"
    )
    parser.add_argument("what", metavar="PRESET|FILE.toml", help=f"{', '.join(PRESETS)}, or a file")
    parser.add_argument(
        "--size",
        choices=SIZES,
        help="size of a preset: quick (less than a minute) or full (the paper's grids)",
    )
    parser.add_argument("--out", type=Path, help="folder or .zip for report, figures and tables")
    add_cluster_options(parser)


def _sweep(options: argparse.Namespace) -> None:
    cluster, definition, store = chosen_cluster(options), _definition(options), Store()
    if options.out is not None and options.out.suffix != ".zip":
        options.out.mkdir(parents=True, exist_ok=True)  # before any work, so that a mistake shows early
    run_id = submit_sweep(store, definition.to_mapping(), held=True)
    out = options.out or store.folder(run_id) / "report"
    try:
        with progress_bar(store.run(run_id).steps, "cell", hidden=options.json) as bar:

            def on_cell(progress: CellProgress) -> None:
                ended = progress.done + progress.failed - bar.n
                if ended and progress.failed:
                    bar.set_postfix_str(f"{progress.failed} failed", refresh=False)
                if ended:
                    bar.update(ended)

            worker.work(store, run_id, on_cell, functools.partial(run_sweep, cluster=cluster))
    except KeyboardInterrupt:
        show("\nStopped. Finished cells are kept: the same command resumes from here.")
        raise
    from vips_core.reports import report  # here: plotly takes long to import

    report.write_run(store, run_id, out)
    _tell(options, definition, store, run_id, out)
    row = store.run(run_id)
    if row.status == FAILED:
        raise ValueError(row.error)


def _definition(options: argparse.Namespace) -> Sweep:
    if options.what in PRESETS:
        return preset(options.what, options.size or "quick")
    if options.size is not None:
        raise ValueError(f"--size is only for presets ({', '.join(PRESETS)}), got {options.what!r}")
    path = Path(options.what)
    if not path.exists():
        raise ValueError(f"sweep must be {', '.join(PRESETS)} or a TOML file, got {options.what!r}")
    return Sweep.from_mapping(read_toml_file(path))


def _tell(options: argparse.Namespace, definition: Sweep, store: Store, run_id: str, out: Path) -> None:
    cells = results.frame(definition, store)
    settings = ["series", "epsilon", "expected_batch", "score"]
    summary = results.summarise(cells, settings) if len(cells) else cells
    failures = results.failures(definition, store)
    content = {
        "run": run_id,
        "status": store.run(run_id).status,
        "cells": len(definition.cells()),
        "failed": [error for _, error in failures],
        "written": str(out),
        "summary": json.loads(summary.to_json(orient="records")),
    }
    lines = []
    if len(summary):
        shown = summary.rename(columns={"low": "low (95%)", "high": "high (95%)"})
        lines.append(shown.to_string(index=False, na_rep="–", float_format=lambda value: f"{value:.4g}"))
        lines.append("\nMean and standard deviation (sd) over seeds, and the 95% t-interval of the mean.")
    lines += [f"Failed: {request.method}, seed {request.seed}: {error}" for request, error in failures]
    lines.append(f"Written to {out}: report.html, figures, tables, config, and code that repeats the sweep.")
    print_answer(options, content, *lines)

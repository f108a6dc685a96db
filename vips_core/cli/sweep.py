"""`vips-explorer sweep`: run a grid of settings with seeds on public data, and write figures and a report."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from vips_core.runs import worker
from vips_core.runs.request import read_config
from vips_core.runs.rows import FAILED
from vips_core.runs.store import Store
from vips_core.sweeps import presets, sweep

_BAR = 24


def add_sweep(commands: Any) -> None:
    """Declare the options of `sweep`."""
    parser = commands.add_parser("sweep", help="run a grid of settings with seeds, on public data")
    parser.add_argument("what", metavar="PRESET|FILE.toml", help=f"{', '.join(presets.PRESETS)}, or a file")
    parser.add_argument("--size", choices=presets.SIZES, help="of a preset: minutes, or the paper's grids")
    parser.add_argument("--out", type=Path, help="folder or .zip for report, figures and tables")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.set_defaults(run=_sweep)


def _sweep(options: argparse.Namespace) -> None:
    definition, store = _definition(options), Store()
    if options.out is not None and options.out.suffix != ".zip":
        options.out.mkdir(parents=True, exist_ok=True)  # a mistake shows before the work
    run_id = store.submit_sweep(definition.to_mapping(), held=True)
    out = options.out or store.folder(run_id) / "report"
    bar = None if options.json else _Bar()
    try:
        worker.work(store, run_id, bar)
    except KeyboardInterrupt:
        print("\nStopped. Finished cells are kept: the same command goes on from here.", file=sys.stderr)
        raise
    from vips_core.reports import report  # here: plotly takes long to import

    report.write_run(store, run_id, out)
    _tell(options, definition, store, run_id, out)
    row = store.run(run_id)
    if row.status == FAILED:
        raise ValueError(row.error)


def _definition(options: argparse.Namespace) -> sweep.Sweep:
    if options.what in presets.PRESETS:
        return presets.PRESETS[options.what](options.size or "quick")
    if options.size is not None:
        raise ValueError(f"--size belongs to a preset ({', '.join(presets.PRESETS)}), got {options.what!r}")
    path = Path(options.what)
    if not path.exists():
        raise ValueError(f"sweep must be {', '.join(presets.PRESETS)} or a TOML file, got {options.what!r}")
    return sweep.Sweep.from_mapping(read_config(path))


def _tell(options: argparse.Namespace, definition: sweep.Sweep, store: Store, run_id: str, out: Path) -> None:
    found = sweep.frame(definition, store)
    summary = (
        sweep.summarise(found, ["series", "epsilon", "expected_batch", "score"]) if len(found) else found
    )
    if options.json:
        content = {
            "run": run_id,
            "status": store.run(run_id).status,
            "cells": len(definition.cells()),
            "failed": [error for _, error in sweep.failures(definition, store)],
            "written": str(out),
            "summary": json.loads(summary.to_json(orient="records")),
        }
        print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
        return
    if len(summary):
        shown = summary.rename(columns={"low": "low (95 %)", "high": "high (95 %)"})
        print(shown.to_string(index=False, na_rep="–", float_format=lambda value: f"{value:.4g}"))
        print("\nMean and sd over seeds, and the 95 % t-interval of the mean.")
    for request, error in sweep.failures(definition, store):
        print(f"Failed: {request.method}, seed {request.seed}: {error}")
    print(f"Written to {out}: report.html, figures, tables, config, and how to repeat it.")


class _Bar:
    """A line on stderr that says how many cells are done."""

    def __init__(self) -> None:
        self._shown: sweep.CellProgress | None = None

    def __call__(self, progress: sweep.CellProgress) -> None:
        if progress == self._shown:
            return
        self._shown = progress
        ended = progress.done + progress.failed
        filled = ended * _BAR // progress.cells
        failed = f", {progress.failed} failed" if progress.failed else ""
        print(
            f"\r{'█' * filled}{'·' * (_BAR - filled)} {ended}/{progress.cells} cells{failed}",
            end="\n" if ended == progress.cells else "",
            file=sys.stderr,
            flush=True,
        )

"""Reports of stored runs: one HTML file that opens offline, and a folder or ZIP with all behind it."""

from pathlib import Path

from vips_core.reports import bundle, drawings, run_report, sweep_report
from vips_core.runs.store import Store
from vips_core.sweeps.grid import Sweep


def write_run(store: Store, run_id: str, path: Path) -> None:
    """Write the report of a fit or a sweep, with all that was published, into a folder or a .zip file."""
    row = store.run(run_id)
    if row.kind == "sweep":
        files = sweep_report.files(Sweep.from_mapping(row.request), store)
    else:
        files = run_report.files(run_report.gather(store, run_id))
    bundle.write(files, path)


def html_for_run(store: Store, run_id: str) -> str:
    """Return the report of a fit or a sweep as a self-contained page."""
    row = store.run(run_id)
    if row.kind != "sweep":
        return run_report.html(run_report.gather(store, run_id))
    sweep = Sweep.from_mapping(row.request)
    return sweep_report.html(sweep, store, drawings.draw(sweep, store))

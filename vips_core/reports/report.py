"""Reports of stored runs: one HTML file that opens offline, and a folder or ZIP with all behind it."""

from pathlib import Path

from vips_core.reports import audit_report, bundle, run_report, sweep_report
from vips_core.reports.exhibits import run_exhibits
from vips_core.reports.run_facts import gather
from vips_core.store.rows import AUDIT, SWEEP
from vips_core.store.store import Store
from vips_core.sweeps.grid import Sweep

__all__ = ["REFUSED", "html_for_run", "write_run", "zip_for_run"]

REFUSED = "no report may be written"


def html_for_run(store: Store, run_id: str) -> str:
    """Return the report of a fit, a sweep or an audit as a self-contained page.

    Parameters
    ----------
    store
        Where it was trained.
    run_id
        Its name; `ValueError` where there is none of this name.

    Returns
    -------
    str
        HTML that opens without network, with every chart and the guarantee in words.
    """
    return _files(store, run_id)[bundle.HTML].decode()


def write_run(store: Store, run_id: str, path: Path) -> None:
    """Write the report of a run of any kind, with all that was published, into a folder or a .zip file."""
    bundle.write(_files(store, run_id), path)


def zip_for_run(store: Store, run_id: str) -> bytes:
    """Return the report of a fit, a sweep or an audit, with all that was published, as a ZIP."""
    return bundle.zipped(_files(store, run_id))


def _files(store: Store, run_id: str) -> bundle.Files:
    store.require_whole(REFUSED)  # also of a public run: its table can be edited
    row = store.run(run_id)
    if row.kind == SWEEP:
        sweep = Sweep.from_mapping(row.request)
        return sweep_report.files(sweep, store, sweep_report.sweep_exhibits(sweep, store))
    if row.kind == AUDIT:
        return audit_report.files(store, run_id)
    facts = gather(store, run_id)
    return run_report.files(facts, run_exhibits(facts, store))

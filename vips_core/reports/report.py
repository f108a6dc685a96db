"""Reports of stored runs: one HTML file that opens offline, and a folder or ZIP with everything behind it."""

from pathlib import Path

from vips_core.reports import audit_report, bundle, run_report, sweep_report
from vips_core.store.rows import AUDIT, FIT, SWEEP
from vips_core.store.store import Store

REFUSED = "no report may be written"


def html_for_run(store: Store, run_id: str) -> str:
    """Return the report of a fit, a sweep or an audit as a self-contained page.

    Parameters
    ----------
    store
        Store of the run.
    run_id
        Name of the run; `ValueError` if it is unknown.

    Returns
    -------
    str
        HTML that opens without network, with every chart and the guarantee in words.
    """
    return _files(store, run_id)[bundle.HTML].decode()


def write_run(store: Store, run_id: str, path: Path) -> None:
    """Write the report of a run of any kind, with everything published, into a folder or a .zip file."""
    bundle.write(_files(store, run_id), path)


def zip_for_run(store: Store, run_id: str) -> bytes:
    """Return the report of a fit, a sweep or an audit, with everything published, as a ZIP."""
    return bundle.zipped(_files(store, run_id))


def _files(store: Store, run_id: str) -> bundle.Files:
    store.require_intact(REFUSED)  # also for a public run, because its table can be edited
    files = {FIT: run_report.files, SWEEP: sweep_report.files, AUDIT: audit_report.files}
    return files[store.run(run_id).kind](store, run_id)

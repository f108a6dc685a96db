"""Reports of runs and sweeps as downloads."""

from dashboard import stored
from dashboard.components import layout
from vips_core.reports import report
from vips_core.store.database import StoreError


def buttons(run_id: str) -> None:
    """Offer the report as one HTML file that opens offline, and as a ZIP with all behind it.

    Upon a ledger that is not whole there is none, and the sentence stands where the buttons would.
    """
    try:
        stored.store().require_whole(report.REFUSED)
    except StoreError as problem:
        layout.problem(str(problem))
        return
    layout.download_button(
        "Report",
        lambda: report.html_for_run(stored.store(), run_id).encode(),
        f"vips-{run_id}.html",
        f"html:{run_id}",
        ":material/description:",
        "One HTML file that opens without network, with every chart and the guarantee in words.",
    )
    layout.download_button(
        "ZIP",
        lambda: report.zip_for_run(stored.store(), run_id),
        f"vips-{run_id}.zip",
        f"zip:{run_id}",
        ":material/folder_zip:",
        "The report with tables, ledger, config, and a script and notebook to repeat it.",
    )

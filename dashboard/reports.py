"""Reports of runs and sweeps as downloads."""

import tempfile
from pathlib import Path

import streamlit as st

from dashboard import library
from vips_core.reports import report


def buttons(run_id: str) -> None:
    """Offer the report as one HTML file that opens offline, and as a ZIP with all behind it."""
    st.download_button(
        "Report", lambda: report.html_for_run(library.store(), run_id).encode(), f"vips-{run_id}.html",
        "text/html", key=f"html:{run_id}", icon=":material/description:", on_click="ignore",
        help="One HTML file that opens without network, with every chart and the guarantee in words.",
    )  # fmt: skip
    st.download_button(
        "ZIP", lambda: archive(run_id), f"vips-{run_id}.zip", "application/zip", key=f"zip:{run_id}",
        icon=":material/folder_zip:", on_click="ignore",
        help="The report with figures, tables, ledger, config, and a script and notebook to repeat it.",
    )  # fmt: skip


def archive(run_id: str) -> bytes:
    """Return the report and everything behind it as a ZIP."""
    with tempfile.TemporaryDirectory(prefix="vips-report-") as folder:
        path = Path(folder) / "report.zip"
        report.write_run(library.store(), run_id, path)
        return path.read_bytes()

"""Stored runs: choosing one to look at, and downloading its report."""

from collections.abc import Callable, Sequence

from dashboard import state, stored
from dashboard.components import layout
from dashboard.components.inputs import one_of
from vips_core.reports import report
from vips_core.store.database import StoreError
from vips_core.store.rows import RunRow


def chosen_run(runs: Sequence[RunRow], parameter: str) -> RunRow | None:
    """Return the run that the address names, otherwise the newest; None where there is none.

    Parameters
    ----------
    runs
        Runs that the page can show, the newest first.
    parameter
        Name under which the address holds the run's id; the page calls the run by it too.
    """
    known = {run.id: run for run in runs}
    run_id = state.get(parameter)
    if run_id is not None and run_id not in known:
        state.complain(f"In the address, there is no {parameter} {run_id!r}.")
    if run_id not in known:
        state.put(parameter, next(iter(known), None))
    return known.get(state.get(parameter))


def run_list(
    runs: Sequence[RunRow],
    run: RunRow | None,
    parameter: str,
    label: Callable[[RunRow], str],
    look_at: Callable[[str], None] | None = None,
) -> None:
    """List the runs, of which the page shows `run`; `look_at` gets the id of a newly chosen run.

    A label must not change with the run's progress, because different labels make another list.
    """
    if run is not None:
        labels = {item.id: label(item) for item in runs}
        one_of(parameter, parameter.capitalize(), labels, run.id, on_choice=look_at)


def report_buttons(run_id: str) -> None:
    """Offer the report as one HTML file that opens offline, and as a ZIP with its tables, ledger and code.

    If the ledger is damaged, a sentence says so in place of the buttons.
    """
    try:
        stored.store().require_intact(report.REFUSED)
    except StoreError as problem:
        layout.problem(str(problem))
        return
    layout.download_button(
        "Report",
        lambda: report.html_for_run(stored.store(), run_id).encode(),
        f"vips-{run_id}.html",
        icon=":material/description:",
        help="One HTML file that opens offline, with every chart and the guarantee in words.",
    )
    layout.download_button(
        "ZIP",
        lambda: report.zip_for_run(stored.store(), run_id),
        f"vips-{run_id}.zip",
        icon=":material/folder_zip:",
        help="The report with its tables, ledger and config, and a script and notebook that repeat the run.",
    )

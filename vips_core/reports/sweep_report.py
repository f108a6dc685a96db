"""The report of a sweep: its figures with their tables, all results, and how to run it again."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vips_core.csv_text import to_csv
from vips_core.models.task import TASKS
from vips_core.reports import bundle, page, repeat
from vips_core.reports.exhibits import Exhibit
from vips_core.store.rows import versions
from vips_core.store.store import Store
from vips_core.sweeps import results
from vips_core.sweeps.cells import cells_of
from vips_core.sweeps.grid import Sweep

if TYPE_CHECKING:
    import pandas as pd


def html(sweep: Sweep, store: Store, exhibits: Sequence[Exhibit], frame: "pd.DataFrame") -> str:
    """Return the report as a page, with a summary of the cells in `frame`."""
    requests, finished_cells = sweep.cells(), cells_of(sweep, store)
    return page.render(
        "sweep.html.j2",
        title=sweep.title or f"Sweep of {sweep.model} on {sweep.data}",
        sweep=sweep,
        task=TASKS[sweep.model],
        exhibits=exhibits,
        cells=len(requests),
        finished=sum(finished_cells.finished(request, keep=False) for request in requests),
        summary=None if frame.empty else _summary(frame),
        failure_table=_failure_table(sweep, store),
        unit=store.data_row(sweep.data).unit,
        deltas=sorted({request.get("delta") for request in requests} - {None}),
        versions=versions(),
    )


def files(sweep: Sweep, store: Store, exhibits: Sequence[Exhibit]) -> bundle.Files:
    """Return the report with figures, tables and ledgers, and how to repeat the sweep."""
    frame = results.frame(sweep, store)
    published = {
        bundle.HTML: html(sweep, store, exhibits, frame).encode(),
        **bundle.config_files(sweep.to_mapping(), sweep.to_toml()),
        "ledgers.json": json.dumps(results.ledgers(sweep, store), indent=1, ensure_ascii=False).encode(),
        **bundle.repetition_files(repeat.sweep_cells(), "Repeat a sweep of VIPS Explorer."),
        **bundle.exhibit_files(exhibits),
    }
    if not frame.empty:
        published["cells.csv"] = to_csv(frame)
        published["summary.csv"] = to_csv(results.summarise(frame))
    return published


def _summary(frame: "pd.DataFrame") -> "pd.DataFrame":
    summary = results.summarise(frame).rename(columns={"low": "low (95%)", "high": "high (95%)"})
    return summary.dropna(axis="columns", how="all")


def _failure_table(sweep: Sweep, store: Store) -> "pd.DataFrame | None":
    import pandas as pd

    rows = [{**request.to_mapping(), "error": error} for request, error in results.failures(sweep, store)]
    return pd.DataFrame(rows) if rows else None

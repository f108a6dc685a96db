"""The report of a sweep: its figures with their tables, all results, and how to run it again."""

import json

from vips_core.reports import bundle, drawings, guarantee, page, repeat
from vips_core.reports.drawings import Drawing
from vips_core.runs.rows import versions
from vips_core.runs.store import Store
from vips_core.sweeps import sweep as sweeps
from vips_core.sweeps.grid import Sweep


def html(sweep: Sweep, store: Store, drawn: list[Drawing]) -> str:
    """Return the report as a page."""
    import pandas as pd

    title = sweep.title or f"Sweep of {sweep.model} on {sweep.data}"
    cells, frame, failed = sweep.cells(), sweeps.frame(sweep, store), sweeps.failures(sweep, store)
    done = 0 if frame.empty else sum(sweeps.cells_of(sweep, store).finished(cell, False) for cell in cells)
    parts = [
        page.heading(title, 1),
        page.paragraph(
            f"{done:,} of {len(cells):,} cells are finished"
            + (f", {len(failed):,} failed" if failed else "")
            + f". Model {sweep.model}, data {sweep.data}. {bundle.maker(versions())}",
            "soft",
        ),
        page.paragraph(
            "Every cell has a seed and is a demonstration on public data: ε says what the same run costs on "
            "private records with fresh entropy. Choosing the best cell on private data would itself spend "
            "budget; choose on public data, as here.",
            "lead",
        ),
    ]
    parts += [bundle.drawn(drawing) for drawing in drawn]
    if not frame.empty:
        summary = sweeps.summarise(frame).rename(columns={"low": "low (95 %)", "high": "high (95 %)"})
        empty = [name for name in summary if summary[name].isna().all()]
        parts += [
            page.heading("All results"),
            page.paragraph(
                "Mean and standard deviation over seeds, and the 95 % t-interval of the mean (it says how "
                "well the mean is known, not how far single runs spread). epsilon is what a method claims; "
                "epsilon_pld and epsilon_moments are what its releases cost by these accountants."
            ),
            page.folded(
                f"Table of {len(summary):,} settings and scores", page.table(summary.drop(columns=empty))
            ),
        ]
    if failed:
        rows = [{**request.to_mapping(), "error": error} for request, error in failed]
        parts += [page.heading("Cells that failed"), page.table(pd.DataFrame(rows))]
    delta = sorted({cell.get("delta") for cell in cells})
    parts += [
        page.heading("What ε stands for here"),
        *map(page.paragraph, guarantee.of_sweep(sweep.model, store.data_row(sweep.data).unit, delta)),
        page.heading("What was tuned, and on which data"),
        page.paragraph(f"{guarantee.TUNED[sweep.model]} {guarantee.NOT_TUNED}"),
        page.heading("Known limits"),
        page.paragraph(guarantee.LIMITS),
        page.paragraph(guarantee.software(versions())),
        page.heading("Config"),
        page.paragraph(
            "Saved as config.toml, `vips-explorer sweep config.toml` gives this sweep again.", "soft"
        ),
        page.folded("config.toml", page.code(sweep.to_toml())),
    ]
    return page.page(title, parts)


def files(sweep: Sweep, store: Store) -> bundle.Files:
    """Return the report with figures, tables and ledgers, and how to repeat the sweep."""
    drawn = drawings.draw(sweep, store)
    frame = sweeps.frame(sweep, store)
    files = {
        bundle.HTML: html(sweep, store, drawn).encode(),
        **bundle.config(sweep.to_mapping(), sweep.to_toml()),
        "ledgers.json": json.dumps(sweeps.ledgers(sweep, store), indent=1, ensure_ascii=False).encode(),
        **bundle.repetition(repeat.sweep_cells(), "Repeat a sweep of VIPS Explorer."),
        **bundle.drawn_files(drawn),
    }
    if not frame.empty:
        files["cells.csv"] = frame.to_csv(index=False).encode()
        files["summary.csv"] = sweeps.summarise(frame).to_csv(index=False).encode()
    return files

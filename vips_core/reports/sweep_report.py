"""The report of a sweep: figures of its scores with their tables, ε by accountant, and all results."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vips_core import rounding
from vips_core.csv_text import to_csv
from vips_core.jobs.request import SPENDING
from vips_core.models.task import METHODS, TASKS
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports import bundle, page, sweep_figures
from vips_core.reports.exhibits import Exhibit, exhibits_of
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import versions
from vips_core.store.store import Store
from vips_core.sweeps import results
from vips_core.sweeps.cells import cells_of
from vips_core.sweeps.grid import Sweep

if TYPE_CHECKING:
    import pandas as pd

APART = "Curves are shifted slightly sideways so that their bars do not overlap."
REPLACED = "ε of “{method}” is for replacing one record by another, at δ = 0."
BARS = "Bars and bands: one standard deviation over seeds (number of seeds: {seeds})."
CLAIMED = (
    "ε is what each method claims: the target of its calibration or, if the noise was given, the ε of its "
    "releases by PLD."
)
SAME_TEST = "Seeds change initialisation, batches and noise, not the held-out records."
PAPER_ACCOUNTING = ("moments_paper", "moments", "pld")
_SPENDING = ("batch", "epochs", "delta", "accountant")  # options that distinguish lines of one series
_SUMMARY = {"low": "low (95%)", "high": "high (95%)"}
_INTERVAL = {"low": "low (95% of the mean)", "high": "high (95% of the mean)"}


def sweep_exhibits(sweep: Sweep, store: Store) -> list[Exhibit]:
    """Return the exhibits that the sweep asks for, from its finished cells.

    Parameters
    ----------
    sweep
        Its `figures` name the exhibits.
    store
        Store of its cells.

    Returns
    -------
    list of Exhibit
        In the order of `sweep.figures`; empty if no cell is finished.
    """
    cells = results.frame(sweep, store)
    if cells.empty:
        return []
    makers: Mapping[str, Callable[[], list[Exhibit]]] = {
        "epsilon": lambda: scores_against("epsilon", sweep, cells),
        "batch": lambda: scores_against("batch", sweep, cells),
        "steps": lambda: after_steps(sweep, results.traces(sweep, store)),
        "topics": lambda: side_by_side(sweep, store),
        "accounting": lambda: accounting(sweep.model, store.data_row(sweep.data).records),
    }
    return [exhibit for name in sweep.figures for exhibit in makers[name]()]


def accounting(model: str, records: int) -> list[Exhibit]:
    """Return ε at the paper's own settings by its accountant, by all moments, and by PLD.

    Parameters
    ----------
    model
        Name of a task.
    records
        N, unless the paper's own is used.

    Returns
    -------
    list of Exhibit
        One, with a curve for each accountant and batch size; none if there are fewer records than in the
        paper's smallest batch, or if the paper does not show the model.
    """
    import pandas as pd

    paper = TASKS[model].paper
    if paper is None:
        return []
    records = paper.records or records
    rows = [
        {"accountant": ACCOUNTANTS[accountant].label, "batch": batch, "noise_multiplier": noise}
        | {"epsilon": _epsilon(accountant, records, batch, noise, paper.delta)}
        for accountant in PAPER_ACCOUNTING
        for batch in paper.batches
        if batch <= records
        for noise in paper.noises
    ]
    if not rows:
        return []
    table = pd.DataFrame(rows).dropna()
    caption = (
        f"N = {records:,}, one epoch, δ = {rounding.brief(paper.delta)}: accounting only, without training. "
        "The paper searched a short range of moments. For the same noise, all integer moments prove a "
        "smaller ε, and the privacy loss distribution (PLD) a still smaller one."
    )
    title = "Cost of the same releases, by accountant"
    return [Exhibit("accounting", title, caption, sweep_figures.epsilon_against_noise(table), table)]


def line_names(cells: "pd.DataFrame", x: str) -> "pd.Series":
    """Return the name of each cell's line: its series, and the settings that vary within the series.

    Parameters
    ----------
    cells
        As `results.frame` has them.
    x
        The column on the axis, "epsilon" or "expected_batch".

    Returns
    -------
    pandas.Series
        One name for each row. No two settings share a point of a line.
    """
    names = cells["series"].map(lambda name: METHOD_NAMES.get(name, name))
    on_the_axis = "batch" if x == "expected_batch" else x
    options = {name: SPENDING[name] for name in _SPENDING}
    for task in TASKS.values():
        options |= task.options
    for column in (name for name in options if name in cells and name != on_the_axis):
        several = cells.groupby("series")[column].transform("nunique") > 1
        points = cells.groupby(["series", column], dropna=False)[x].transform("nunique")
        mixed = cells.groupby(["series", x], dropna=False)[column].transform("nunique") > 1
        # Where x follows from this column, one line through all its values is clearest.
        follows = ~(mixed | (points > 1)).groupby(cells["series"]).transform("any")
        symbol = options[column].symbol or column
        names = names.where(~(several & ~follows), names + _settings(symbol, cells[column]))
    if x != "epsilon":  # ε may follow from the axis; otherwise it distinguishes lines
        several = cells.groupby(["series", x])["epsilon"].transform("nunique") > 1
        names = names.where(~several, names + _settings("ε", cells["epsilon"]))
    return names


def scores_against(x: str, sweep: Sweep, cells: "pd.DataFrame") -> list[Exhibit]:
    """Return an exhibit for each score, with a line for each series and setting that is not on the axis.

    Parameters
    ----------
    x
        The axis: "epsilon", or "batch" for the cells that were asked for a batch size.
    sweep
        Where the cells come from.
    cells
        As `results.frame` has them.

    Returns
    -------
    list of Exhibit
        Empty if no cell has a place on the axis.
    """
    if x == "batch":  # a method that is proved as a whole has no batches
        column, axis, draw = "expected_batch", "the batch size", sweep_figures.against_batch
        cells = cells[cells["batch"].notna() & cells[column].notna()]
    else:
        column, axis, draw = "epsilon", "ε", sweep_figures.against_epsilon
    if cells[column].isna().all():
        return []
    named = cells.assign(line=line_names(cells, column))
    exhibits = []
    for score, of_score in named.groupby("score", sort=False):
        summary = results.summarise(of_score, ["line", "method", column])
        sentences = [BARS.format(seeds=number_of_seeds(summary)), APART, SAME_TEST]
        sentences += [CLAIMED] if x == "epsilon" else []
        sentences += [
            REPLACED.format(method=METHODS[name].label)
            for name in of_score["method"].unique()
            if METHODS[name].pure is not None
        ]
        title = f"Held-out {score} against {axis}{_compare(sweep, x, str(score))}"
        name, caption = f"{x}-{_file_name(str(score))}", " ".join(sentences)
        figure, table = draw(summary, str(score)), summary.rename(columns=_INTERVAL)
        exhibits.append(Exhibit(name, title, caption, figure, table, str(score)))
    return exhibits


def after_steps(sweep: Sweep, evaluations: "pd.DataFrame") -> list[Exhibit]:
    """Return the validation score after each step, given `results.traces`; nothing without evaluations."""
    if evaluations.empty:
        return []
    task = TASKS[sweep.model]
    score = task.validation_score
    summary = results.summarise(evaluations.assign(line=evaluations["series"]), ["line", "method", "step"])
    title = f"Held-out {score} after each step{_compare(sweep, 'steps')}"
    bars = BARS.format(seeds=number_of_seeds(summary))
    caption = (
        f"{bars} Evaluated on {task.validation_records_named}, so the last points can differ slightly from "
        "the final scores. "
        "Steps of different methods may use batches of different sizes."
    )
    return [Exhibit("steps", title, caption, sweep_figures.score_per_step(summary, score), summary)]


def side_by_side(sweep: Sweep, store: Store) -> list[Exhibit]:
    """Return the task's charts that compare the first cells of all grids that keep their parameters."""
    cells, fits = cells_of(sweep, store), {}
    for grid in sweep.grids:
        request = next(grid.requests(sweep.model, sweep.data))
        arrays = cells.parameters(request) if grid.keep else None
        if arrays is not None:
            fits[grid.label or METHOD_NAMES[request.method]] = arrays
    charts = TASKS[sweep.model].side_by_side(fits, store.load(sweep.data).train)
    compare = _compare(sweep, "topics")
    return [replace(exhibit, title=exhibit.title + compare) for exhibit in exhibits_of(charts)]


def _epsilon(accountant: str, records: int, batch: int, noise: float, delta: float) -> float | None:
    plan = PrivacyPlan(records=records, expected_batch=batch, epochs=1, noise_multiplier=noise, delta=delta)
    return plan.accounts([accountant])[accountant].epsilon


def _settings(symbol: str, values: "pd.Series") -> "pd.Series":
    return values.map(
        lambda value: f", {symbol} = {f'{value:,.6g}' if isinstance(value, int | float) else value}"
    )


def number_of_seeds(summary: "pd.DataFrame") -> str:
    """Return the number of seeds in the settings of an exhibit's table, as a number or a range."""
    low, high = int(summary["seeds"].min()), int(summary["seeds"].max())
    return str(low) if low == high else f"{low} to {high}"


def _compare(sweep: Sweep, figure: str, score: str = "") -> str:
    task = TASKS[sweep.model]
    shown = task.paper.figures.get(figure) if task.paper else None
    if shown is None or (score and not task.scores[score].in_paper):
        return ""
    return f" (compare the paper's {shown})"


def _file_name(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def files(store: Store, run_id: str) -> bundle.Files:
    """Return the report with figures, tables and ledgers, and code that repeats the sweep."""
    sweep = Sweep.from_mapping(store.run(run_id).request)
    exhibits, cells = sweep_exhibits(sweep, store), results.frame(sweep, store)
    summary = None if cells.empty else results.summarise(cells)
    published = {
        bundle.HTML: _html(sweep, store, exhibits, summary).encode(),
        **bundle.config_files(sweep.to_mapping()),
        "ledgers.json": json.dumps(results.ledgers(sweep, store), indent=1, ensure_ascii=False).encode(),
        **bundle.repetition_files(bundle.sweep_cells(), "Repeat a sweep of VIPS Explorer."),
        **bundle.exhibit_files(exhibits),
    }
    if summary is not None:
        published |= {"cells.csv": to_csv(cells), "summary.csv": to_csv(summary)}
    return published


def _html(sweep: Sweep, store: Store, exhibits: Sequence[Exhibit], summary: "pd.DataFrame | None") -> str:
    import pandas as pd

    requests, finished_cells = sweep.cells(), cells_of(sweep, store)
    failed = [request.to_mapping() | {"error": error} for request, error in results.failures(sweep, store)]
    if summary is not None:
        summary = summary.rename(columns=_SUMMARY).dropna(axis="columns", how="all")
    return page.render(
        "sweep.html.j2",
        title=sweep.title or f"Sweep of {sweep.model} on {sweep.data}",
        sweep=sweep,
        task=TASKS[sweep.model],
        pure_methods=sorted({METHODS[r.method].label for r in requests if METHODS[r.method].pure}),
        exhibits=exhibits,
        cells=len(requests),
        finished=sum(finished_cells.finished(request, keep=False) for request in requests),
        summary=summary,
        failure_table=pd.DataFrame(failed) if failed else None,
        unit=store.data_row(sweep.data).unit,
        deltas=sorted({request.get("delta") for request in requests} - {None}),
        versions=versions(),
    )

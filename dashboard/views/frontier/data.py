"""The curves of the Frontier page, from the sweeps that ship with the project and from the visitor's own."""

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard import stored
from sample_data import frontiers
from sample_data.frontiers import Frontier
from vips_core.jobs.request import Request
from vips_core.models.task import TASKS
from vips_core.records.samples import SAMPLES
from vips_core.reports import sweep_report
from vips_core.reports.exhibits import Exhibit
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import RunRow
from vips_core.store.store import Store
from vips_core.sweeps import results
from vips_core.sweeps.cells import cells_of
from vips_core.sweeps.grid import Sweep, canonical

SHIPPED = " (shipped)"  # suffix of the lines that come with the project
_AGAINST_EPSILON = "epsilon"  # name of a sweep's figure of scores against ε
shipped = frontiers.load  # load an experiment's shipped results by its name


@dataclass(frozen=True)
class Curves:
    """Scores against ε.

    Attributes
    ----------
    cells
        One row for each finished run and score, with the name of its line in the chart.
    exhibits
        The figure of each score.
    """

    cells: pd.DataFrame
    exhibits: dict[str, Exhibit]

    @property
    def scores(self) -> list[str]:
        """The names of the scores, validation scores first."""
        validation_scores = {task.validation_score for task in TASKS.values()}
        return sorted(self.exhibits, key=lambda name: name not in validation_scores)


@dataclass(frozen=True)
class Standing:
    """The state of one of the visitor's own sweeps.

    Attributes
    ----------
    done, total
        Numbers of finished cells and of all cells, each counted once.
    errors
        Reasons for failed cells, each once.
    settings
        One row for each line and setting, with the numbers of its cells and of finished ones.
    curves
        Curves through the finished cells.
    """

    done: int
    total: int
    errors: list[str]
    settings: pd.DataFrame
    curves: Curves


@functools.cache
def shipped_curves(name: str) -> Curves:
    """Return the curves that come with the project."""
    frontier = shipped(name)
    return _curves(frontier.sweep, frontier.cells)


def shipped_exhibits(name: str) -> list[Exhibit]:
    """Return the paper's shipped figures and tables, except scores against ε; slow."""
    frontier = shipped(name)
    sweep, records = frontier.sweep, SAMPLES[frontier.sweep.data].records
    return [
        *(sweep_report.scores_against("batch", sweep, frontier.cells) if "batch" in sweep.figures else ()),
        *sweep_report.after_steps(sweep, frontier.looks),
        *frontier.topics,
        *(sweep_report.accounting(sweep.model, records) if "accounting" in sweep.figures else ()),
    ]


def shipped_beside(run: RunRow) -> Frontier | None:
    """Return the shipped results on the data of a sweep, or None if there are none."""
    return shipped(frontiers.ON_DATA[run.data]) if run.data in frontiers.ON_DATA else None


def _progress(run: RunRow) -> tuple[str, str, str, int]:
    return str(stored.store().home), run.id, run.status, run.step


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs={RunRow: _progress})
def standing(run: RunRow, beside: bool) -> Standing:
    """Return the state of a sweep, read again whenever its progress changes."""
    store, sweep = stored.store(), Sweep.from_mapping(run.request)
    cells = cells_of(sweep, store)
    asked = pd.DataFrame(
        {
            "cell": canonical(request),
            "line": grid.label or METHOD_NAMES[request.method],
            "setting": _setting(request),
            "done": cells.finished(request, keep=False),
        }
        for grid, request in sweep.requests
    )
    once = asked.drop_duplicates("cell")  # grids may share a cell
    settings = asked.drop_duplicates(["line", "cell"]).groupby(["line", "setting"], sort=False)["done"]
    scored, frontier = results.frame(sweep, store), shipped_beside(run) if beside else None
    if frontier is not None and not scored.empty:  # add the shipped cells of the same methods
        same = frontier.cells[frontier.cells["method"].isin(scored["method"])]
        scored = pd.concat([scored, same.assign(series=same["series"] + SHIPPED)], ignore_index=True)
    return Standing(
        done=int(once["done"].sum()),
        total=len(once),
        errors=sorted({error for _, error in results.failures(sweep, store)}),
        settings=settings.agg(cells="size", done="sum").reset_index(),
        curves=_curves(sweep, scored),
    )


def _curves(sweep: Sweep, cells: pd.DataFrame) -> Curves:
    if cells.empty:
        return Curves(cells, {})
    names = sweep_report.line_names(cells, _AGAINST_EPSILON)
    without_epsilon = cells["series"].map(lambda series: METHOD_NAMES.get(series, series))
    named = cells.assign(line=names.where(cells["epsilon"].notna(), without_epsilon))
    exhibits = sweep_report.scores_against("epsilon", sweep, cells)
    return Curves(named, {exhibit.score: exhibit for exhibit in exhibits if exhibit.score is not None})


def _setting(request: Request) -> str:
    for name, symbol in (("epsilon", "ε"), ("noise", "σ")):
        if request.get(name) is not None:
            return f"{symbol} = {request.get(name):.3g}"
    return "no noise"


def paper_exhibits(home: str, run_id: str, step: int) -> list[Exhibit]:
    """Return the paper's figures and tables that a sweep asks for, except scores against ε; slow."""
    store = Store(Path(home))
    sweep = Sweep.from_mapping(store.run(run_id).request)
    figures = tuple(name for name in sweep.figures if name != _AGAINST_EPSILON)
    return sweep_report.sweep_exhibits(dataclasses.replace(sweep, figures=figures), store)

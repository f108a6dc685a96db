"""What the Frontier page asks of sweeps: which to start, how far they are, and what they show."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import library, session, training
from dashboard.charts import BLUE, GREY, NO_LEGEND, Figure, figure
from dashboard.session import Choice, Number, Text
from vips_core.reports import drawings
from vips_core.reports.drawings import Drawing
from vips_core.reports.figures import METHOD_NAMES
from vips_core.runs import supervisor
from vips_core.runs.rows import RunRow
from vips_core.runs.store import Store
from vips_core.runs.tasks import NON_PRIVATE, TASKS
from vips_core.sweeps import sweep as sweeps
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.presets import PRESETS, SIZES

SHARE = 0.9  # of runs that have to reach a utility
OWN = "own"
MODELS = {"lda": "Topics", "logistic": "Risk", "sbn": "Images"}
_WIDEST = 16  # columns of the picture of cells

SWEEP = Text("sweep", None, r"[0-9a-f]{8}")
SCORE = Text("score", None, r"[\w ().,-]{1,60}")
UTILITY = Number("utility", "Utility to reach", None, -1e6, 1e6, "On public held-out records.", ())
PRESET = Choice(
    "preset", "New sweep", "paper-logistic",
    {
        "paper-logistic": "The paper's stroke risk (Figure 5)",
        "paper-lda": "The paper's topics (Figures 2, 3, Table 1)",
        "paper-sbn": "The paper's digits (Figure 7)",
        OWN: "Own grid",
    },
    "The paper's experiments on the data that come with the project, or a grid of your own.",
)  # fmt: skip
SIZE = Choice(
    "size", "Size", SIZES[0], {"quick": "Quick", "full": "Full"},
    "Quick takes minutes. Full has the paper's grids and more seeds, and takes hours.",
)  # fmt: skip
MODEL = Choice("model", "Model", "logistic", MODELS, "Which model to train in every cell.")
EPSILONS = Text("epsilons", "0.25,0.5,1,2,4", r"\s*\d{1,4}(\.\d{1,6})?\s*", several=True)
METHODS = Text("methods", "refined,non-private", r"[a-z-]{1,20}", several=True)
SEEDS = Number(
    "seeds", "Seeds", 5, 1, 100, "Runs of each setting. They differ by initialisation, batches and noise.",
    (1, 2, 3, 5, 8, 10, 20, 50, 100), whole=True,
)  # fmt: skip


def parameters() -> tuple[session.Parameter, ...]:
    """Return all that the address holds; a grid of one's own takes the first public data set that suits."""
    data = Text("data", None, r"\w[\w .-]{0,63}")
    return SWEEP, SCORE, UTILITY, PRESET, SIZE, MODEL, data, EPSILONS, METHODS, SEEDS


def public_data(model: str) -> list[str]:
    """Return the data sets that may be swept: a sweep would spend a private one's budget on trials."""
    return [row.name for row in library.data_sets(model) if not row.private]


def wanted() -> Sweep:
    """Return the sweep that the visitor has set up; `ValueError` with one sentence where it is none."""
    if session.get("preset") != OWN:
        return preset(session.get("preset"), session.get("size"))
    model, data = session.get("model"), session.get("data")
    methods = session.get("methods").split(",")
    noisy = [method for method in methods if method != NON_PRIVATE]
    grids: list[dict[str, Any]] = [{"method": NON_PRIVATE}] if NON_PRIVATE in methods else []
    if noisy:
        epsilons = sorted({float(word) for word in session.get("epsilons").split(",")})
        grids.append({"method": noisy, "epsilon": epsilons})
    return Sweep.from_mapping(
        {
            "title": f"{MODELS[model]} on {data}",
            "model": model,
            "data": data,
            "figures": ["epsilon"],
            "delta": training.suggested_delta(library.store().data_row(data).records),
            "seeds": int(session.get("seeds")),
            "grid": grids,
        }
    )


@st.cache_data(max_entries=8, show_spinner="Setting up the paper's sweep.")
def preset(name: str, size: str) -> Sweep:
    """Return one of the paper's experiments; its ε take a moment to compute."""
    return PRESETS[name](size)


@session.whole
def start(table: dict[str, Any]) -> None:
    """Queue a sweep and look at it; a refusal is kept for the page to show."""
    try:
        run_id = library.store().submit_sweep(table)
        supervisor.start(library.store())
    except ValueError as problem:
        session.complain(str(problem))
        return
    for name, value in (("sweep", run_id), ("score", None), ("utility", None)):
        session.change(name, value)


@dataclass(frozen=True)
class Standing:
    """What there is of a sweep.

    Attributes
    ----------
    cells
        One row for each finished cell and score, with the name of its line in charts.
    filled
        Line (rows) by setting (columns): how many cells there are, and how many are finished.
    drawn
        A drawing for each score against ε.
    """

    done: int
    total: int
    failed: list[str]
    cells: pd.DataFrame
    filled: pd.DataFrame
    drawn: list[Drawing]


def standing(run: RunRow) -> Standing:
    """Return what there is of a sweep, read again when its progress has changed."""
    return _standing(str(library.store().home), run.id, run.status, run.step)


@st.cache_data(max_entries=32, show_spinner=False)
def _standing(home: str, run_id: str, status: str, step: int) -> Standing:
    store = library.store()
    sweep = Sweep.from_mapping(store.run(run_id).request)
    kept, rows = sweeps.cells_of(sweep, store), []
    finished = {}
    for grid in sweep.grids:
        for request in grid.requests(sweep.model, sweep.data):
            done = finished.setdefault(str(request), kept.finished(request, False))
            line = grid.label or METHOD_NAMES[request.method]
            rows.append({"line": line, "setting": _setting(request), "cells": 1, "done": int(done)})
    filled = pd.DataFrame(rows).groupby(["line", "setting"], sort=False).sum().reset_index()
    cells = sweeps.frame(sweep, store)
    if not cells.empty:
        named = drawings.line_names(cells, "epsilon")
        cells = cells.assign(line=named.where(cells["epsilon"].notna(), cells["series"].map(_name)))
    drawn = drawings.draw(dataclasses.replace(sweep, figures=("epsilon",)), store)
    failed = sorted({error for _, error in sweeps.failures(sweep, store)})
    return Standing(sum(finished.values()), len(finished), failed, cells, filled, drawn)


def _name(series: str) -> str:
    return METHOD_NAMES.get(series, series)


def _setting(request: Any) -> str:
    for name, symbol in (("epsilon", "ε"), ("noise", "σ")):
        if request.get(name) is not None:
            return f"{symbol} = {request.get(name):.3g}"
    return "no noise"


def other_drawings(home: str, run_id: str, step: int) -> list[Drawing]:
    """Return the figures and tables of the paper that are not scores against ε; slow."""
    store = Store(Path(home))
    sweep = Sweep.from_mapping(store.run(run_id).request)
    figures = tuple(name for name in sweep.figures if name != "epsilon")
    return drawings.draw(dataclasses.replace(sweep, figures=figures), store)


def scores(found: Standing) -> list[str]:
    """Return the names of the scores, the one that is followed while training first."""
    watched = {task.watched for task in TASKS.values()}
    names = [] if found.cells.empty else list(dict.fromkeys(found.cells["score"]))
    return sorted(names, key=lambda name: name not in watched)


def larger_is_better(score: str) -> bool:
    """Whether a score shall be large; only perplexities shall be small."""
    return not score.startswith("perplexity")


def smallest_epsilon(cells: pd.DataFrame, score: str, utility: float) -> pd.DataFrame:
    """Return for each line the smallest tested ε from which on 90 % of runs reach a utility.

    "From which on": at every larger tested ε they do so too; one lucky setting is no result.
    """
    part = cells[(cells["score"] == score) & cells["epsilon"].notna()]
    reached = part["value"] >= utility if larger_is_better(score) else part["value"] <= utility
    counts = part.assign(reached=reached).groupby(["line", "epsilon"], sort=False)["reached"]
    shares = counts.agg(reached="sum", runs="count").reset_index()
    rows = []
    for line, group in shares.groupby("line", sort=False):
        group = group.sort_values("epsilon", ascending=False)
        enough = (group["reached"] >= SHARE * group["runs"] - 1e-9).to_numpy()
        good = int(enough.size if enough.all() else np.argmin(enough))
        found = group.iloc[good - 1] if good else None
        rows.append(
            {
                "Method": line,
                "Smallest ε": None if found is None else float(found["epsilon"]),
                "Runs that reach it there": "–"
                if found is None
                else f"{found['reached']} of {found['runs']}",
                "Largest ε tested": float(group["epsilon"].max()),
            }
        )
    return pd.DataFrame(rows)


def with_utility(drawn: Figure, utility: float) -> Figure:
    """Return the curves with a line at the utility that is asked for."""
    line = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": utility, "y1": utility,
        "line": {"color": GREY, "width": 1.5, "dash": "dot"},
    }  # fmt: skip
    name = {
        "xref": "paper", "x": 1, "y": utility, "text": "to reach", "showarrow": False, "yanchor": "bottom",
        "xanchor": "right", "font": {"color": GREY, "size": 12},
    }  # fmt: skip
    return drawn | {"layout": drawn["layout"] | {"shapes": [line], "annotations": [name]}}


def filled_cells(filled: pd.DataFrame) -> Figure | None:
    """Picture of the settings, filled as their cells are finished; None where it would be too wide."""
    settings, lines = list(dict.fromkeys(filled["setting"])), list(dict.fromkeys(filled["line"]))
    if len(settings) > _WIDEST:
        return None
    table = filled.set_index(["line", "setting"])
    known = {key: table.loc[key] for key in table.index}
    share = [[_share(known.get((line, setting))) for setting in settings] for line in lines]
    text = [[_count(known.get((line, setting))) for setting in settings] for line in lines]
    heat = {
        "type": "heatmap", "x": settings, "y": lines, "z": share, "text": text, "texttemplate": "%{text}",
        "zmin": 0, "zmax": 1, "colorscale": [[0, "#66717C"], [1, BLUE]], "showscale": False,
        "textfont": {"color": "#FFFFFF", "size": 13},
        "xgap": 3, "ygap": 3, "hovertemplate": "%{y}, %{x}: %{text} cells<extra></extra>",
    }  # fmt: skip
    y = {"autorange": "reversed", "ticks": "", "showgrid": False}
    x = {"side": "top", "ticks": "", "showgrid": False, "type": "category"}
    return figure([heat], x, y, height=60 + 34 * len(lines), margin=NO_LEGEND)


def _share(row: Any) -> float | None:
    return None if row is None else float(row["done"] / row["cells"])


def _count(row: Any) -> str:
    return "" if row is None else f"{row['done']}/{row['cells']}"


def bounds(cells: pd.DataFrame, score: str) -> tuple[float, float, float]:
    """Return the range of a score and a utility to begin with: near the best mean that has an ε."""
    part = cells[(cells["score"] == score) & cells["epsilon"].notna()]
    values = part["value"] if len(part) else cells.loc[cells["score"] == score, "value"]
    means = part.groupby(["line", "epsilon"])["value"].mean() if len(part) else values
    low, high = float(values.min()), float(values.max())
    best = float(means.max() if larger_is_better(score) else means.min())
    worst = float(means.min() if larger_is_better(score) else means.max())
    return low, high, best + 0.25 * (worst - best)

"""The sentences of the Frontier page."""

import pandas as pd

from dashboard.components import layout
from dashboard.components.formats import brief, signed
from dashboard.views.frontier.data import SHIPPED, Standing
from dashboard.views.frontier.utility import SHARE, score
from sample_data.frontiers import Frontier
from vips_core.reports.sweep_report import number_of_seeds
from vips_core.store.rows import CANCELLED, FAILED, QUEUED, RunRow

INTRODUCTION = (
    "How utility falls as ε shrinks: many runs on public data, where trials cost nothing. Choose methods and "
    "settings here before you spend a private budget."
)
OWN = "Your own sweeps"
PUBLIC_ONLY = "Sweeps run on public data only: on private data, each run would spend budget."
A_SWEEP = (
    "A sweep trains a model at every ε, with every method and several seeds, in the background. Finished "
    "runs are kept. Bookmark this page to come back to them."
)
RUNS = "Each run has its own seed."
BESIDE_HELP = "Also draw the shipped runs of the same methods on the same data."
PRESET_HELP = "One of the paper's experiments on shipped data, or a grid of your own."
SIZE_HELP = "Quick takes less than a minute. Full uses the paper's grids and more seeds, and takes longer."
SEEDS_HELP = "Runs per setting. They differ in initialisation, batches and noise."
CURVES_ALT = "Held-out score against ε on a logarithmic axis, one line for each method."


def label(run: RunRow) -> str:
    """Name a sweep in a list."""
    title = run.request.get("title") or f"{run.request['model']} on {run.data}"
    return f"{title} · {run.id}"


def state(run: RunRow, standing: Standing) -> str:
    """Describe the status of a sweep."""
    runs = f"{standing.done:,} of {standing.total:,} runs finished"
    if run.status == QUEUED:
        return f"Waiting for a worker. {runs}."
    if run.status == CANCELLED:
        return f"Stopped. {runs}; resume to run the rest."
    if run.status == FAILED:
        why = "" if standing.errors else f": {layout.plain(run.error or '')}"  # otherwise shown below
        return f"Ended early{why}. {runs}; resume to run the rest."
    if standing.done < standing.total and not standing.errors:
        return f"{runs}. The rest were made by another version of the program and must run again."
    return f"{runs}."


def settings_table(settings: pd.DataFrame) -> pd.DataFrame:
    """Return a readable table of each setting's finished runs."""
    finished = settings["done"].astype(str) + " of " + settings["cells"].astype(str)
    return pd.DataFrame(
        {"Method": settings["line"], "Setting": settings["setting"], "Finished runs": finished}
    )


def smallest(name: str, utility: float, curves: pd.DataFrame) -> str:
    """Explain the table of smallest ε, given the numbers behind the curves."""
    bound = "at least" if score(name).larger_is_better else "at most"
    goal = f"a held-out {name} of {bound} {signed(utility)}"
    return (
        f"Smallest tested ε at which {SHARE:.0%} of runs reach {goal}, there and at every larger ε. Each "
        f"setting has {number_of_seeds(curves)} seeds; with fewer than 10, all runs must reach it."
    )


def origin(frontier: Frontier) -> str:
    """Describe the shipped runs and the code that made them."""
    codes = " and ".join(f"`{code[:12]}`" for code in frontier.codes)
    title, seeds = frontier.sweep.title.removesuffix(" (full)"), frontier.cells["seed"].nunique()
    return (
        f"{title}: these {frontier.runs:,} runs come with the project, {seeds} for each setting, at "
        f"{_delta(frontier.cells)}.\n\nMade by version {frontier.version} (code "
        f"{codes}, Python {frontier.packages['python']}) with "
        "`python -m sample_data.frontiers`. A sweep of your own on the same data is drawn beside them."
    )


def words_of_topics(table: pd.DataFrame) -> pd.DataFrame:
    """Return matched topics as a readable table: each method's top words, one row for each topic."""
    words = [name for name in table.columns if f"{name}, probability" in table.columns]
    return table.groupby("topic", sort=False)[words].agg(", ".join).reset_index(drop=True)


def beside(frontier: Frontier, cells: pd.DataFrame) -> str:
    """Say which lines are shipped and which are the visitor's own, each with its δ."""
    own = cells[~cells["series"].str.endswith(SHIPPED)]
    return (
        f"Lines marked “{SHIPPED.strip()}” come with the project, at {_delta(frontier.cells)}; "
        f"your runs have {_delta(own)}."
    )


def _delta(cells: pd.DataFrame) -> str:
    return "δ = " + ", ".join(brief(float(delta)) for delta in sorted(cells["delta"].dropna().unique()))

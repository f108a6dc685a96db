"""What the Frontier page says."""

import pandas as pd

from dashboard.components import layout
from dashboard.components.formats import brief, number
from dashboard.views.frontier.data import SHIPPED, Standing
from dashboard.views.frontier.utility import SHARE, larger_is_better
from sample_data.frontiers import Frontier
from vips_core.store.rows import CANCELLED, FAILED, QUEUED, RunRow

INTRODUCTION = (
    "How useful a model still is when it may reveal little about anyone: the smaller ε, the less. From many "
    "runs on public data, where trials cost nothing. Choose methods and settings here, before spending a "
    "private budget."
)
OWN = "Your own sweeps"
PUBLIC_ONLY = (
    "Sweeps run on public data only: on private data every run would spend budget, and choosing the best "
    "would too."
)
A_SWEEP = (
    "A sweep trains a model many times, in the background: for every ε, every method and several seeds. You "
    "may close this page: the address brings you back, and finished runs are kept."
)
RUNS = "Each run has its own seed."
CURVES_ALT = (
    "Held-out score against ε on a logarithmic scale, a line for each method; the table has the numbers."
)


def label(run: RunRow) -> str:
    """Name a sweep in a list."""
    title = run.request.get("title") or f"{run.request['model']} on {run.data}"
    return f"{title} · {run.id}"


def state(run: RunRow, standing: Standing) -> str:
    """Say how a sweep stands."""
    runs = f"{standing.done:,} of {standing.total:,} runs are finished"
    if run.status == QUEUED:
        return f"Waits for its turn. {runs}."
    if run.status == CANCELLED:
        return f"Stopped. {runs}; resume it to run the others."
    if run.status == FAILED:
        why = "" if standing.errors else f": {layout.plain(run.error or '')}"  # otherwise they are below
        return f"Ended early{why}. {runs}; resume it to run the others."
    if standing.done < standing.total and not standing.errors:
        return f"{runs}. The others are of another version of the program, and have to run again."
    return f"{runs}."


def settings_table(settings: pd.DataFrame) -> pd.DataFrame:
    """Return how many runs of each setting are finished, for people."""
    finished = settings["done"].astype(str) + " of " + settings["cells"].astype(str)
    return pd.DataFrame(
        {"Method": settings["line"], "Setting": settings["setting"], "Finished runs": finished}
    )


def smallest(score: str, utility: float, seeds: str) -> str:
    """Say what the table of smallest ε means."""
    way = "at least" if larger_is_better(score) else "at most"
    least = f"{SHARE:.0%}"
    return (
        f"Smallest tested ε from which on {least} of runs reach a held-out {score} of {way} "
        f"{signed(utility)}. Settings have {seeds} seeds; with fewer than 10, {least} means all of them."
    )


def signed(value: float) -> str:
    """Write a score for people, which may be below 0."""
    return f"−{number(-value)}" if value < 0 else number(value)


def seeds(cells: pd.DataFrame, score: str) -> str:
    """Say how many seeds the settings of a score have."""
    of_score = cells[cells["score"] == score]
    counts = of_score.groupby(["line", "epsilon", "expected_batch"], dropna=False)["seed"].nunique()
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def origin(frontier: Frontier) -> str:
    """Say which runs come with the project, and what made them."""
    codes = " and ".join(f"`{code[:12]}`" for code in frontier.codes)
    title, seeds = frontier.sweep.title.removesuffix(" (full)"), frontier.cells["seed"].nunique()
    return (
        f"{title}: these {frontier.runs:,} runs come with the project, {seeds} for each setting, at "
        f"{_delta(frontier.cells)}.\n\nMade by version {frontier.version} (code "
        f"{codes}, Python {frontier.packages['python']}) with "
        "`python -m sample_data.frontiers`. A sweep of your own on the same data is drawn beside them."
    )


def words_of_topics(table: pd.DataFrame) -> pd.DataFrame:
    """Return matched topics for people: each method's first words, a row for each topic."""
    words = [name for name in table.columns if f"{name}, probability" in table.columns]
    return table.groupby("topic", sort=False)[words].agg(", ".join).reset_index(drop=True)


def beside(frontier: Frontier, cells: pd.DataFrame) -> str:
    """Say what can be drawn beside the visitor's own cells."""
    own = cells[~cells["series"].str.endswith(SHIPPED)]
    return (
        f"Lines with “{SHIPPED.strip()}” come with the project, at {_delta(frontier.cells)}; your runs have "
        f"{_delta(own)}."
    )


def _delta(cells: pd.DataFrame) -> str:
    return "δ = " + ", ".join(brief(float(delta)) for delta in sorted(cells["delta"].dropna().unique()))

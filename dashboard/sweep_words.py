"""What the Frontier page says."""

from dashboard.formats import number
from dashboard.frontier import SHARE, Standing, larger_is_better
from vips_core.runs.rows import CANCELLED, FAILED, QUEUED, RunRow

INTRODUCTION = (
    "How useful a model is at each ε, from many runs on public data. Choose methods and settings here, "
    "where trials cost nothing, before spending a private budget."
)
INVITATION = (
    "A sweep trains a model many times: for every ε, every method and several seeds. It runs in the "
    "background on all cores, cell by cell. You may close this page: the address brings you back, finished "
    "cells are kept, and a sweep that was stopped goes on where it was."
)
PUBLIC_ONLY = (
    "Sweeps run on public data only: on private data every cell would spend budget, and choosing the best "
    "would too."
)
CELLS = "Each field counts its finished cells. Every cell is one run with its own seed."
CELLS_ALT = "Table of settings by method, with finished and all cells in each field."
CURVES_ALT = (
    "Held-out score against ε on a logarithmic scale, a line for each method; the table has the numbers."
)


def label(run: RunRow) -> str:
    """Name a sweep in a list."""
    title = run.request.get("title") or f"{run.request['model']} on {run.data}"
    return f"{title} · {run.id} · {run.status}"


def state(run: RunRow, found: Standing) -> str:
    """Say how a sweep stands."""
    cells = f"{found.done:,} of {found.total:,} cells are finished"
    if run.status == QUEUED:
        return f"Waits for its turn. {cells}."
    if run.status == CANCELLED:
        return f"Stopped. {cells}; resume it to run the others."
    if run.status == FAILED:
        return f"Ended early: {run.error}. {cells}; resume it to run the others."
    if found.done < found.total and not found.failed:
        return f"{cells}. The others are of another version of the program, and have to run again."
    return f"{cells}."


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


def seeds(found: Standing, score: str) -> str:
    """Say how many seeds the settings of a score have."""
    part = found.cells[found.cells["score"] == score]
    counts = part.groupby(["line", "epsilon", "expected_batch"], dropna=False)["seed"].nunique()
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"

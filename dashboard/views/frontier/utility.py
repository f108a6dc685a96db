"""The smallest ε that buys a given utility."""

import math

import numpy as np
import pandas as pd

from dashboard.components.formats import at_most, number
from vips_core.models.task import TASKS, Score
from vips_core.reports import traces
from vips_core.reports.figures import GREY, Figure

SHARE = 0.9  # share of runs that have to reach a utility
_LEAST_GAP = 0.005  # smallest gap that the slider shows, as a share of the range of utilities


def score(name: str) -> Score:
    """Return the score of this name."""
    return next(task.scores[name] for task in TASKS.values() if name in task.scores)


def bounds(cells: pd.DataFrame, score: str) -> tuple[float, float]:
    """Return the range of a score over the runs with an ε."""
    values = _private(cells, score)["value"]
    return float(values.min()), float(values.max())


def separating(cells: pd.DataFrame, score: str) -> float:
    """Return the slider's initial utility: the one for which the lines need the most distinct ε.

    Candidates lie between the better half of the utilities that settings reach, or between any if those are
    nearly equal; ties go to the best. A line that never reaches the utility counts as different from one that
    does.
    """
    reached = _reached(cells, score)
    levels = sorted({level for settings in reached.values() for level in settings.values()}, reverse=True)
    pairs, least = list(zip(levels, levels[1:], strict=False)), _LEAST_GAP * (levels[0] - levels[-1])
    # Between two levels nothing changes, and the midpoint of distant levels survives the slider's rounding.
    better, all_gaps = (
        [pair for pair in part if pair[0] - pair[1] >= least]
        for part in (pairs[: len(levels) // 2 + 1], pairs)
    )
    tried = [(level + below) / 2 for level, below in better or all_gaps or [(levels[0], levels[0])]]
    different = [len({_smallest(settings, level) for settings in reached.values()}) for level in tried]
    return _sign(score) * tried[int(np.argmax(different))]


def smallest_epsilon(cells: pd.DataFrame, score: str, utility: float) -> pd.DataFrame:
    """Return for each line the smallest tested ε at which 90% of runs reach a utility.

    They must also reach it at every larger tested ε: one lucky setting is no result.
    """
    private, sign = _private(cells, score), _sign(score)
    rows = []
    for line, settings in _reached(cells, score).items():
        smallest = _smallest(settings, sign * utility)
        values = private.loc[(private["line"] == line) & (private["epsilon"] == smallest), "value"]
        count = int((sign * values >= sign * utility).sum())
        rows.append(
            {
                "Method": line,
                "Smallest ε": smallest,
                "Runs that reach it there": f"{count} of {len(values)}" if len(values) else "–",
                "Largest ε tested": max(settings),
            }
        )
    return pd.DataFrame(rows).astype({"Smallest ε": float})


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a readable table of smallest ε."""
    beyond = table["Largest ε tested"].map(lambda value: f"above\u00a0{number(value)}")
    shown = table["Smallest ε"].map(at_most).where(table["Smallest ε"].notna(), beyond)
    return table.assign(**{"Smallest ε": shown})[["Method", "Smallest ε", "Runs that reach it there"]]


def with_target(figure: Figure | None, utility: float) -> Figure | None:
    """Return a figure of scores with a line at the target utility.

    The legend names the line, because a label in the plot would cover the curves.
    """
    if figure is None:
        return None
    ends = [10**exponent for exponent in figure["layout"]["xaxis"]["range"]]
    level = traces.line("Target", ends, [utility, utility], GREY, "dot", hover=f"Target: {utility:.4g}")
    return figure | {"data": [*figure["data"], level]}


def _reached(cells: pd.DataFrame, score: str) -> dict[str, dict[float, float]]:
    """Return, by line and ε, the utility that 90% of runs reach at this and every larger tested ε.

    Levels are signed so that larger is better; the smallest ε comes first.
    """
    private = _private(cells, score)
    signed = private.assign(value=_sign(score) * private["value"])

    def level(values: pd.Series) -> float:
        return float(values.nlargest(math.ceil(SHARE * len(values) - 1e-9)).iloc[-1])

    levels = signed.groupby(["line", "epsilon"])["value"].agg(level)
    from_here_on = levels[::-1].groupby("line").cummin()[::-1]
    return {line: from_here_on[line].to_dict() for line in private["line"].unique()}


def _smallest(settings: dict[float, float], level: float) -> float | None:
    return next((epsilon for epsilon, reached in settings.items() if reached >= level), None)


def _private(cells: pd.DataFrame, score: str) -> pd.DataFrame:
    return cells[(cells["score"] == score) & cells["epsilon"].notna()]


def _sign(name: str) -> int:
    return 1 if score(name).larger_is_better else -1

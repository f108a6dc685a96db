"""The ε that a utility costs: the smallest that was tested from which on most runs reach it."""

import math

import numpy as np
import pandas as pd

from dashboard.components.bounds import at_most
from dashboard.components.formats import number
from vips_core.models.task import TASKS

SHARE = 0.9  # of runs that have to reach a utility
_APART = 0.005  # of the range of utilities: closer ones look alike
SCORES = {name: score for task in TASKS.values() for name, score in task.scores.items()}


def larger_is_better(score: str) -> bool:
    """Whether a score shall be large."""
    return SCORES[score].larger_is_better


def bounds(cells: pd.DataFrame, score: str) -> tuple[float, float]:
    """Return the range of a score, of runs that have an ε where there are some."""
    private = _private(cells, score)
    values = private["value"] if len(private) else cells.loc[cells["score"] == score, "value"]
    return float(values.min()), float(values.max())


def separating(cells: pd.DataFrame, score: str) -> float:
    """Return a utility to begin with: a good one at which lines need the most different ε.

    It is of the better half of those that settings reach, and of several such the best. A line that does not
    reach it at any tested ε differs from one that does.
    """
    sign = _sign(score)
    reached = _reached(cells, score)
    levels = sorted({level for settings in reached.values() for level in settings.values()}, reverse=True)
    if not levels:
        return bounds(cells, score)[sign > 0]
    better, least = levels[: len(levels) // 2 + 1], _APART * (levels[0] - levels[-1])
    # Between two levels nothing changes: the middle is not lost when it is rounded, if they are far apart.
    gaps = [pair for pair in zip(better, levels[1:], strict=False) if pair[0] - pair[1] >= least]
    tried = [(level + below) / 2 for level, below in gaps or [(levels[0], levels[0])]]
    different = [len({_smallest(settings, level) for settings in reached.values()}) for level in tried]
    return sign * tried[int(np.argmax(different))]


def smallest_epsilon(cells: pd.DataFrame, score: str, utility: float) -> pd.DataFrame:
    """Return for each line the smallest tested ε from which on 90 % of runs reach a utility.

    "From which on": at every larger tested ε they do so too; one lucky setting is no result.
    """
    private = _private(cells, score)
    rows = []
    for line, settings in _reached(cells, score).items():
        smallest = _smallest(settings, _sign(score) * utility)
        values = private.loc[(private["line"] == line) & (private["epsilon"] == smallest), "value"]
        count = int((_sign(score) * values >= _sign(score) * utility).sum())
        rows.append(
            {
                "Method": line,
                "Smallest ε": smallest,
                "Runs that reach it there": f"{count} of {len(values)}" if len(values) else "–",
                "Largest ε tested": max(settings),
            }
        )
    return pd.DataFrame(rows).astype({"Smallest ε": float}) if rows else pd.DataFrame()


def _reached(cells: pd.DataFrame, score: str) -> dict[str, dict[float, float]]:
    """Return for each line, by ε, what 90 % of runs reach there and at every larger tested ε.

    Levels have the sign with which larger is better; the smallest ε comes first.
    """
    private = _private(cells, score)
    reached: dict[str, dict[float, float]] = {line: {} for line in private["line"]}
    lowest: dict[str, float] = {}
    by_setting = private.groupby(["line", "epsilon"])["value"].agg(list)
    for (line, epsilon), values in reversed(list(by_setting.items())):
        best_first = sorted((_sign(score) * value for value in values), reverse=True)
        level = best_first[math.ceil(SHARE * len(values) - 1e-9) - 1]
        lowest[line] = min(level, lowest.get(line, math.inf))
        reached[line] = {epsilon: lowest[line]} | reached[line]
    return reached


def _smallest(settings: dict[float, float], level: float) -> float | None:
    return next((epsilon for epsilon, reached in settings.items() if reached >= level), None)


def _private(cells: pd.DataFrame, score: str) -> pd.DataFrame:
    return cells[(cells["score"] == score) & cells["epsilon"].notna()]


def _sign(score: str) -> int:
    return 1 if larger_is_better(score) else -1


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The smallest ε for people."""
    beyond = table["Largest ε tested"].map(lambda value: f"above\u00a0{number(value)}")
    shown = table["Smallest ε"].map(at_most).where(table["Smallest ε"].notna(), beyond)
    return table.assign(**{"Smallest ε": shown})[["Method", "Smallest ε", "Runs that reach it there"]]

"""Why removing names fails: a published table and a register of generated people, linked."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.background import Later
from dashboard.state import Choice
from dashboard.views.learn.lessons.base import Outcome, count, lesson
from dashboard.views.learn.lessons.figures import figure, point, swept
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREEN, VERMILION, Figure, log_axis
from vips_core.reports.traces import axis, line

YEARS, SEXES, DISTRICTS = 80, 2, 10  # numbers of equally likely values
MOST, SEED = 100_000, 1  # people in the largest town, drawn in a moment
DAYS = {"day": 365, "month": 12, "year": 1}  # distinguishable birth dates in a year
_STYLES = {"day": (VERMILION, "solid"), "month": (BLUE, "dash"), "year": (GREEN, "dot")}
_PEOPLE_HELP = "Each has a birthday, a sex and a district, drawn at random."
PEOPLE = count("linkage_people", "People in town", 10_000, 100, MOST, _PEOPLE_HELP)
_PRECISIONS = {"day": "Day", "month": "Month", "year": "Year"}
_BIRTH_HELP = "Coarser dates make more people look alike."
BIRTH = Choice("linkage_birth", "Birth date given as", "day", _PRECISIONS, _BIRTH_HELP)


@functools.cache
def _town() -> npt.NDArray[np.int64]:
    """Draw the birth date, sex and district of every person."""
    rng = np.random.default_rng(SEED)
    return rng.integers(0, (YEARS * DAYS["day"], SEXES, DISTRICTS), size=(MOST, 3))


def sizes(people: int, birth: str) -> npt.NDArray[np.int64]:
    """Return, for each person of the town, the number of people with the same published columns."""
    day, sex, district = _town()[:people].T
    date = day * DAYS[birth] // DAYS["day"]
    combination = (date * SEXES + sex) * DISTRICTS + district
    _, inverse, counts = np.unique(combination, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def expected_alone(people: Any, birth: str) -> Array:
    """Return the expected share of unique people if all K combinations are equally likely."""
    combinations = YEARS * DAYS[birth] * SEXES * DISTRICTS
    return np.asarray((1 - 1 / combinations) ** (np.asarray(people, float) - 1))


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show how many people can be identified."""
    people, birth = int(values[PEOPLE.name]), str(values[BIRTH.name])
    alike = sizes(people, birth)
    alone, hidden = float((alike == 1).mean()), float((alike >= 5).mean())
    return Outcome(
        numbers=(
            ("Unique", f"{alone:.1%}"),
            ("Expected by chance", f"{expected_alone(people, birth):.1%}"),
            ("In groups of 5 or more", f"{hidden:.1%}"),
        ),
        figure=_figure(people, birth, revealed),
        table=lambda: _table(people, birth),
        explanation=(
            f"Of {people:,} generated people, **{alone:.1%}** have a unique combination of "
            f"{BIRTH.options[birth].lower()} of birth, sex and district. Anyone with a register of names and "
            "these columns can link the two tables and read off the rest of the record. Coarser columns help "
            "only until the next table is published: a guarantee has to hold whatever else an attacker "
            "knows. Differential privacy provides such a guarantee."
        ),
    )


def _figure(people: int, birth: str, revealed: bool) -> Figure:
    x = log_axis("People in town (log scale)", 1.95, 5.05)
    y = axis("Share of unique people", range=[-0.02, 1.05], tickformat=".0%")
    if not revealed:
        return figure([], x, y)
    towns, hover = np.geomspace(100, MOST, 60), "%{x:,.0f} people: %{y:.1%}"
    curves = [
        line(f"{BIRTH.options[name]} of birth", towns, expected_alone(towns, name), colour, dash, hover)
        for name, (colour, dash) in _STYLES.items()
    ]

    def at(number: float) -> Figure:
        """Draw the curves, and the share counted in a town of this size."""
        alone = float((sizes(int(number), birth) == 1).mean())
        return figure([*curves, point("This town", number, alone, hover)], x, y)

    return swept(at, np.geomspace(100, people, 8).round(), "People")


def _table(people: int, birth: str) -> pd.DataFrame:
    alike = sizes(people, birth)
    shared, counts = np.unique(alike, return_counts=True)
    return pd.DataFrame({"People with the same combination": shared, "People in such groups": counts})


LESSON = lesson(__file__, parameters=(PEOPLE, BIRTH), look=look)

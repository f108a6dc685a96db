"""Why removing names fails: a published table and a register of generated people, joined by what stays."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.background import Later
from dashboard.state import Choice, Number, log_stops
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import LEGEND_BELOW, figure, point, swept
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREEN, VERMILION, Figure, log_axis
from vips_core.reports.traces import axis, line

YEARS, SEXES, DISTRICTS, MOST, SEED = 80, 2, 10, 100_000, 1
DAYS = {"day": 365, "month": 12, "year": 1}  # of birth that can be told apart in a year
_STYLES = {"day": (VERMILION, "solid"), "month": (BLUE, "dash"), "year": (GREEN, "dot")}
PEOPLE = Number(
    "linkage_people",
    "People in town",
    10_000,
    100,
    MOST,
    "Each has a birthday, a sex and a district, drawn at random.",
    log_stops(100, MOST, whole=True, mantissas=(1, 2, 5)),
    whole=True,
)
BIRTH = Choice(
    "linkage_birth",
    "Published of the birth",
    "day",
    {"day": "Day", "month": "Month", "year": "Year"},
    "Coarser dates make more people look alike.",
)


@functools.cache
def _town() -> npt.NDArray[np.int64]:
    """Generate everybody's day of birth, sex and district."""
    rng = np.random.default_rng(SEED)
    return rng.integers(0, (YEARS * DAYS["day"], SEXES, DISTRICTS), size=(MOST, 3))


def sizes(people: int, birth: str) -> npt.NDArray[np.int64]:
    """Return for each of the first people of the town how many share what is published of them."""
    day, sex, district = _town()[:people].T
    date = day * DAYS[birth] // DAYS["day"]
    combination = (date * SEXES + sex) * DISTRICTS + district
    _, inverse, counts = np.unique(combination, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def expected_alone(people: Any, birth: str) -> Array:
    """Share of people that nobody else looks like, expected where all K combinations are equally likely."""
    combinations = YEARS * DAYS[birth] * SEXES * DISTRICTS
    return np.asarray((1 - 1 / combinations) ** (np.asarray(people, float) - 1))


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show how many can be named."""
    people, birth = int(values[PEOPLE.name]), str(values[BIRTH.name])
    alike = sizes(people, birth)
    alone, hidden = float((alike == 1).mean()), float((alike >= 5).mean())
    towns = np.geomspace(100, people, 8).round().astype(int)
    return Outcome(
        numbers=(
            ("Alone with their combination", f"{alone:.1%}"),
            ("Expected by chance", f"{expected_alone(people, birth):.1%}"),
            ("In a crowd of 5 or more", f"{hidden:.1%}"),
        ),
        figure=swept(lambda n: _figure(int(n), birth), towns, "People") if revealed else _axes([]),
        table=lambda: _table(people, birth),
        explanation=(
            f"Of {people:,} generated people, **{alone:.1%}** are alone with {BIRTH.options[birth].lower()} "
            "of birth, sex and district. Whoever has a register with names and these columns joins the two "
            "and reads off the rest of the record. Coarser columns help until the next table comes along: a "
            "promise has to hold whatever else is known. That is what differential privacy adds."
        ),
    )


def _figure(people: int, birth: str) -> Figure:
    towns = np.geomspace(100, MOST, 60)
    alone = float((sizes(people, birth) == 1).mean())
    lines = [
        line(
            f"{BIRTH.options[name]} of birth", towns, expected_alone(towns, name), *style, "%{x:,}: %{y:.1%}"
        )
        for name, style in _STYLES.items()
    ]
    return _axes([*lines, point("This town", people, alone, f"{people:,} people: {alone:.1%}")])


def _axes(traces: list[dict[str, Any]]) -> Figure:
    x = log_axis("People in town (log scale)", 1.95, 5.05)
    y = axis("Alone with their combination", range=[-0.02, 1.05], tickformat=".0%")
    return figure(traces, x, y, legend=LEGEND_BELOW)


def _table(people: int, birth: str) -> pd.DataFrame:
    alike = sizes(people, birth)
    shared, counts = np.unique(alike, return_counts=True)
    return pd.DataFrame({"People who look alike": shared, "How many are in such a crowd": counts})


LESSON = lesson(__file__, parameters=(PEOPLE, BIRTH), look=look)

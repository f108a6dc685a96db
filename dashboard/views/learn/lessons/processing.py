"""Post-processing: computing with a release alone costs no privacy, and can improve accuracy."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import at_most, number
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import columns, figure, played
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.reports.figures import BLUE, GREEN, GREY, Figure
from vips_core.reports.traces import axis

DELTA = 1e-5
DRAWS, SHOWN = 400, 12  # draws of the noise: for the average error, and to choose from
GROUPS = ("0–9", "10–19", "20–29", "30–39", "40–49", "50–59", "60–69", "70–79", "80–89", "90+")
COUNTS = np.array([3, 9, 41, 62, 48, 30, 17, 8, 2, 0], float)  # generated cases by age
NOISE = base.noise_multiplier("processing", 5.0)
DRAW = base.draw_of_noise("processing_draw", SHOWN)


@functools.lru_cache(maxsize=64)
def released(noise: float) -> Array:
    """Return noisy counts, (draw, group); each person is in one group and moves one count by 1."""
    return np.asarray(COUNTS + noise * np.random.default_rng(3).standard_normal((DRAWS, COUNTS.size)))


def cleaned(noisy: Array) -> Array:
    """Return the nearest counts to each release that are not negative and have the public total."""
    ordered = -np.sort(-noisy, axis=-1)
    over = (np.cumsum(ordered, axis=-1) - COUNTS.sum()) / np.arange(1, COUNTS.size + 1)
    last = (ordered > over).sum(axis=-1, keepdims=True) - 1
    return np.asarray(np.maximum(noisy - np.take_along_axis(over, last, axis=-1), 0))


def error(counts: Array) -> float:
    """Return the root mean squared error over draws and groups."""
    return float(np.sqrt(((counts - COUNTS) ** 2).mean()))


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show a release before and after cleaning."""
    noise, draw = values[NOISE.name], int(values[DRAW.name]) - 1
    noisy = released(noise)
    clean = cleaned(noisy)
    epsilon = at_most(float(gaussian.epsilon(1 / noise, DELTA)))
    drawn = {
        f"<b>Draw {place + 1}</b>": _figure(noisy[place], clean[place], revealed) for place in range(SHOWN)
    }
    return Outcome(
        numbers=(
            ("ε of the release", epsilon),
            ("ε after cleaning", epsilon),
            ("Error as released", number(error(noisy))),
            ("Error after cleaning", number(error(clean))),
        ),
        figure=played(drawn, f"<b>Draw {draw + 1}</b>", rounds=2),
        table=lambda: pd.DataFrame(
            {"Age": GROUPS, "True": COUNTS, "Released": noisy[draw], "Cleaned": clean[draw]}
        ),
        explanation=(
            f"No function of a release reveals more about anyone than the release itself: ε stays "
            f"**{epsilon}**. Counts are not negative and their total is public, so moving to the nearest "
            f"possible counts reduces the error from {number(error(noisy))} to **{number(error(clean))}** on "
            f"average over {DRAWS} draws. Training works the same way: parameters are functions of noisy "
            "sums. Choosing how to clean by looking at the true counts would be another release, with its "
            "own ε."
        ),
    )


def _figure(noisy: Array, clean: Array, revealed: bool) -> Figure:
    shown = {"True": (COUNTS, GREY, ""), "Released": (noisy, BLUE, "/")}
    if revealed:
        shown["Cleaned"] = (clean, GREEN, ".")
    bars = [
        columns(
            name, GROUPS, counts, colour, "%{y:.1f}", marker={"color": colour, "pattern": {"shape": pattern}}
        )
        for name, (counts, colour, pattern) in shown.items()
    ]
    y = axis("Cases", range=[-15, 80], zeroline=True)
    return figure(bars, axis("Age", type="category"), y, barmode="group")


LESSON = lesson(__file__, parameters=(NOISE, DRAW), look=look)

"""Post-processing: whatever is done with a release alone costs nothing, and can make it better."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import at_most, number
from dashboard.state import Number
from dashboard.views.learn.lessons import controls
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import LEGEND_BELOW, figure, played
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.reports.figures import BLUE, GREEN, GREY, Figure
from vips_core.reports.traces import axis

DELTA, DRAWS = 1e-5, 400
GROUPS = ("0–9", "10–19", "20–29", "30–39", "40–49", "50–59", "60–69", "70–79", "80–89", "90+")
COUNTS = np.array([3, 9, 41, 62, 48, 30, 17, 8, 2, 0], float)  # generated: cases by age, one each
NOISE = controls.noise_multiplier("processing", 5.0)
DRAW = Number(
    "processing_draw",
    "Draw of the noise",
    1,
    1,
    12,
    "A known seed: for teaching, never for private data.",
    tuple(range(1, 13)),
    whole=True,
)


@functools.lru_cache(maxsize=64)
def released(noise: float) -> Array:
    """Counts with noise, (draw, group); one person is in one group, so moves them by 1."""
    return np.asarray(COUNTS + noise * np.random.default_rng(3).standard_normal((DRAWS, COUNTS.size)))


def cleaned(noisy: Array) -> Array:
    """Counts that can be: none below 0, and the public total (the nearest such point to each release)."""
    ordered = -np.sort(-noisy, axis=-1)
    over = (np.cumsum(ordered, axis=-1) - COUNTS.sum()) / np.arange(1, COUNTS.size + 1)
    last = (ordered > over).sum(axis=-1, keepdims=True) - 1
    return np.asarray(np.maximum(noisy - np.take_along_axis(over, last, axis=-1), 0))


def error(counts: Array) -> float:
    """Root of the mean squared error over draws and groups."""
    return float(np.sqrt(((counts - COUNTS) ** 2).mean()))


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show a release before and after cleaning."""
    noise, draw = values[NOISE.name], int(values[DRAW.name]) - 1
    noisy = released(noise)
    clean = cleaned(noisy)
    epsilon = at_most(float(gaussian.epsilon(1 / noise, DELTA)))
    frames: list[dict[str, Any]] = [
        {"name": f"draw {place + 1}", "data": _bars(noisy[place], clean[place], revealed)}
        for place in range(12)
    ]
    return Outcome(
        numbers=(
            ("ε of the release", epsilon),
            ("ε after cleaning", epsilon),
            ("Error as released", number(error(noisy))),
            ("Error after cleaning", number(error(clean))),
        ),
        figure=played(_figure(frames[draw]["data"]), frames, draw, 700, rounds=2),
        table=lambda: pd.DataFrame(
            {"Age": GROUPS, "True": COUNTS, "Released": noisy[draw], "Cleaned": clean[draw]}
        ),
        explanation=(
            f"No function of a release knows more about anyone than the release does: ε stays **{epsilon}**. "
            "Counts below 0 cannot be, and the total is public, so moving to the nearest counts that can be "
            f"takes the error from {number(error(noisy))} to **{number(error(clean))}** on average over "
            f"{DRAWS} draws. Training works like this too: parameters are functions of noisy sums. Looking "
            "at the true counts to choose how to clean would be another release, with its own ε."
        ),
    )


def _bars(noisy: Array, clean: Array, revealed: bool) -> list[dict[str, Any]]:
    shown = {"True": (COUNTS, GREY, ""), "Released": (noisy, BLUE, "/")}
    if revealed:
        shown["Cleaned"] = (clean, GREEN, ".")
    return [
        {
            "type": "bar",
            "name": name,
            "x": list(GROUPS),
            "y": counts,
            "marker": {"color": colour, "pattern": {"shape": pattern}},
            "hovertemplate": f"{name}: %{{y:.1f}}<extra></extra>",
        }
        for name, (counts, colour, pattern) in shown.items()
    ]


def _figure(bars: list[dict[str, Any]]) -> Figure:
    x = axis("Age", type="category")
    y = axis("Cases", range=[-15, 80], zeroline=True)
    return figure(bars, x, y, legend=LEGEND_BELOW, barmode="group")


LESSON = lesson(__file__, parameters=(NOISE, DRAW), look=look)

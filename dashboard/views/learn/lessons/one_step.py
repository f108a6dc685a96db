"""The privacy wall: one step of VIPS on real data, from exact sums to parameters.

The exact sums pass the same wall with a noise multiplier of 0 (ε = ∞). They can be shown because the data are
public; with private data, only noisy sums exist outside the wall.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import sample_data
from dashboard.background import Later
from dashboard.components.formats import at_most, number
from dashboard.state import Choice
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import Plot, heat_map, played, side_by_side
from vips_core import BayesianLogistic, Fit, PrivacyPlan, Table, fit
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREY, VERMILION, Figure
from vips_core.reports.traces import Trace, axis, bars, markers, note

FEATURES = (
    "intercept",
    "age",
    "male",
    "diabetes",
    "heart attack",
    "smokes now",
    "difficulty walking",
    "moderate recreation",
)
NORM_BOUND = len(FEATURES) ** 0.5  # every feature lies in [0, 1]
DELTA = 1e-5
EPSILON = base.epsilon("wall", 1.0, "The noise is calibrated to this ε exactly.", "ε of this step", high=10)
SEED = base.draw_of_noise("wall_seed", 100)
STAGES = {"wall": "Sums", "noise": "Noise", "released": "Released", "parameters": "Parameters"}
STAGE = Choice("wall_stage", "Stage", "wall", STAGES, "One step in four stages; Play shows them in turn.")
_HEADLINES = {
    "wall": "<b>1 Behind the wall:</b> exact sums over 4,204 people",
    "noise": "<b>2 Noise:</b> scaled to one person's bound",
    "released": "<b>3 Released:</b> sums plus noise, nothing else",
    "parameters": "<b>4 Parameters:</b> computed from the release alone",
}

_PARTS = ([0, 0.36], [0.40, 0.64], [0.69, 1])  # of the width, for sums, matrix and weights


@dataclass(frozen=True)
class Step:
    """One step: the two sums, the weights with their 90% intervals, and ε from the ledger."""

    linear: Array
    curvature: Array
    weights: Array
    intervals: Array
    epsilon: float
    noise_std: dict[str, float]

    def missed(self, weights: Array) -> int:
        """Return the number of intervals that miss these weights."""
        return int((np.abs(weights - self.intervals.mean(axis=1)) > np.ptp(self.intervals, axis=1) / 2).sum())


@functools.cache
def _people() -> Table:
    rows, _ = sample_data.load("nhanes-stroke").split(test_share=0.2, seed=0)
    columns = [rows.feature_names.index(name) for name in FEATURES]
    return Table(rows.x[:, columns], rows.y, FEATURES, NORM_BOUND)


@functools.lru_cache(maxsize=256)
def step(epsilon: float | None, seed: int) -> Step:
    """Run one full-batch step of the paper's Algorithm 5; an ε of None means no noise."""
    people = _people()
    model = BayesianLogistic(FEATURES, NORM_BOUND, variant="paper")
    plan = PrivacyPlan(
        records=len(people), expected_batch=len(people), steps=1, noise_multiplier=0.0, delta=DELTA
    )
    trained: Fit[Any] = fit(model, people, plan if epsilon is None else plan.calibrate(epsilon), seed=seed)
    params = trained.params  # after one step, the averages are the released sums
    (entry,) = trained.ledger.entries
    return Step(
        params.average_linear,
        params.average_curvature,
        params.mean,
        np.asarray(model.credible_intervals(trained, 0.9), float),
        trained.epsilon(),
        {name: block.noise_std for name, block in entry.blocks.items()},
    )


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show one stage of the step, with all four as frames."""
    exact, noisy = step(None, values[SEED.name]), step(values[EPSILON.name], values[SEED.name])
    stages = {_HEADLINES[name]: _figure(name, exact, noisy) for name in STAGES}
    largest = float(np.abs(noisy.linear).max())
    return Outcome(
        numbers=(
            ("ε, from the ledger", at_most(noisy.epsilon)),
            ("Noise on Σ(y − ½)x, std", number(noisy.noise_std["linear"])),
            ("Noise on Σ⟨ξ⟩xxᵀ, std", number(noisy.noise_std["curvature"])),
        ),
        figure=played(stages, _HEADLINES[values[STAGE.name]], 1800),
        table=lambda: _table(exact, noisy),
        explanation=(
            "The bound on **one** person sets the noise, whatever N is: here "
            f"{number(noisy.noise_std['linear'])}, beside sums as large as {largest:,.0f}. Sums grow with "
            "N, noise does not, so more people give better results at the same ε. The weights solve a linear "
            f"system with the noisy matrix, which can amplify noise. **{noisy.missed(exact.weights)} of "
            f"{len(FEATURES)}** intervals miss the weight without noise (◇): the paper's posterior treats "
            "the released sums as exact. The refined variant accounts for the noise."
        ),
    )


def _figure(stage: str, exact: Step, noisy: Step) -> Figure:
    """Draw the sums and the matrix of a stage and, in the last one, the weights."""
    last = stage == "parameters"
    linear, curvature, colour = {
        "wall": (exact.linear, exact.curvature, GREY),
        "noise": (noisy.linear - exact.linear, noisy.curvature - exact.curvature, VERMILION),
    }.get(stage, (noisy.linear, noisy.curvature, BLUE))
    features: dict[str, Any] = {"type": "category", "categoryarray": FEATURES, "ticks": "", "showgrid": False}
    features["range"] = [len(FEATURES) - 0.5, -0.5]
    unnamed = {**features, "showticklabels": False}
    most = float(max(np.abs(exact.curvature).max(), np.abs(noisy.curvature).max()))
    gaps = {"x": FEATURES, "y": FEATURES, "xgap": 1, "ygap": 1}
    sums = _axis_ends(exact.linear, noisy.linear, noisy.linear - exact.linear)
    ends = _axis_ends(noisy.intervals, exact.weights)
    font = {"color": GREY, "size": 13}
    not_yet = note("not computed yet", sum(ends) / 2, (len(FEATURES) - 1) / 2, font=font)
    weights = axis("Weights (◇ no noise)", range=ends, zeroline=True)
    return side_by_side(
        Plot(
            "",
            [bars("", linear, FEATURES, colour, hover="%{y}: %{x:,.0f}")],
            axis("Σ(y − ½)x", range=sums, nticks=4, tickangle=0),
            features,
        ),
        Plot(
            "",
            [heat_map(curvature.round(1), most, VERMILION, "%{y} × %{x}: %{z:,.0f}", **gaps)],
            axis("Σ⟨ξ⟩xxᵀ, same order", showticklabels=False, showgrid=False, ticks=""),
            unnamed,
        ),
        Plot("", _weights(exact, noisy, last), weights, unnamed, [] if last else [not_yet]),
        parts=_PARTS,
        bargap=0.3,
    )


def _weights(exact: Step, noisy: Step, computed: bool) -> list[Trace]:
    """Return the weights with and without noise, empty until the last stage computes them."""
    rows = slice(len(FEATURES) if computed else 0)
    dot = {"color": BLUE, "size": 10}
    hollow = {"color": GREY, "size": 11, "symbol": "diamond-open", "line": {"width": 2}}
    bar = {"array": np.ptp(noisy.intervals, axis=1) / 2, "color": BLUE}
    hover, names = "%{y}: %{x:.2f}", FEATURES[rows]
    return [
        markers("", noisy.weights[rows], names, BLUE, hover=f"{hover} with noise", marker=dot, error_x=bar),
        markers("", exact.weights[rows], names, GREY, hover=f"{hover} without noise", marker=hollow),
    ]


def _axis_ends(*values: Array) -> list[float]:
    """Return the ends of an axis that holds 0 and all values."""
    ends = [0.0, *(float(end) for array in values for end in (array.min(), array.max()))]
    low, high = min(ends), max(ends)
    return [low - 0.06 * (high - low), high + 0.06 * (high - low)]


def _table(exact: Step, noisy: Step) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Feature": FEATURES,
            "Σ(y − ½)x, exact": exact.linear,
            "Σ(y − ½)x, released": noisy.linear,
            "Weight without noise": exact.weights,
            "Weight": noisy.weights,
            "Low (90%)": noisy.intervals[:, 0],
            "High (90%)": noisy.intervals[:, 1],
        }
    )


LESSON = lesson(__file__, parameters=(EPSILON, SEED, STAGE), look=look)

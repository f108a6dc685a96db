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
from dashboard.views.learn.lessons import base, figures
from dashboard.views.learn.lessons.base import Outcome, lesson
from vips_core import BayesianLogistic, Fit, PrivacyPlan, Table, fit
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREY, VERMILION, Figure
from vips_core.reports.traces import axis, markers, note

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
_SENTENCES = {
    "wall": "<b>1 Behind the wall:</b> exact sums over 4,204 people",
    "noise": "<b>2 Noise:</b> scaled to one person's bound",
    "released": "<b>3 Released:</b> sums plus noise, nothing else",
    "parameters": "<b>4 Parameters:</b> computed from the release alone",
}

_FONT = {"color": GREY, "size": 13}
_NOT_YET = note("not computed yet", 0.845, 0.5, xref="paper", yref="paper", xanchor="center", font=_FONT)


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
    stages = {name: _stage(name, exact, noisy) for name in STAGES}
    largest = float(np.abs(noisy.linear).max())
    return Outcome(
        numbers=(
            ("ε, from the ledger", at_most(noisy.epsilon)),
            ("Noise on Σ(y − ½)x, std", number(noisy.noise_std["linear"])),
            ("Noise on Σ⟨ξ⟩xxᵀ, std", number(noisy.noise_std["curvature"])),
        ),
        figure=_figure(stages, values[STAGE.name], exact, noisy),
        table=lambda: _table(exact, noisy),
        explanation=(
            "The bound on **one** person sets the noise, whatever N is: here "
            f"{number(noisy.noise_std['linear'])}, beside sums as large as {largest:,.0f}. Sums grow with "
            "N, noise does not, so more people give better results at the same ε. The weights solve a linear "
            f"system with the noisy matrix, which can amplify noise. **{noisy.missed(exact.weights)} of "
            f"{len(FEATURES)}** intervals miss the weight without noise (◇): the paper's posterior treats "
            "the released sums as exact. The improved variant accounts for the noise."
        ),
    )


def _stage(name: str, exact: Step, noisy: Step) -> dict[str, Any]:
    """Return one frame: the bars, the matrix and, in the last one, the weights."""
    linear, curvature, colour = {
        "wall": (exact.linear, exact.curvature, GREY),
        "noise": (noisy.linear - exact.linear, noisy.curvature - exact.curvature, VERMILION),
    }.get(name, (noisy.linear, noisy.curvature, BLUE))
    last = name == "parameters"
    reach = np.abs(noisy.intervals - noisy.weights[:, None])
    weights = {"x": noisy.weights if last else [], "y": FEATURES if last else []}
    data = [
        {"type": "bar", "x": linear, "marker": {"color": colour}},
        {"type": "heatmap", "z": curvature.round(1)},
        {**weights, "error_x": {"array": reach[:, 1], "color": BLUE, "visible": last}},
        {"x": exact.weights if last else [], "y": FEATURES if last else []},
    ]
    layout = {"annotations": [figures.headline(_SENTENCES[name]), *([] if last else [_NOT_YET])]}
    return {"name": name, "data": data, "traces": [0, 1, 2, 3], "layout": layout}


def _empty_traces(most: float) -> list[dict[str, Any]]:
    """Return the bars, the matrix (up to ±most) and both sets of weights, with what no stage changes."""
    scale = [[0, VERMILION], [0.5, "rgba(127,138,149,0.12)"], [1, BLUE]]
    dot = {"color": BLUE, "size": 10}
    third: dict[str, Any] = {"xaxis": "x3", "yaxis": "y3"}
    hollow = {"color": GREY, "size": 11, "symbol": "diamond-open", "line": {"width": 2}}
    return [
        {"orientation": "h", "y": FEATURES, "hovertemplate": "%{y}: %{x:,.0f}<extra></extra>"},
        {
            "x": FEATURES,
            "y": FEATURES,
            "xaxis": "x2",
            "yaxis": "y2",
            "zmin": -most,
            "zmax": most,
            "colorscale": scale,
            "showscale": False,
            "xgap": 1,
            "ygap": 1,
            "hovertemplate": "%{y} × %{x}: %{z:,.0f}<extra></extra>",
        },
        markers("Released", [], [], BLUE, hover="%{y}: %{x:.2f} with noise", marker=dot, **third),
        markers("Without noise", [], [], GREY, hover="%{y}: %{x:.2f} without noise", marker=hollow, **third),
    ]


def _figure(stages: Mapping[str, Any], stage: str, exact: Step, noisy: Step) -> Figure:
    empty = _empty_traces(float(max(np.abs(exact.curvature).max(), np.abs(noisy.curvature).max())))
    frame = stages[stage]
    ends = [exact.linear, noisy.linear, noisy.linear - exact.linear]
    weights = np.concatenate([noisy.intervals.ravel(), exact.weights])
    features: dict[str, Any] = {
        "type": "category",
        "categoryarray": FEATURES,
        "range": [len(FEATURES) - 0.5, -0.5],
    }
    features |= {"automargin": True, "fixedrange": True, "ticks": "", "showgrid": False}
    drawn = figures.figure(
        [{**trace, **shown} for trace, shown in zip(empty, frame["data"], strict=True)],
        axis("Σ(y − ½)x", domain=[0, 0.36], range=_room(np.concatenate(ends)), nticks=4, tickangle=0),
        features,
        xaxis2={
            **axis("Σ⟨ξ⟩xxᵀ, same order", domain=[0.40, 0.64]),
            "anchor": "y2",
            "showticklabels": False,
            "fixedrange": True,
            "showgrid": False,
            "ticks": "",
        },
        xaxis3={
            **axis("Weights (◇ no noise)", domain=[0.69, 1], range=_room(weights)),
            "anchor": "y3",
            "fixedrange": True,
            "zeroline": True,
        },
        yaxis2={**features, "anchor": "x2", "showticklabels": False},
        yaxis3={**features, "anchor": "x3", "showticklabels": False},
        showlegend=False,
        bargap=0.3,
        annotations=frame["layout"]["annotations"],
    )
    return figures.played(drawn, list(stages.values()), list(stages).index(stage), 1800, rounds=1)


def _room(values: Array) -> list[float]:
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
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

"""The privacy wall: one step of VIPS on real numbers, from exact sums to parameters.

The sums before the noise come through the same wall with a noise multiplier of 0 (ε = ∞). They may be shown
because the data are public; for private data nothing but the released sums exists outside the wall.
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
from dashboard.state import Choice, Number, log_stops
from dashboard.views.learn.lessons import figures
from dashboard.views.learn.lessons.base import Outcome, lesson
from vips_core import BayesianLogistic, Fit, PrivacyPlan, Table, fit
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREY, VERMILION, Figure
from vips_core.reports.traces import note

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
NORM_BOUND = len(FEATURES) ** 0.5  # every feature is from 0 to 1
DELTA = 1e-5
EPSILON = Number(
    "wall_eps", "ε of this step", 1.0, 0.1, 10, "The noise is calibrated to it, exactly.", log_stops(0.1, 10)
)
SEED = Number(
    "wall_seed",
    "Draw of the noise",
    1,
    1,
    100,
    "A known seed: for teaching, never for private data.",
    tuple(range(1, 101)),
    whole=True,
)
STAGES = {"wall": "Sums", "noise": "Noise", "released": "Released", "parameters": "Parameters"}
STAGE = Choice("wall_stage", "Stage", "wall", STAGES, "One step, in four stages; Play shows them in turn.")
_SENTENCES = {
    "wall": "<b>1 Behind the wall:</b> exact sums over 4,204 people",
    "noise": "<b>2 The noise:</b> as large as one person demands",
    "released": "<b>3 Released:</b> sums plus noise, and nothing else",
    "parameters": "<b>4 Parameters:</b> computed from the release alone",
}

_FONT = {"color": GREY, "size": 13}
_NOT_YET = note("not computed yet", 0.845, 0.5, xref="paper", yref="paper", xanchor="center", font=_FONT)


@dataclass(frozen=True)
class Step:
    """One step: the two sums, the weights with their 90% intervals, and what the ledger says."""

    linear: Array
    curvature: Array
    weights: Array
    intervals: Array
    epsilon: float
    noise_std: dict[str, float]

    def missed(self, weights: Array) -> int:
        """Return how many intervals do not hold these weights."""
        return int((np.abs(weights - self.intervals.mean(axis=1)) > np.ptp(self.intervals, axis=1) / 2).sum())


@functools.cache
def _people() -> Table:
    rows, _ = sample_data.load("nhanes-stroke").split(test_share=0.2, seed=0)
    columns = [rows.feature_names.index(name) for name in FEATURES]
    return Table(rows.x[:, columns], rows.y, FEATURES, NORM_BOUND)


@functools.lru_cache(maxsize=256)
def step(epsilon: float | None, seed: int) -> Step:
    """Take one full-batch step of the paper's Algorithm 5; None is without noise."""
    people = _people()
    model = BayesianLogistic(FEATURES, NORM_BOUND, variant="paper")
    plan = PrivacyPlan(
        records=len(people), expected_batch=len(people), steps=1, noise_multiplier=0.0, delta=DELTA
    )
    trained: Fit[Any] = fit(model, people, plan if epsilon is None else plan.calibrate(epsilon), seed=seed)
    params = trained.params  # after the first step the averages are the released sums themselves
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
    """Show one stage of the step, with all four to play."""
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
            f"{number(noisy.noise_std['linear'])} beside sums as large as {largest:,.0f}. Sums grow with N "
            "and noise does not, so more people mean better results at the same ε. The weights solve a "
            f"system with the noisy matrix, which can magnify noise. **{noisy.missed(exact.weights)} of "
            f"{len(FEATURES)}** intervals miss the weight without noise (◇): the paper's posterior takes the "
            "released sums for exact. The improved variant counts the noise that it knows of."
        ),
    )


def _stage(name: str, exact: Step, noisy: Step) -> dict[str, Any]:
    """One frame: the bars, the matrix and (in the last one) the weights."""
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
    """Return what no stage changes of the bars, the matrix (up to ±most), and both sets of weights."""
    scale = [[0, VERMILION], [0.5, "rgba(127,138,149,0.12)"], [1, BLUE]]
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
        {
            "type": "scatter",
            "mode": "markers",
            "name": "Released",
            "xaxis": "x3",
            "yaxis": "y3",
            "marker": {"color": BLUE, "size": 10},
            "hovertemplate": "%{y}: %{x:.2f}<extra>with noise</extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "Without noise",
            "xaxis": "x3",
            "yaxis": "y3",
            "marker": {"color": GREY, "size": 11, "symbol": "diamond-open", "line": {"width": 2}},
            "hovertemplate": "%{y}: %{x:.2f}<extra>without noise</extra>",
        },
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
        {
            "domain": [0, 0.36],
            "title": {"text": "Σ(y − ½)x"},
            "range": _room(np.concatenate(ends)),
            "nticks": 4,
            "tickangle": 0,
        },
        features,
        xaxis2={
            "domain": [0.40, 0.64],
            "anchor": "y2",
            "title": {"text": "Σ⟨ξ⟩xxᵀ, same order"},
            "showticklabels": False,
            "fixedrange": True,
            "showgrid": False,
            "ticks": "",
        },
        xaxis3={
            "domain": [0.69, 1],
            "anchor": "y3",
            "title": {"text": "Weights (◇ no noise)"},
            "range": _room(weights),
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

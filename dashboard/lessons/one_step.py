"""Lesson 5: the privacy wall. One step of VIPS on real numbers, from exact sums to parameters.

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
from dashboard import charts
from dashboard.background import Later
from dashboard.formats import number
from dashboard.lessons import figures
from dashboard.lessons.base import Formula, Lesson, Outcome
from dashboard.session import Choice, Number, log_stops
from vips_core import BayesianLogistic, Fit, LabelledRows, PrivacyPlan, fit
from vips_core.models.symmetric import unpack

FEATURES = (
    "intercept", "age", "male", "diabetes", "heart attack", "smokes now", "difficulty walking",
    "moderate recreation",
)  # fmt: skip
NORM_BOUND = len(FEATURES) ** 0.5  # every feature is from 0 to 1
DELTA = 1e-5
EPSILON = Number(
    "eps5", "ε of this step", 1.0, 0.1, 10, "The noise is calibrated to it, exactly.", log_stops(0.1, 10)
)
SEED = Number(
    "seed5", "Draw of the noise", 1, 1, 100, "A known seed: for teaching, never for private data.",
    tuple(range(1, 101)), whole=True,
)  # fmt: skip
STAGES = {"wall": "Sums", "noise": "Noise", "released": "Released", "parameters": "Parameters"}
STAGE = Choice("stage5", "Stage", "wall", STAGES, "One step, in four stages; Play shows them in turn.")
_SENTENCES = {
    "wall": "<b>1 Behind the wall:</b> exact sums over 4,204 people",
    "noise": "<b>2 The noise:</b> Gaussian, as large as one person's part demands",
    "released": "<b>3 Released:</b> sums plus noise, all that leaves the wall",
    "parameters": "<b>4 Parameters:</b> computed from the release alone",
}

_NOT_YET = {
    "text": "not computed yet", "x": 0.845, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
    "font": {"color": charts.GREY, "size": 13},
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step: the two sums, the weights with their 90% intervals, and what the ledger says."""

    linear: charts.Array
    curvature: charts.Array
    weights: charts.Array
    intervals: charts.Array
    epsilon: float
    noise_std: dict[str, float]


@functools.cache
def _people() -> LabelledRows:
    rows, _ = sample_data.load("nhanes-stroke").split(test_share=0.2, seed=0)
    columns = [rows.feature_names.index(name) for name in FEATURES]
    return LabelledRows(rows.x[:, columns], rows.y, FEATURES, NORM_BOUND)


@functools.lru_cache(maxsize=256)
def step(epsilon: float | None, seed: int) -> Step:
    """Take one full-batch step of the paper's Algorithm 5; None is without noise."""
    people = _people()
    model = BayesianLogistic(FEATURES, NORM_BOUND, method="paper")
    plan = PrivacyPlan(
        records=len(people), expected_batch=len(people), steps=1, noise_multiplier=0.0, delta=DELTA
    )
    found: Fit[Any] = fit(model, people, plan if epsilon is None else plan.calibrate(epsilon), seed=seed)
    params = found.params  # after the first step the averages are the released sums themselves
    (entry,) = found.ledger.entries
    return Step(
        params.average_gradient,
        unpack(params.average_curvature, len(FEATURES)),
        params.mean,
        model.credible_intervals(found, 0.9),
        found.epsilon(),
        {name: block.noise_std for name, block in entry.blocks.items()},
    )


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show one stage of the step, with all four to play."""
    exact, noisy = step(None, values[SEED.name]), step(values[EPSILON.name], values[SEED.name])
    stages = {name: _stage(name, exact, noisy) for name in STAGES}
    largest = float(np.abs(noisy.linear).max())
    return Outcome(
        (
            ("ε, from the ledger", number(noisy.epsilon)),
            ("Noise on Σ(y − ½)x, std", number(noisy.noise_std["linear"])),
            ("Noise on Σ⟨ξ⟩xxᵀ, std", number(noisy.noise_std["curvature"])),
        ),
        _figure(stages, values[STAGE.name], exact, noisy),
        lambda: _table(exact, noisy),
        "The bound on **one** person sets the noise, whatever N is: here "
        f"{number(noisy.noise_std['linear'])} beside sums as large as {largest:,.0f}. Sums grow with N "
        "and noise does not, so more people mean better results at the same ε. The weights solve a system "
        "with the noisy matrix, which can magnify noise: try ε = 0.1.",
    )


def _stage(name: str, exact: Step, noisy: Step) -> dict[str, Any]:
    """One frame: the bars, the matrix and (in the last one) the weights."""
    linear, curvature, colour = {
        "wall": (exact.linear, exact.curvature, charts.GREY),
        "noise": (noisy.linear - exact.linear, noisy.curvature - exact.curvature, charts.VERMILION),
    }.get(name, (noisy.linear, noisy.curvature, charts.BLUE))
    last = name == "parameters"
    reach = np.abs(noisy.intervals - noisy.weights[:, None])
    weights = {"x": noisy.weights if last else [], "y": FEATURES if last else []}
    data = [
        {"type": "bar", "x": linear, "marker": {"color": colour}},
        {"type": "heatmap", "z": curvature.round(1)},
        {**weights, "error_x": {"array": reach[:, 1], "color": charts.BLUE, "visible": last}},
        {"x": exact.weights if last else [], "y": FEATURES if last else []},
    ]
    layout = {"annotations": [_headline(name), *([] if last else [_NOT_YET])]}
    return {"name": name, "data": data, "traces": [0, 1, 2, 3], "layout": layout}


def _headline(stage: str) -> dict[str, Any]:
    return {**figures.heading("", 0), "text": _SENTENCES[stage], "yshift": 8}


def _figure(stages: Mapping[str, Any], stage: str, exact: Step, noisy: Step) -> charts.Figure:
    most = float(max(np.abs(exact.curvature).max(), np.abs(noisy.curvature).max()))
    scale = [[0, charts.VERMILION], [0.5, "rgba(127,138,149,0.12)"], [1, charts.BLUE]]
    empty = [
        {"orientation": "h", "y": FEATURES, "hovertemplate": "%{y}: %{x:,.0f}<extra></extra>"},
        {"x": FEATURES, "y": FEATURES, "xaxis": "x2", "zmin": -most, "zmax": most,
         "colorscale": scale, "showscale": False, "xgap": 1, "ygap": 1,
         "hovertemplate": "%{y} × %{x}: %{z:,.0f}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "name": "Released", "xaxis": "x3",
         "marker": {"color": charts.BLUE, "size": 10},
         "hovertemplate": "%{y}: %{x:.2f}<extra>with noise</extra>"},
        {"type": "scatter", "mode": "markers", "name": "Without noise", "xaxis": "x3",
         "marker": {"color": charts.GREY, "size": 11, "symbol": "diamond-open", "line": {"width": 2}},
         "hovertemplate": "%{y}: %{x:.2f}<extra>without noise</extra>"},
    ]  # fmt: skip
    frame = stages[stage]
    ends = [exact.linear, noisy.linear, noisy.linear - exact.linear]
    weights = np.concatenate([noisy.intervals.ravel(), exact.weights])
    drawn = figures.figure(
        [{**trace, **shown} for trace, shown in zip(empty, frame["data"], strict=True)],
        {"domain": [0, 0.36], "title": {"text": "Σ(y − ½)x"}, "range": _room(np.concatenate(ends))},
        {"autorange": "reversed", "ticks": "", "showgrid": False},
        xaxis2={"domain": [0.40, 0.64], "anchor": "y", "title": {"text": "Σ⟨ξ⟩xxᵀ, same order"},
                "showticklabels": False, "fixedrange": True, "showgrid": False, "ticks": ""},
        xaxis3={"domain": [0.69, 1], "anchor": "y", "title": {"text": "Weights (◇ without noise)"},
                "range": _room(weights), "fixedrange": True, "zeroline": True},
        showlegend=False,
        bargap=0.3,
        annotations=frame["layout"]["annotations"],
    )  # fmt: skip
    return figures.played(drawn, list(stages.values()), list(stages).index(stage), 1800, rounds=1)


def _room(values: charts.Array) -> list[float]:
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


LESSON = Lesson(
    5,
    "The wall",
    "The privacy wall: one step of VIPS",
    "Data stay behind the wall. Noisy sums leave it; parameters are computed from those alone.",
    "This survey has 4,204 people. With ten times as many, how much noise would the same ε need on the "
    "sums over all people?",
    ("Ten times as much", "√10 times as much", "The same", "A tenth"),
    2,
    "A row x has norm at most √8. Bound (y − ½)x and ⟨ξ⟩xxᵀ for one person, and explain why both bounds are "
    "divided by 1/√2 before they are multiplied by the noise multiplier.",
    "‖(y − ½)x‖ ≤ √8/2 and ‖⟨ξ⟩xxᵀ‖ ≤ 8/4. Each sum times w/C, both together have norm at most "
    "√(w₁² + w₂²) = 1. Noise as large as the multiplier on these is multiplier · C/w on the sums themselves.",
    (EPSILON, SEED, STAGE),
    (
        Formula(
            r"\tilde s_1=\sum_n (y_n-\tfrac12)x_n+\mathcal N\!\left(0,\sigma^2\tfrac{C_1^2}{w_1^2}I\right),"
            r"\quad \tilde s_2=\sum_n\langle\xi_n\rangle x_nx_n^{\top}+Z",
            "s̃₁ = Σ (y − ½)x + N(0, σ²C₁²/w₁² I), s̃₂ = Σ ⟨ξ⟩xxᵀ + Z",
            "The paper's §6.2, Algorithm 5, here for sums: one person moves them by C₁ = ‖x‖/2, C₂ = ‖x‖²/4.",
        ),
        Formula(
            r"w_1^2+w_2^2=1,\qquad w_1=w_2=1/\sqrt2",
            "w₁² + w₂² = 1, w₁ = w₂ = 1/√2",
            "Both sums are one joint release. The paper's 2J steps would be unsound for sampled batches.",
        ),
        Formula(
            r"\Sigma^{-1}=\tilde s_2+\langle\alpha\rangle I,\qquad \mu=\Sigma\,\tilde s_1",
            "Σ⁻¹ = s̃₂ + ⟨α⟩I, μ = Σ s̃₁",
            "The M-step of §6.1: a function of the release alone, so it costs no privacy.",
        ),
    ),
    look,
    "NHANES stroke, one full-batch step of the paper's variant, δ = 1e-5. Exact sums can be shown only "
    "because these data are public; they come through the same wall with ε = ∞.",
    "Sums, their noise, what is released, and the weights computed from it, for eight features.",
)

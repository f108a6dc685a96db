"""Lesson 4: subsampling. What small batches save in ε, and the efficiency that they cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dashboard import charts, words
from dashboard.background import Later
from dashboard.formats import number
from dashboard.lessons.base import Formula, Lesson, Outcome
from dashboard.lessons.composition import plan_of
from dashboard.lessons.figures import line, point, side_by_side
from dashboard.session import Number, log_stops

LEAST_RATE = 1e-3
RATE = Number(
    "q4", "Sampling rate q", 0.05, LEAST_RATE, 1.0, "Chance of each record to be in a step's batch.",
    log_stops(LEAST_RATE, 1.0),
)  # fmt: skip
NOISE = Number(
    "noise4", "Noise multiplier", 1.24, 0.5, 100, "Noise over what one record can move, in every step.",
    log_stops(0.5, 100),
)  # fmt: skip
STEPS = Number(
    "steps4", "Steps T", 20, 1, 1000, "How often the data are used.", log_stops(1, 1000, whole=True),
    whole=True,
)  # fmt: skip
DELTA = 1e-4  # the paper's


@dataclass(frozen=True)
class Sampled:
    """ε by PLD and efficiency at some sampling rates."""

    rates: charts.Array
    epsilons: charts.Array
    efficiencies: charts.Array


def sampled(rates: tuple[float, ...], noise: float, steps: int) -> Sampled:
    """Return both at these rates."""
    plans = [plan_of(noise, rate, steps, DELTA) for rate in rates]
    return Sampled(
        np.array([plan.sampling_rate for plan in plans]),
        np.array([plan.epsilon("pld") for plan in plans]),
        np.array([plan.efficiency for plan in plans]),
    )


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show ε and efficiency over the sampling rate."""
    rate, noise, steps = (values[p.name] for p in (RATE, NOISE, STEPS))
    here = later(sampled, (rate,), noise, steps)
    grid = later(sampled, tuple(np.geomspace(LEAST_RATE, 1, 13)), noise, steps)
    shown = here and (float(here.epsilons[0]), float(here.efficiencies[0]))
    return Outcome(
        (
            ("ε at this q", shown and number(shown[0])),
            ("ε of full batches", None if grid is None else number(grid.epsilons[-1])),
            ("Efficiency at this q", shown and f"{shown[1]:.0%}"),
        ),
        _figure(grid, rate, shown, revealed) if here and grid else None,
        lambda: pd.DataFrame({"q": grid.rates, "ε (PLD)": grid.epsilons, "Efficiency": grid.efficiencies}),
        _explanation(rate, shown),
    )


def _figure(grid: Sampled, rate: float, shown: tuple[float, float], revealed: bool) -> charts.Figure:
    logs = np.log10(grid.epsilons)
    q_axis = charts.log_axis("Sampling rate q (log scale)", np.log10(LEAST_RATE) - 0.08, 0.08)
    saved = [
        line("ε", grid.rates, grid.epsilons, charts.BLUE, "solid", "q = %{x:.3g}: ε = %{y:.3g}"),
        point("Here", rate, shown[0], f"here: ε = {number(shown[0])}"),
    ]
    cost = [
        line("Full batches", [LEAST_RATE, 1], [1, 1], charts.GREY, "dash"),
        line("Efficiency", grid.rates, grid.efficiencies, charts.GREEN, "solid", "q = %{x:.3g}: %{y:.0%}"),
        point("Here", rate, shown[1], f"here: {shown[1]:.0%}"),
    ]
    return side_by_side(
        saved,
        cost if revealed else cost[:1],
        (
            q_axis,
            charts.log_axis("ε by PLD (log scale)", float(logs.min()) - 0.1, float(logs.max()) + 0.1),
            q_axis,
            {"title": {"text": "Efficiency"}, "range": [0, 1.08], "tickformat": ".0%"},
        ),
        ("What q saves", "What q costs, at the same ε"),
    )


def _explanation(rate: float, shown: tuple[float, float] | None) -> str:
    if shown is None:
        return words.WAITING
    return (
        f"Drawing {rate:.3g} of the records hides people: ε falls to {number(shown[0])}. But each step also "
        f"sees less. Full batches with more noise, at the same ε, would have a signal over noise "
        f"{1 / shown[1]:.3g} times as large: this plan's efficiency is **{shown[1]:.0%}**. At "
        "equal signal, small batches save computing time, not privacy."
    )


LESSON = Lesson(
    4,
    "Subsampling",
    "Subsampling: privacy by chance",
    "A step that draws each record with probability q leaves everyone in doubt whether they were seen.",
    "Two runs have the same ε and the same number of steps. One draws 5% of the records in each step, the "
    "other uses all records with more noise. Whose averaged statistics have the better signal over noise?",
    ("The 5% run: sampling is free privacy", "Both are equal", "The full batches"),
    2,
    "Compute q√T/σ for these settings. Then find the σ of one full-batch release with the same ε from the "
    "exact formula of lesson 2, take 1/σ, and divide.",
    "Full batches add up to one Gaussian release with signal over noise μ, where μ solves "
    "δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ). The efficiency is (q√T/σ)/μ.",
    (RATE, NOISE, STEPS),
    (
        Formula(
            r"\beta=(1-q)\,\mathcal N(0,\sigma^2)+q\,\mathcal N(1,\sigma^2),\quad "
            r"\alpha(\lambda)=\log\mathbb E_{z\sim\beta}\left[\left(\tfrac{\beta(z)}{\beta_0(z)}\right)"
            r"^{\lambda}\right]",
            "β = (1 − q) N(0, σ²) + q N(1, σ²), α(λ) = log E<sub>z~β</sub>[(β(z)/β₀(z))<sup>λ</sup>]",
            "The paper's §3.2 with q for its ν, Δ = 1; the other expectation there is never larger.",
        ),
        Formula(
            r"\mathrm{SNR}=\frac{q\sqrt T}{\sigma},\qquad "
            r"\mathrm{efficiency}=\frac{q\sqrt T/\sigma}{\mu(\varepsilon,\delta)}\le 1",
            "SNR = q√T/σ, efficiency = (q√T/σ)/μ(ε, δ) ≤ 1",
            "Beyond the paper: μ(ε, δ) is the signal over noise of full batches, whatever their number.",
        ),
    ),
    look,
    "Noise multiplier and steps as set, δ = 1e-4. Defaults: the paper's topic model (§4.3). Dot: this q.",
    "ε rises with the sampling rate; efficiency is one for full batches and lower for sampled ones.",
)

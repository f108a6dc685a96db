"""Attack it: the likelihood ratio succeeds and fails; the last bits of naive noise betray."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from dashboard.background import Later
from dashboard.components.formats import at_least, at_most
from dashboard.state import Number, log_stops
from dashboard.views.learn.lessons import controls
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import mark, side_by_side, swept
from vips_core import BayesianLogistic, PrivacyPlan, Table
from vips_core.audits.bounds import Rates, rates_at
from vips_core.audits.inspection import possible_without_the_person
from vips_core.audits.wall_attack import attack_step
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.privacy.noise import Randomness, grid_step
from vips_core.reports.figures import BLUE, GREY, Figure
from vips_core.reports.traces import line

DELTA, CONFIDENCE, SEED = 1e-5, 0.95, 8
NOISE = controls.noise_multiplier("attack", 2.0)
ATTACKS = Number(
    "attack_attacks",
    "Attacks",
    20_000,
    100,
    100_000,
    "How often the release is made again, half of the time with the person.",
    log_stops(100, 100_000, whole=True, mantissas=(1, 2, 4)),
    whole=True,
)
AT_WALL = 400  # attacks on the real wall, at most: they take a while
# Of the attack on the last bits: two blocks of cells whose noise differs, as a model's blocks do, and what
# one person adds to a cell.
CELLS, SCALES, OWN_SHARE, RELEASES = 30, (1.0, 0.7), 0.075, 300


def log_ratios(noise: float, attacks: int) -> tuple[Array, Array]:
    """Log likelihood ratios of Gaussian releases with and without a person who moves them by 1."""
    mu, rng = 1 / noise, np.random.default_rng(SEED)
    present, absent = rng.standard_normal((2, attacks // 2))
    return mu * present + mu**2 / 2, mu * absent - mu**2 / 2


@dataclass(frozen=True)
class LastBits:
    """How often the attack on the last bits says "with": of naive noise, and of ours."""

    naive: Rates
    ours: Rates


def last_bits(noise: float) -> LastBits:
    """Ask of every release whether noise on a sum of 0 can have given it; slow."""
    (naive_with, ours_with), (naive, ours) = _impossible(noise, OWN_SHARE), _impossible(noise, 0.0)
    return LastBits(Rates(naive_with, RELEASES, naive, RELEASES), Rates(ours_with, RELEASES, ours, RELEASES))


def _impossible(noise: float, own: float) -> tuple[int, int]:
    """Releases that noise on a sum of 0 cannot have given, in double precision and on our grid."""
    rng, randomness = np.random.default_rng(SEED), Randomness.of(SEED).derive("with", own > 0)
    naive, ours = np.zeros((2, RELEASES), np.bool_)
    for block, scale in enumerate(SCALES):
        std, shape = noise * scale, (RELEASES, CELLS)
        grid = grid_step(std, OWN_SHARE, 1000)
        on_grid = grid * (
            np.rint(own / grid) + randomness.derive("block", block).rounded_gaussian(shape, std / grid)
        )
        naive |= ~possible_without_the_person(own + std * rng.standard_normal(shape), std).all(axis=1)
        ours |= ~possible_without_the_person(on_grid, std).all(axis=1)
    return int(naive.sum()), int(ours.sum())


def shown_at_the_wall(noise: float, attacks: int) -> float:
    """ε that the same attack shows at the product's own wall, on a small regression; slow."""
    person = Table(np.full((1, 2), math.sqrt(0.5)), np.array([True]), ("a", "b"), 1.0)
    model = BayesianLogistic(person.feature_names, 1.0, "paper")
    plan = PrivacyPlan(records=100, expected_batch=100, steps=1, noise_multiplier=noise, delta=DELTA)
    params = model.init(plan, np.random.default_rng(SEED))
    releases, randomness = min(attacks, AT_WALL), Randomness.of(SEED)
    attack = attack_step(model, params, person, plan, 0, releases=releases, randomness=randomness)
    return attack.measured(DELTA, CONFIDENCE)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show what both attacks achieve."""
    noise, attacks = values[NOISE.name], int(values[ATTACKS.name])
    present, absent = log_ratios(noise, attacks)
    rates = rates_at(0.0, present, absent)
    claimed = float(gaussian.epsilon(1 / noise, DELTA))
    shown, bits = rates.gaussian_epsilon(DELTA, CONFIDENCE), later(last_bits, noise)
    at_wall = later(shown_at_the_wall, noise, attacks)
    edges = np.linspace(min(absent.min(), present.min()), max(absent.max(), present.max()), 41)
    betrayed = None
    if bits is not None:
        betrayed = ", ".join(f"{item.epsilon(DELTA, CONFIDENCE):.2f}" for item in (bits.naive, bits.ours))
    outcome = "it did not refute the claim"
    if shown > claimed:
        outcome = "above the claim by chance, as 1 of 20 attacks may be"
    return Outcome(
        numbers=(
            ("ε claimed", at_most(claimed)),
            ("ε shown, likelihood ratio", at_least(shown)),
            (f"ε shown, our wall, {min(attacks, AT_WALL):,}", None if at_wall is None else at_least(at_wall)),
            ("ε shown, last bits: naive, ours", betrayed),
        ),
        figure=swept(
            lambda count: _figure(present[: int(count)], absent[: int(count)], edges, bits, revealed),
            np.unique(np.geomspace(20, present.size, 10).round()),
            "Attacks of each kind",
        ),
        table=lambda: _table({"Likelihood ratio": rates}, bits),
        explanation=(
            f"The likelihood ratio is the best test of Gaussian noise. In {attacks:,} attacks it says “with” "
            f"of {rates.found / rates.present:.1%} with and {rates.alarms / rates.absent:.1%} without the "
            f"person. With Gaussian noise that shows ε ≥ **{at_least(shown)}** of {at_most(claimed)}: "
            f"{outcome}. The last bits of naive noise refute it where σ is large, for more noise does not "
            "hide them; those of ours say the same with and without you."
        ),
    )


def _figure(present: Array, absent: Array, edges: Array, bits: LastBits | None, revealed: bool) -> Figure:
    middles, hover = (edges[1:] + edges[:-1]) / 2, "log ratio %{x:.2f}: %{y:.1%} of releases"
    shade = {"fill": "tozeroy", "fillcolor": "rgba(31,131,196,0.10)"}
    left = [
        line("Without you", middles, _histogram(absent, edges), GREY, "dash", hover),
        line("With you", middles, _histogram(present, edges), BLUE, "solid", hover, **shade),
    ]
    groups, right = ["Naive noise", "On a grid"], []
    if revealed and bits is not None:
        of_both = (bits.naive, bits.ours)
        right = [
            _bars("Without you", groups, [item.alarms / item.absent for item in of_both], GREY),
            _bars("With you", groups, [item.found / item.present for item in of_both], BLUE),
        ]
    drawn = side_by_side(
        left,
        right,
        (
            {"title": {"text": "Log likelihood ratio"}},
            {"title": {"text": "Share of releases"}, "rangemode": "tozero", "tickformat": ".0%"},
            {"type": "category", "categoryarray": groups, "range": [-0.5, 1.5]},
            {"range": [0, 1.15], "tickformat": ".0%"},  # of releases; a title would run into the left plot
        ),
        ("What one release tells", "What its last bits tell"),
    )
    top = 1.06 * max(float(trace["y"].max()) for trace in left)
    drawn["layout"]["annotations"] += [
        mark("without you", float(np.median(absent)), top, GREY, xanchor="right", xshift=-2),
        mark("with you", float(np.median(present)), top, BLUE, xanchor="left", xshift=2),
    ]
    return drawn


def _histogram(scores: Array, edges: Array) -> Array:
    return np.histogram(scores, edges)[0] / scores.size


def _bars(name: str, groups: list[str], shares: list[float], colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": f"{name}, last bits",
        "x": groups,
        "y": shares,
        "marker": {"color": colour},
        "text": [f"{share:.0%}" for share in shares],
        "textposition": "outside",
        "textangle": 0,
        "cliponaxis": False,
        "showlegend": False,
        "hovertemplate": f"{name}: %{{y:.1%}}<extra></extra>",
    }


def _table(by_attack: dict[str, Rates], bits: LastBits | None) -> pd.DataFrame:
    if bits is not None:
        by_attack = by_attack | {"Last bits, naive noise": bits.naive, "Last bits, on a grid": bits.ours}
    return pd.DataFrame(
        {
            "Attack": list(by_attack),
            "Called “with”, with you": [rates.found / rates.present for rates in by_attack.values()],
            "Called “with”, without you": [rates.alarms / rates.absent for rates in by_attack.values()],
        }
    )


def expected_advantage(noise: float) -> float:
    """Largest TPR − FPR of the likelihood ratio, at threshold 0: 2Φ(μ/2) − 1 with μ = 1/σ."""
    return float(2 * ndtr(1 / (2 * noise)) - 1)


LESSON = lesson(__file__, parameters=(NOISE, ATTACKS), look=look)

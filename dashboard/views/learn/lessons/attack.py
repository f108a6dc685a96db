"""Attacks on a release: the likelihood ratio, and the last bits of naive noise."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import at_least, at_most
from dashboard.state import log_stops
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import Plot, columns, side_by_side, swept, two_worlds
from vips_core import BayesianLogistic, PrivacyPlan, Table
from vips_core.audits.bounds import Rates, rates_at
from vips_core.audits.inspection import possible_without_the_person
from vips_core.audits.wall_attack import attack_step
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.privacy.noise import Randomness, grid_step
from vips_core.reports.figures import BLUE, GREY, Figure
from vips_core.reports.traces import Trace, axis

DELTA, CONFIDENCE, SEED = 1e-5, 0.95, 8
NOISE = base.noise_multiplier("attack", 2.0)
_STOPS = log_stops(100, 100_000, whole=True, mantissas=(1, 2, 4))
_ATTACKS_HELP = "Number of simulated releases, half of them with the person."
ATTACKS = base.whole("attack_attacks", "Attacks", 20_000, _STOPS, _ATTACKS_HELP)
AT_WALL = 400  # most attacks on the product's own wall, each slower than a simulated one
# The attack on the last bits: releases of two blocks of cells with different noise, as in a model.
CELLS, SCALES, RELEASES = 30, (1.0, 0.7), 300
OWN_SHARE = 0.075  # one person's effect on a cell
LastBits = tuple[Rates, Rates]  # the last-bit attack's rates, for naive noise and for noise on a grid


def log_ratios(noise: float, attacks: int) -> tuple[Array, Array]:
    """Draw log likelihood ratios of Gaussian releases with and without a person who moves them by 1."""
    mu, rng = 1 / noise, np.random.default_rng(SEED)
    present, absent = rng.standard_normal((2, attacks // 2))
    return mu * present + mu**2 / 2, mu * absent - mu**2 / 2


def last_bits(noise: float) -> LastBits:
    """Test every release, by naive noise and on a grid, for values that noise on 0 cannot produce; slow."""
    counts = zip(_impossible(noise, OWN_SHARE), _impossible(noise, 0.0), strict=True)
    naive, ours = (Rates(present, RELEASES, absent, RELEASES) for present, absent in counts)
    return naive, ours


def _impossible(noise: float, own: float) -> tuple[int, int]:
    """Count the releases that noise on a sum of 0 cannot produce, in double precision and on the grid."""
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
    """Return the ε that the same attack measures at the product's own wall, on a small regression; slow."""
    person = Table(np.full((1, 2), math.sqrt(0.5)), np.array([True]), ("a", "b"), 1.0)
    model = BayesianLogistic(person.feature_names, 1.0, "paper")
    plan = PrivacyPlan(records=100, expected_batch=100, steps=1, noise_multiplier=noise, delta=DELTA)
    params = model.init(plan, np.random.default_rng(SEED))
    releases, randomness = min(attacks, AT_WALL), Randomness.of(SEED)
    attack = attack_step(model, params, person, plan, 0, releases=releases, randomness=randomness)
    return attack.measured(DELTA, CONFIDENCE)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show the success of both attacks."""
    noise, attacks = values[NOISE.name], int(values[ATTACKS.name])
    present, absent = log_ratios(noise, attacks)
    rates = rates_at(0.0, present, absent)
    claimed = float(gaussian.epsilon(1 / noise, DELTA))
    shown, bits = rates.gaussian_epsilon(DELTA, CONFIDENCE), later(last_bits, noise)
    at_wall = later(shown_at_the_wall, noise, attacks)
    edges = np.linspace(min(absent.min(), present.min()), max(absent.max(), present.max()), 41)
    last_bits_show = bits and ", ".join(f"{item.epsilon(DELTA, CONFIDENCE):.2f}" for item in bits)
    wall_shows = None if at_wall is None else at_least(at_wall)
    outcome = "the attack did not refute the claim"
    if shown > claimed:
        outcome = "above the claim by chance, as in up to 1 of 20 attacks"
    return Outcome(
        numbers=(
            ("ε claimed", at_most(claimed)),
            ("ε measured, likelihood ratio", at_least(shown)),
            (f"ε at our wall, {min(attacks, AT_WALL):,} attacks", wall_shows),
            ("ε, last bits: naive, grid", last_bits_show),
        ),
        figure=swept(
            lambda count: _figure(present[: int(count)], absent[: int(count)], edges, bits, revealed),
            np.unique(np.geomspace(20, present.size, 10).round()),
            "Attacks of each kind",
        ),
        table=lambda: _table(rates, *(bits or ())),
        explanation=(
            f"The likelihood ratio is the best test under Gaussian noise. In {attacks:,} attacks it says "
            f"“present” in {rates.found / rates.present:.1%} of true and "
            f"{rates.alarms / rates.absent:.1%} of false cases. This implies ε ≥ **{at_least(shown)}**, "
            f"against the claim of {at_most(claimed)}: {outcome}. The last bits of naive noise refute the "
            "claim at large σ, because more noise does not hide them; on a grid, they are the same with and "
            "without you."
        ),
    )


def _figure(present: Array, absent: Array, edges: Array, bits: LastBits | None, revealed: bool) -> Figure:
    shares = [np.histogram(scores, edges)[0] / scores.size for scores in (absent, present)]
    hover, middles = "log ratio %{x:.2f}: %{y:.1%} of releases", (edges[1:] + edges[:-1]) / 2
    places = (float(np.median(absent)), float(np.median(present)))
    curves, labels = two_worlds(middles, shares[0], shares[1], hover, places, 1.06 * float(np.max(shares)))
    groups, bars = ["Naive noise", "On a grid"], []
    if revealed and bits is not None:
        bars = [
            _bars("Without you", groups, [item.alarms / item.absent for item in bits], GREY),
            _bars("With you", groups, [item.found / item.present for item in bits], BLUE),
        ]
    share = axis("Share of releases", rangemode="tozero", tickformat=".0%")
    kinds = {"type": "category", "categoryarray": groups, "range": [-0.5, 1.5]}
    found = {"range": [0, 1.15], "tickformat": ".0%"}  # no title: it would run into the left plot
    return side_by_side(
        Plot("Evidence in one release", curves, axis("Log likelihood ratio"), share, labels),
        Plot("Evidence in its last bits", bars, kinds, found),
    )


def _bars(name: str, groups: list[str], shares: list[float], colour: str) -> Trace:
    written: dict[str, Any] = {"text": [f"{share:.0%}" for share in shares], "textposition": "outside"}
    return columns(name, groups, shares, colour, "%{y:.1%}", **written, textangle=0, cliponaxis=False)


def _table(*attacks: Rates) -> pd.DataFrame:
    """Return the success of the likelihood ratio and, once computed, of the last bits."""
    names = ("Likelihood ratio", "Last bits, naive noise", "Last bits, on a grid")
    return pd.DataFrame(
        {
            "Attack": names[: len(attacks)],
            "Says “present”, with you": [rates.found / rates.present for rates in attacks],
            "Says “present”, without you": [rates.alarms / rates.absent for rates in attacks],
        }
    )


LESSON = lesson(__file__, parameters=(NOISE, ATTACKS), look=look)

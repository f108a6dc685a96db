"""The refined logistic regression's mechanisms, each turned off by a limiting value; see `ablation`."""

import functools
import math
from dataclasses import replace
from typing import Any

import vips_core as vips
from tests.benchmarks.utility import development_tables, logistic, tables
from tests.benchmarks.utility.ablation import Ablation, Measure
from vips_core.models.logistic.refined import DEFAULT

NEVER = math.inf
DATA = (
    "nhanes",
    "cohort 4000",
    "breast cancer",
    "uis",
    "card",
    "loanapp",
    "jtrain3",
    "correlated 400",
    "long tails",
    "strong cohort 2000",
    "500 words",
)
VARIANTS: dict[str, dict[str, Any]] = {
    "moments' radius": {"moment_radius": 1.0},
    "centring": {"common_mean": NEVER},
    "moments, if they are not mostly noise": {"mean_std": 1e-6},
    "middle of the ranges, if moments are mostly noise": {"mean_std": 1e6},
    "z-score of moments": {"min_z_moment": 0.0},
    "calibration": {"slope_std": 0.0},
    "prior of the calibration slope": {"slope_std": 100.0},
    "matrix": {"visible_matrix": NEVER, "clear_matrix": NEVER},
    "matrix guides steps": {"clear_matrix": NEVER},
    "matrix for intervals where it cannot guide": {"visible_matrix": DEFAULT.clear_matrix},
    "prior of the level": {"prior_level": 100.0},
    "prior of slopes": {"prior_log_odds": 100.0},
    "long steps": {"largest_step": 0.3},
    "prior on totals": {"minority_std": 1e6},
    "measured totals": {"minority_std": 1e-6},
    "late steps weigh more": {"averaging": 0.0},
    "shared directions": {"min_z_direction": NEVER},
    "z-score of shared directions": {"min_z_direction": 0.0},
    "several shared directions": {"most_directions": 1},
}


@functools.lru_cache(4)
def split(name: str, seed: int) -> tuple[vips.Table, vips.Table]:
    """Return (train, test), cached for the other variants."""
    return (development_tables if name in development_tables.NAMES else tables).split(name, seed)


def score(name: str, epsilon: float, draw: int, changes: dict[str, Any] | None) -> dict[str, float]:
    """Score one fit on held-out rows."""
    train, test = split(name, draw)
    model = logistic.with_constants(train, replace(DEFAULT, **(changes or {})))
    fit = vips.fit(
        model,
        train,
        logistic.plan_of("refined", len(train), epsilon),
        seed=1000 * draw + round(100 * epsilon),
    )
    scores = logistic.metrics(test.y, model.for_records(train).predict_probability(fit, test))
    return {"auc": scores["auc"], "log_loss": scores["log_loss"]}


ABLATION = Ablation(DATA, VARIANTS, score, {"auc": Measure(True, 0.003), "log_loss": Measure(False, 0.003)})

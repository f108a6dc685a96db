"""Logistic regression and its rivals, in the bench's form: (train, test, ε, seed) -> probabilities.

A method with constants is a family of settings, "name: setting"; `leave_one_out` chooses among them on all
tables but the one that is scored. The standing rivals have frozen settings (`rivals`), and other packages,
where installed, their own (`peers`). δ is 1e-6. Neighbours are zero-out. The paper's variant takes ten
steps of full batches; strong composition is the same with its own accountant.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import vips_core as vips
from tests.benchmarks.utility import peers, rivals
from vips_core.models.logistic.constants import Constants
from vips_core.models.logistic.paper import Paper
from vips_core.models.logistic.refined import DEFAULT, Refined
from vips_core.records import Table

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = rivals.DELTA
EPOCHS = 16  # of refined
PAPER_STEPS = 10
NOT_PRIVATE = "non-private"
SQUARE = ("paper", "strong", "normal equations", "DP-Newton")  # methods with d × d statistics
WIDE = 1000  # features from which these are left out

Scores = Callable[[Table, Table, float, int], np.ndarray]


def metrics(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Rank, probability and calibration of predictions; the slope of well calibrated log odds is 1."""
    p = np.clip(probabilities, 1e-9, 1 - 1e-9)
    return {
        "auc": float(roc_auc_score(labels, p)),
        "log_loss": float(log_loss(labels, p)),
        "brier": float(brier_score_loss(labels, p)),
        "expected_over_observed": float(p.mean() / labels.mean()),
        "calibration_slope": calibration_slope(labels, logit(p)),
    }


def calibration_slope(labels: np.ndarray, log_odds: np.ndarray) -> float:
    """Return the slope of the logistic regression of labels on predicted log odds; NaN if these are equal."""
    spread = log_odds.std()
    if spread < 1e-9:
        return math.nan
    standard = (log_odds - log_odds.mean()) / spread
    solver = LogisticRegression(C=1e6, max_iter=1000)  # practically without penalty
    return float(solver.fit(standard[:, None], labels).coef_[0, 0] / spread)


def with_constants(rows: Table, constants: Constants) -> vips.BayesianLogistic:
    """Return the refined model for these rows, with other constants."""
    variants = {"refined": functools.partial(Refined, constants=constants), "paper": Paper}
    model = type("BayesianLogistic", (vips.BayesianLogistic,), {"VARIANTS": variants})
    return model(rows.feature_names, rows.norm_bound)


def refined(deviation: float) -> Scores:
    """The refined variant, given the prior standard deviation of a typical record's log odds."""
    constants = replace(DEFAULT, prior_log_odds=deviation)

    def scores(train, test, epsilon, seed):
        model, plan = with_constants(train, constants), plan_of("refined", len(train), epsilon)
        return model.predict_probability(vips.fit(model, train, plan, seed=seed), test)

    return scores


def paper(accountant: str) -> Scores:
    """The paper's variant, its noise calibrated by an accountant."""

    def scores(train, test, epsilon, seed):
        model = vips.BayesianLogistic(train.feature_names, train.norm_bound, "paper")
        plan = plan_of(accountant, len(train), epsilon)
        return model.predict_probability(vips.fit(model, train, plan, seed=seed), test)

    return scores


def ridge(rows: Table, penalty: float = 1.0) -> np.ndarray:
    """Non-private weights that minimise the log loss plus penalty/2·‖w‖², averaged within a person."""
    solver = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=10_000, tol=1e-8)
    return solver.fit(rows.x, rows.y, sample_weight=rows.row_weights).coef_[0]


def not_private(train, test, epsilon, seed):
    """Ridge regression, with the stronger penalty where there are few records per feature."""
    penalty = 1.0 if len(train) > 10 * train.x.shape[1] else 30.0
    return expit(test.x @ ridge(train, penalty))


METHODS: dict[str, Scores] = {
    NOT_PRIVATE: not_private,
    **{f"refined: prior {deviation}": refined(deviation) for deviation in (1.0, 1.5, 2.5)},
    "paper": paper("pld"),
    "strong": paper("strong"),
    **{name: rivals.rival(settings) for name, settings in rivals.FROZEN.items()},
    **peers.METHODS,
}

# The product's settings and the standing rivals.
STANDING = {
    (method, epsilon)
    for method in ("refined: prior 1.5", "paper", "strong", NOT_PRIVATE, *rivals.FROZEN, *peers.METHODS)
    for epsilon in (*EPSILONS, math.inf)
}


def applies(method: str, rows: Table, epsilon: float) -> bool:
    """Return whether a method is run: not twice without privacy, nor with d × d cells for very wide rows."""
    if method in SQUARE and rows.x.shape[1] >= WIDE:
        return False
    return (method == NOT_PRIVATE) == math.isinf(epsilon)


@functools.cache
def plan_of(kind: str, records: int, epsilon: float) -> vips.PrivacyPlan:
    """Return a plan, calibrated once because it depends on public quantities alone."""
    public = {"records": records, "epsilon": epsilon, "delta": DELTA}
    if kind == "refined":
        return vips.BayesianLogistic(("any",)).recommend(**public, epochs=EPOCHS)
    steps = vips.PrivacyPlan(records=records, expected_batch=records, steps=PAPER_STEPS, delta=DELTA)
    return steps.calibrate(epsilon, kind)

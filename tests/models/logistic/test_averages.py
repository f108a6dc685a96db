"""Which averages over steps the estimate trusts, and when a curvature's matrix guides the steps."""

import numpy as np
import pytest

import vips_core as vips
from tests.models.logistic.people import cohort
from tests.models.logistic.ways import model_for
from vips_core.models.logistic.curvature import Directions
from vips_core.models.logistic.refined import CURVATURE, DEFAULT, trust_in_late

D = 40
VISIBLE, CLEAR = DEFAULT.visible_matrix, DEFAULT.clear_matrix


def directions(vectors=None):
    curvature = np.linspace(50, 150, D)
    return Directions(curvature, curvature, vectors, np.zeros((D, 0)))


def trust_of(way, late, saved):
    return trust_in_late(way, late, saved, DEFAULT.path_error)


def turned():
    return np.linalg.qr(np.random.default_rng(3).normal(size=(D, D)))[0]


@pytest.mark.parametrize("vectors", [None, turned()])
def test_a_small_estimate_trusts_the_longer_average(vectors):
    way, rng = directions(vectors), np.random.default_rng(0)
    noise = rng.normal(size=D) * 30 / way.for_steps
    late = noise if vectors is None else vectors @ noise
    assert trust_of(way, late, 30.0**2).mean() < 0.3


@pytest.mark.parametrize("vectors", [None, turned()])
def test_a_large_estimate_trusts_the_late_average(vectors):
    """The way to the optimum is then in the longer one."""
    late = np.full(D, 50.0)
    along = late if vectors is None else vectors @ late
    assert trust_of(directions(vectors), along, 30.0**2).min() > 0.95


def test_a_large_estimate_trusts_the_late_average_along_its_own_direction_only():
    way, late = directions(), np.zeros(D)
    late[7] = 10.0
    trust = trust_of(way, late, 30.0**2)
    assert trust[7] > 0.9
    assert np.delete(trust, 7).max() == 0


def test_without_a_longer_average_the_late_one_is_all():
    assert (trust_of(directions(), np.ones(D), 0.0) == 1).all()


@pytest.mark.parametrize(
    ("seen", "matrices"),
    [(0.9 * VISIBLE, 0), (1.1 * VISIBLE, 1), (0.9 * CLEAR, 1), (1.1 * CLEAR, 2)],
)
def test_a_matrix_is_released_where_it_can_be_seen_and_early_too_where_it_is_clear(seen, matrices):
    rows, _ = cohort(n=500, d=6)
    model, steps = model_for(rows), 16
    noise = 500 * steps**0.5 / (seen * (len(rows.feature_names) + 1) ** 1.5)
    plan = vips.PrivacyPlan(records=500, expected_batch=500, steps=steps, noise_multiplier=noise, delta=1e-5)
    released = [step for step in range(steps) if CURVATURE in model.blocks(plan, step)]
    assert len(released) == matrices
    fit = vips.fit(model, rows, plan, seed=0)
    assert np.isfinite(fit.params.mean).all()
    assert fit.params.state.schedule.guided == (matrices == 2)

"""Bayesian logistic regression: bounds, training methods, reference posterior, noise-aware intervals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import vips_core as vips
from tests.models.logistic.people import as_sparse, cohort, plan_for
from tests.models.logistic.ways import STEPS, model_for
from tests.reference import logistic_polya_gamma
from vips_core.models.logistic.calibration import Calibration
from vips_core.models.logistic.coordinates import Coordinates
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.models.logistic.refined import CALIBRATION, CURVATURE, GRADIENT, MOMENTS
from vips_core.models.logistic.sums import calibration, curvature, gradient_and_diagonal
from vips_core.privacy.blocks import Block

WAYS = {"paper": ("paper", 1.0), "exact": ("refined", 0.0), "noisy": ("refined", 0.1)}


STATISTICS = {  # variant, noise, step
    "paper": ("paper", 1.0, 1),
    "exact": ("refined", 0.0, 1),
    MOMENTS: ("refined", 0.1, 0),
    GRADIENT: ("refined", 0.1, 2),
    CURVATURE: ("refined", 0.1, 3),
    CALIBRATION: ("refined", 0.1, STEPS - 1),
}


def params_at(params, point):
    """Return parameters whose next E-step is at a given point."""
    if hasattr(params, "state"):
        found = replace(params.calibration, slopes=point)
        return replace(params, state=replace(params.state, point=np.append(1.0, point)), calibration=found)
    return replace(params, mean=point)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("make", [lambda rows: rows, as_sparse], ids=["dense", "sparse"])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([0.1, 1.0, 30.0, 1e6]),
    length=st.sampled_from([0.3, 1.0, 9.0]),
    names=st.sampled_from([tuple("abcd"), ("a", "b missing", "a missing", "b")]),
)
def test_one_record_moves_each_block_by_at_most_its_bound(name, make, seed, size, length, names):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(9, 4)) * length
    rows = make(vips.Table(x, rng.random(9) < 0.5, names, 20.0))
    variant, noise, step = STATISTICS[name]
    # The rows may be longer than the model's bound, so the model must not rely on the data's bound.
    model = BayesianLogistic(rows.feature_names, 2.0, variant)
    plan = vips.PrivacyPlan(records=9, expected_batch=9, steps=STEPS, noise_multiplier=noise, delta=1e-4)
    params = model.init(plan, rng)
    if name in (GRADIENT, CURVATURE, CALIBRATION):
        params = vips.fit(model, rows, plan, seed=seed, on_step=lambda progress: progress.step == 2).params
    params = params_at(params, size * rng.normal(size=4))
    blocks = model.blocks(plan, step)
    assert variant == "paper" or noise == 0 or set(blocks) == {name}
    everyone, without = np.ones(9, bool), np.ones(9, bool)
    without[rng.integers(9)] = False
    more, less = (model.e_step(params, rows[mask], blocks).sums for mask in (everyone, without))
    assert sum(block.share**2 for block in blocks.values()) == pytest.approx(1)
    for block_name, block in blocks.items():
        assert np.linalg.norm(more[block_name] - less[block_name]) <= block.bound


@settings(max_examples=300, deadline=None)
@given(psi=st.floats(-40, 40), norm=st.floats(0.0, 50.0), label=st.integers(0, 1))
def test_what_the_residual_leaves_of_the_norm_is_enough_for_the_diagonal(psi, norm, label):
    """The largest possible share has a record's whole norm in one column at its reach."""
    rows = vips.Table(np.array([[norm]]), [label], ("a",), 50.0)
    coordinates = Coordinates(np.zeros(1), np.ones(1), np.full(1, 1e-12), 0.3, -1, 1.0)
    point = np.array([psi / 0.3, 0.0])
    share = gradient_and_diagonal(rows, coordinates, point, vips.Block(1.0, shape=(5,), grid=2.0**-40))
    assert np.linalg.norm(share) <= 1


@settings(max_examples=300, deadline=None)
@given(level=st.floats(-40, 40), t=st.floats(-3, 3), label=st.integers(0, 1))
def test_score_and_information_of_the_calibration_stay_within_the_bound(level, t, label):
    rows = vips.Table(np.array([[t]]), [label], ("a",), 50.0)
    coordinates = Coordinates(np.zeros(1), np.ones(1), np.ones(1), 0.3, -1, 1.0)
    found = Calibration(np.ones(1), np.array([level, 1.0]), None, 1.0, 0.0)
    share = calibration(rows, coordinates, found, vips.Block(1.0, shape=(5,), grid=2.0**-40))
    psi, within = level + t, np.clip(t, -1, 1)
    p = 1 / (1 + np.exp(-psi))
    residual, information = label - p, p * (1 - p)
    expected = [0.6 * residual, 0.8 * residual * within]
    expected += [1.5 * information, 1.5 * information * within, 2.5 * information * within**2]
    np.testing.assert_allclose(share, expected, rtol=1e-6, atol=1e-9)
    assert np.linalg.norm(share) <= 1


@pytest.mark.parametrize("name", STATISTICS)
def test_sums_add_up_keep_no_state_and_agree_between_dense_and_sparse(name):
    rows, _ = cohort(n=5000, density=0.4)
    variant, noise, step = STATISTICS[name]
    model, plan = model_for(rows, variant), plan_for(rows, noise, steps=STEPS)
    before = max(step, 1)
    params = vips.fit(model, rows, plan, seed=1, on_step=lambda progress: progress.step == before).params
    blocks = model.blocks(plan, step)
    mask = np.random.default_rng(2).random(len(rows)) < 0.5
    whole, again = (model.e_step(params, rows, blocks).sums for _ in range(2))
    parts = [model.e_step(params, rows[part], blocks).sums for part in (mask, ~mask)]
    thin = model.e_step(params, as_sparse(rows), blocks).sums
    nobody = model.e_step(params, rows[np.zeros(len(rows), bool)], blocks).sums
    assert set(whole) == set(blocks)
    for block in blocks:
        assert np.array_equal(whole[block], again[block])
        np.testing.assert_allclose(parts[0][block] + parts[1][block], whole[block], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(thin[block], whole[block], rtol=1e-8, atol=1e-8)
        assert nobody[block].shape == whole[block].shape
        assert not nobody[block].any()


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_repeats_a_fit_and_another_does_not(way):
    rows, _ = cohort()
    variant, noise = WAYS[way]
    first, same, other = (
        vips.fit(model_for(rows, variant), rows, plan_for(rows, noise, batch=100), seed=seed).params.mean
        for seed in (3, 3, 4)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("make", [lambda rows: rows, as_sparse], ids=["dense", "sparse"])
def test_without_noise_the_fit_is_the_polya_gamma_posterior(make):
    rows, _ = cohort(n=60, d=3)
    mean, covariance, precision = logistic_polya_gamma(rows.x, rows.y.astype(float), rounds=300)
    found = vips.fit(model_for(rows), make(rows), plan_for(rows, 0.0, steps=300), seed=0).params
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-6)
    assert found.precision == pytest.approx(precision, abs=1e-6)


def test_the_paper_variant_without_noise_converges_to_the_same_posterior():
    rows, _ = cohort(n=60, d=3)
    mean, covariance, _ = logistic_polya_gamma(rows.x, rows.y.astype(float), rounds=300)
    found = vips.fit(model_for(rows, "paper"), rows, plan_for(rows, 0.0, steps=5500), seed=0).params
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-6)


def test_with_many_records_the_mean_is_the_ridge_optimum_of_scikit_learn():
    rows, _ = cohort(n=50_000, d=4)
    found = vips.fit(model_for(rows), rows, plan_for(rows, 0.0, steps=60), seed=0).params
    oracle = LogisticRegression(C=1 / found.precision, fit_intercept=False, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(found.mean, oracle.fit(rows.x, rows.y).coef_[0], atol=1e-3)


def test_stochastic_batches_without_noise_come_close():
    rows, _ = cohort(n=2000, d=4)
    exact = vips.fit(model_for(rows), rows, plan_for(rows, 0.0, steps=60), seed=0).params.mean
    found = vips.fit(model_for(rows), rows, plan_for(rows, 0.0, steps=300, batch=200), seed=0).params.mean
    assert np.abs(found - exact).max() < 0.15


def test_little_noise_gives_the_optimum():
    rows, _ = cohort(n=20_000, d=5)
    found = vips.fit(model_for(rows), rows, plan_for(rows, 1e-3, steps=60), seed=0).params
    oracle = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-10, max_iter=1000).fit(rows.x, rows.y)
    np.testing.assert_allclose(found.mean, oracle.coef_[0], atol=0.08)


@pytest.mark.parametrize(
    ("noise", "n", "d", "scale"),
    [
        (24.0, 8000, 6, 0.3),
        (60.0, 8000, 6, 0.3),
        (60.0, 8000, 6, 1.5),  # strong weights: ψ has a standard deviation of 1.9 over records
        (12.0, 4000, 30, 0.7),
        (12.0, 400, 6, 0.7),  # fewer than 500 records
    ],
)
def test_ninety_percent_intervals_cover_about_ninety_percent(noise, n, d, scale):
    covered = {"weights": [], "non-private": []}
    for seed in range(25):
        rows, weights = cohort(n=n, d=d, seed=seed, scale=scale)
        model = model_for(rows)
        result = vips.fit(model, rows, plan_for(rows, noise, steps=STEPS), seed=seed)
        erm = LogisticRegression(C=1.0, fit_intercept=False).fit(rows.x, rows.y).coef_[0]
        for of, target in (("weights", weights), ("non-private", erm)):
            low, high = model.credible_intervals(result, 0.9, of).T
            covered[of] += list((low <= target) & (target <= high))
    assert 0.86 <= np.mean(covered["weights"]) <= 0.995
    assert 0.84 <= np.mean(covered["non-private"]) <= 0.995


@pytest.mark.parametrize("make", [lambda rows: rows, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("sums", "shape"), [(curvature, (3, 3)), (gradient_and_diagonal, (7,))], ids=["curvature", "shares"]
)
def test_a_row_whose_log_odds_are_not_finite_takes_nothing_from_others(make, sums, shape):
    """Slopes of opposite signs beyond double precision: ∞ − ∞ for the one row that has both columns."""
    x = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    rows = make(vips.Table(x, [1, 0, 1], ("a", "b"), 2.0))
    coordinates, point = (
        Coordinates(np.zeros(2), np.full(2, 10.0), np.ones(2), 0.5, -1, 1.0),
        [0.1, 1e308, -1e308],
    )
    everyone, others = (
        sums(rows[np.arange(3) >= first], coordinates, np.array(point), Block(1.0, shape=shape))
        for first in (0, 1)
    )
    assert np.any(others)
    assert np.array_equal(everyone, others)

"""Bayesian logistic regression: bounds, regimes, reference posterior, noise-aware intervals, metrics."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve

import vips_core as vips
from tests.reference import logistic_polya_gamma
from vips_core.kernels.polya_gamma import pg_mean, pg_means
from vips_core.metrics.risk import auc, calibration, roc
from vips_core.models.base import Released
from vips_core.models.logistic import BayesianLogistic
from vips_core.models.logistic_posterior import expected_mass
from vips_core.models.symmetric import pack, packed_size, unpack


def cohort(n=400, d=5, seed=0, scale=1.0, density=1.0):
    """Rows with an intercept and known weights."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, d - 1)) * (rng.random((n, d - 1)) < density)])
    weights = scale * rng.normal(size=d)
    y = rng.random(n) < 1 / (1 + np.exp(-x @ weights))
    names = ("intercept", *(f"feature {j}" for j in range(1, d)))
    return vips.LabelledRows(x, y, names, float(np.sqrt(d))), weights


def as_sparse(rows):
    return vips.LabelledRows(sparse.csr_array(rows.x), rows.y, rows.feature_names, rows.norm_bound)


def model_for(rows, method="refined"):
    return BayesianLogistic(rows.feature_names, rows.norm_bound, method)


def plan_for(rows, noise, steps=4, batch=None):
    return vips.PrivacyPlan(
        records=len(rows),
        expected_batch=batch or len(rows),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-4,
    )


REGIMES = {
    "paper": ("paper", 1.0),
    "exact": ("refined", 0.0),
    "narrow": ("refined", 0.1),
    "wide": ("refined", 5.0),
}


@pytest.mark.parametrize("regime", REGIMES)
def test_regimes_are_chosen_by_public_quantities(regime):
    rows, _ = cohort()
    method, noise = REGIMES[regime]
    assert model_for(rows, method).regime(plan_for(rows, noise)) == regime


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("make", [lambda rows: rows, as_sparse], ids=["dense", "sparse"])
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([0.1, 1.0, 30.0]),
    length=st.sampled_from([0.3, 1.0, 9.0]),
)
def test_one_record_moves_each_block_by_at_most_its_bound(regime, make, seed, size, length):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(9, 4)) * length
    rows = make(vips.LabelledRows(x, rng.random(9) < 0.5, tuple("abcd"), 20.0))
    method, noise = REGIMES[regime]
    # The rows may be longer than the model's bound: the model must not rely on the data's own.
    model = BayesianLogistic(rows.feature_names, 2.0, method)
    plan = vips.PrivacyPlan(records=400, expected_batch=400, steps=4, noise_multiplier=noise, delta=1e-4)
    params = model.init(plan, rng)
    where = size * rng.normal(size=4)
    params = type(params)(**{**vars(params), "mean": where, "point": where})
    assert params.regime == regime
    blocks = model.blocks(plan, 1)
    everyone, without = np.ones(9, bool), np.ones(9, bool)
    without[rng.integers(9)] = False
    more, less = (model.e_step(params, rows[mask], blocks).sums for mask in (everyone, without))
    assert sum(block.share**2 for block in blocks.values()) == pytest.approx(1)
    for name, block in blocks.items():
        assert np.linalg.norm(more[name] - less[name]) <= block.bound * (1 + 1e-9)


@pytest.mark.parametrize("regime", REGIMES)
def test_sums_add_up_keep_no_state_and_agree_between_dense_and_sparse(regime):
    rows, _ = cohort(n=5000, density=0.4)
    method, noise = REGIMES[regime]
    model, plan = model_for(rows, method), plan_for(rows, noise)
    params = vips.fit(model, rows, plan, seed=1, on_step=lambda progress: progress.step == 2).params
    blocks = model.blocks(plan, 2)
    mask = np.random.default_rng(2).random(len(rows)) < 0.5
    whole, again = (model.e_step(params, rows, blocks).sums for _ in range(2))
    parts = [model.e_step(params, rows[part], blocks).sums for part in (mask, ~mask)]
    thin = model.e_step(params, as_sparse(rows), blocks).sums
    nobody = model.e_step(params, rows[np.zeros(len(rows), bool)], blocks).sums
    assert set(whole) == set(blocks)
    for name in blocks:
        assert np.array_equal(whole[name], again[name])
        np.testing.assert_allclose(parts[0][name] + parts[1][name], whole[name], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(thin[name], whole[name], rtol=1e-9, atol=1e-9)
        assert nobody[name].shape == whole[name].shape
        assert not nobody[name].any()


@pytest.mark.parametrize("regime", REGIMES)
def test_a_seed_repeats_a_fit_and_another_does_not(regime):
    rows, _ = cohort()
    method, noise = REGIMES[regime]
    first, same, other = (
        vips.fit(model_for(rows, method), rows, plan_for(rows, noise, batch=100), seed=seed).params.mean
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


def test_little_noise_gives_the_weighted_optimum():
    """The narrow regime's estimating equation weights records by w; its solution is the limit."""
    rows, _ = cohort(n=4000, d=4)
    model = model_for(rows)
    found = vips.fit(model, rows, plan_for(rows, 1e-4, steps=40), seed=0).params
    radius = rows.norm_bound / 3
    weight = np.minimum(1, radius / np.linalg.norm(rows.x, axis=1))
    oracle = LogisticRegression(C=1 / found.precision, fit_intercept=False, tol=1e-10, max_iter=1000)
    oracle.fit(rows.x, rows.y, sample_weight=weight)
    np.testing.assert_allclose(found.mean, oracle.coef_[0], atol=5e-3)


@pytest.mark.parametrize(
    ("regime", "noise", "d", "scale"),
    [
        ("narrow", 24.0, 6, 0.3),
        ("wide", 60.0, 6, 0.3),
        # Strong weights: ψ has a standard deviation of 1.9 and 2.2 over records.
        ("wide", 60.0, 6, 1.5),
        ("wide", 12.0, 30, 0.7),
    ],
)
def test_ninety_percent_intervals_cover_about_ninety_percent(regime, noise, d, scale):
    covered = {"weights": [], "non-private": []}
    for seed in range(25):
        rows, weights = cohort(n=8000 if d == 6 else 4000, d=d, seed=seed, scale=scale)
        model, plan = model_for(rows), plan_for(rows, noise, steps=16)
        assert model.regime(plan) == regime
        result = vips.fit(model, rows, plan, seed=seed)
        erm = LogisticRegression(C=1.0, fit_intercept=False).fit(rows.x, rows.y).coef_[0]
        for of, target in (("weights", weights), ("non-private", erm)):
            low, high = model.credible_intervals(result, 0.9, of).T
            covered[of] += list((low <= target) & (target <= high))
    assert 0.86 <= np.mean(covered["weights"]) <= 0.995
    assert 0.84 <= np.mean(covered["non-private"]) <= 0.98


def test_wide_predictions_are_right_on_average():
    """The class imbalance survives that predictions integrate uncertain weights out."""
    shares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = np.column_stack([np.ones(4000), rng.random((4000, 200)) < 0.1]).astype(float)
        y = rng.random(4000) < 1 / (1 + np.exp(2.5 - x[:, 1:] @ rng.normal(0, 0.3, 200)))
        names = ("intercept", *(f"feature {j}" for j in range(200)))
        train = vips.LabelledRows(sparse.csr_array(x), y, names, 8.0)
        model = model_for(train)
        plan = model.recommend(4000, 0.5, 1e-4, 16)
        assert model.regime(plan) == "wide"
        shares.append(
            model.predict_probability(vips.fit(model, train, plan, seed=seed), train).mean() / y.mean()
        )
    assert 0.85 < np.mean(shares) < 1.15


@pytest.mark.parametrize("epsilon", [0.1, 10.0])
@pytest.mark.parametrize("d", [2, 300])
def test_the_estimate_stays_finite_from_small_to_large_budgets(epsilon, d):
    rows, _ = cohort(n=500, d=d, scale=0.3)
    model = model_for(rows)
    result = vips.fit(model, rows, model.recommend(len(rows), epsilon, 1e-4, 20), seed=0)
    probability = model.predict_probability(result, rows)
    assert np.abs(result.params.mean).max() < 30
    assert ((probability > 0) & (probability < 1)).all()
    assert result.epsilon() <= epsilon * (1 + 1e-6)


def test_refined_beats_the_paper_at_the_same_budget():
    rows, weights = cohort(n=4000, d=20, scale=1.0)
    test, _ = cohort(n=4000, d=20, seed=9)
    y = np.random.default_rng(1).random(4000) < 1 / (1 + np.exp(-test.x @ weights))
    plan = vips.PrivacyPlan(records=4000, expected_batch=4000, steps=10, delta=1e-4).calibrate(0.5)
    areas = {}
    for method in ("refined", "paper"):
        model = model_for(rows, method)
        fits = [vips.fit(model, rows, plan, seed=seed) for seed in range(3)]
        areas[method] = np.mean([auc(y, model.predict_probability(found, test)) for found in fits])
    assert areas["refined"] > areas["paper"] + 0.02


def test_predictions_integrate_the_posterior_by_mackays_formula():
    rows, _ = cohort(n=300, d=3)
    model = model_for(rows)
    for noise in (0.0, 50.0):  # full and diagonal covariance
        result = vips.fit(model, rows, plan_for(rows, noise), seed=0)
        covariance = result.params.covariance
        full = np.diag(covariance) if covariance.ndim == 1 else covariance
        expected = [
            1 / (1 + np.exp(-(r @ result.params.mean) / np.sqrt(1 + np.pi * (r @ full @ r) / 8)))
            for r in rows.x
        ]
        np.testing.assert_allclose(model.predict_probability(result, rows), expected, rtol=1e-12)
        np.testing.assert_allclose(model.predict_probability(result, as_sparse(rows)), expected, rtol=1e-12)


def test_the_paper_projects_negative_eigenvalues():
    rows, _ = cohort(n=100, d=3)
    model = model_for(rows, "paper")
    params = model.init(plan_for(rows, 1.0), np.random.default_rng(0))
    curvature = np.diag([5.0, -4.0, 2.0])
    released = Released(
        {"linear": np.ones(3), "curvature": pack(curvature)}, {"linear": 1.0, "curvature": 1.0}, 1.0
    )
    found = model.m_step(params, released, 0)
    # -4 becomes 1e-4 per record; ⟨α⟩ = 1 is added.
    np.testing.assert_allclose(np.diag(found.covariance), [1 / 6, 1 / (1 + 1e-4 * 100), 1 / 3])
    later = model.m_step(found, released, 1)
    np.testing.assert_allclose(later.average_gradient, 1.0)


def test_packing_keeps_the_norm_and_comes_back():
    matrix = np.random.default_rng(0).normal(size=(6, 6))
    matrix = matrix + matrix.T
    vector = pack(matrix)
    assert vector.shape == (packed_size(6),)
    assert np.linalg.norm(vector) == pytest.approx(np.linalg.norm(matrix))
    np.testing.assert_allclose(unpack(vector, 6), matrix)
    with pytest.raises(ValueError, match="a packed 5 × 5 matrix has 15 cells"):
        unpack(vector, 5)


def test_polya_gamma_mean_is_smooth_even_and_bounded():
    c = np.concatenate([np.linspace(-0.02, 0.02, 401), np.geomspace(1e-8, 1e3, 300)])
    series = 0.25 - c**2 / 48 + c**4 / 480 - 17 * c**6 / 80640
    values = pg_means(c.reshape(1, -1))[0]
    small = np.abs(c) < 0.02
    np.testing.assert_allclose(values[small], series[small], rtol=1e-13)
    np.testing.assert_allclose(values[~small], np.tanh(c[~small] / 2) / (2 * c[~small]), rtol=1e-13)
    assert values.max() <= 0.25
    assert pg_mean(-0.7) == pg_mean(0.7)


def test_expected_mass_beats_the_noisy_sums():
    rng = np.random.default_rng(0)
    truth = 3000 * (1 + np.arange(2000.0)) ** -0.8
    noisy = truth + 40 * rng.normal(size=2000)
    found = expected_mass(noisy, 40.0, 1e5)
    assert found.min() > 0
    assert np.mean((found - truth) ** 2) < 0.3 * np.mean((noisy - truth) ** 2)
    np.testing.assert_allclose(expected_mass(truth, 0.0, 1e5), truth)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([2, 5, 1000]))
def test_auc_and_roc_equal_scikit_learn(seed, levels):
    rng = np.random.default_rng(seed)
    labels = rng.permutation([0, 1, *rng.integers(0, 2, 30)])
    scores = rng.integers(levels, size=32) / levels
    assert auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores))
    curve = roc(labels, scores)
    false, true, threshold = roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_positive_rate, false)
    np.testing.assert_allclose(curve.true_positive_rate, true)
    np.testing.assert_allclose(curve.threshold, threshold)


def test_calibration_compares_bins():
    found = calibration([0, 1, 1, 0], [0.05, 0.07, 1.0, 0.95], bins=10)
    np.testing.assert_allclose(found.predicted, [0.06, 0.975])
    np.testing.assert_allclose(found.observed, [0.5, 0.5])
    np.testing.assert_allclose(found.records, [2, 2])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BayesianLogistic(()), "features must be at least one name"),
        (lambda: BayesianLogistic(("a",), 0.0), "norm_bound must be a finite number above 0, got 0.0"),
        (lambda: BayesianLogistic(("a",), method="best"), "method must be 'refined' or 'paper', got 'best'"),
        (lambda: BayesianLogistic(("a",), radius=2.0), "radius must be at most norm_bound"),
        (
            lambda: BayesianLogistic(("a",), prior_rate=-1.0),
            "prior_rate must be a finite number above 0, got -1.0",
        ),
        (lambda: auc([1, 1], [0.1, 0.2]), "labels must hold both classes"),
        (lambda: auc([1, 0], [0.1]), "labels and scores must be equally long vectors"),
        (lambda: auc([1, 0], [np.nan, 0.0]), "scores must be finite"),
        (lambda: auc([2, 0], [0.0, 0.0]), "labels must be 0 or 1"),
        (lambda: calibration([1, 0], [1.5, 0.0]), r"probabilities must be in \[0, 1\]"),
        (lambda: calibration([1, 0], [0.5, 0.0], bins=0), "bins must be at least 1, got 0"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_levels_and_widths_are_checked():
    rows, _ = cohort(n=50, d=3)
    model = model_for(rows)
    result = vips.fit(model, rows, plan_for(rows, 1.0), seed=0)
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 1"):
        model.credible_intervals(result, 1)
    with pytest.raises(ValueError, match="rows must have 3 features, got 5"):
        model.predict_probability(result, SimpleNamespace(x=np.ones((2, 5))))

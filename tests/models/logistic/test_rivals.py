"""The rivals: oracles from scikit-learn, the noise of objective perturbation, the bound of DP-SGD."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import vips_core as vips
from tests.models.logistic.people import as_sparse, cohort, plan_for
from vips_core.models.logistic.rivals import (
    PrivateGradientDescent,
    fit_objective_perturbation,
    noise_budget,
    public_penalty,
)
from vips_core.models.logistic.scores import auc_of


def test_objective_perturbation_with_a_large_budget_is_ridge_regression_on_unit_rows():
    rows, _ = cohort(n=2000)
    found = fit_objective_perturbation(
        rows, 1e7, np.random.default_rng(0), penalty=0.01, radius=rows.norm_bound
    )
    scaled = rows.x / rows.norm_bound
    oracle = LogisticRegression(C=1 / (0.01 * len(rows)), fit_intercept=False, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(found * rows.norm_bound, oracle.fit(scaled, rows.y).coef_[0], atol=1e-5)
    thin = fit_objective_perturbation(
        as_sparse(rows), 1e7, np.random.default_rng(0), penalty=0.01, radius=rows.norm_bound
    )
    np.testing.assert_allclose(thin, found, atol=1e-6)


def test_objective_perturbation_is_optimal_for_its_noise():
    """The gradient at the result is minus the noise, whose length is Gamma(d, 2/ε') by construction."""
    rows, _ = cohort(n=500)
    n, d = rows.x.shape
    lengths = []
    for seed in range(200):
        w = fit_objective_perturbation(
            rows, 1.0, np.random.default_rng(seed), penalty=0.05, radius=rows.norm_bound
        )
        x, w = rows.x / rows.norm_bound, w * rows.norm_bound
        p = 1 / (1 + np.exp(-x @ w))
        lengths.append(np.linalg.norm(x.T @ (rows.y - p) - n * 0.05 * w))
    budget, extra = noise_budget(n, 0.05, 1.0)
    assert extra == 0
    assert np.mean(lengths) == pytest.approx(2 * d / budget, rel=0.1)
    assert np.std(lengths) == pytest.approx(2 * math.sqrt(d) / budget, rel=0.2)


def test_a_small_budget_takes_extra_ridge():
    budget, extra = noise_budget(100, 1e-4, 0.5)
    assert budget == 0.25
    assert 1e-4 + extra == pytest.approx(0.25 / (100 * (math.exp(0.125) - 1)))
    budget, extra = noise_budget(10**6, 0.1, 0.5)
    assert extra == 0
    assert budget == pytest.approx(0.5 - 2 * math.log1p(0.25 / (10**6 * 0.1)))


def test_the_public_penalty_falls_with_records_and_budget():
    assert public_penalty(1000, 10, 1.0) == pytest.approx(10 * public_penalty(10_000, 10, 1.0))
    assert public_penalty(1000, 10, 1.0) > public_penalty(1000, 10, 2.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.1, 1.0, 30.0]))
def test_one_record_moves_the_gradient_by_at_most_the_clip(seed, size):
    rng = np.random.default_rng(seed)
    rows = vips.Table(rng.normal(size=(8, 4)) * 5, rng.random(8) < 0.5, tuple("abcd"), 50.0)
    model = PrivateGradientDescent(rows.feature_names, 2.0)
    plan = plan_for(rows, 1.0)
    params = model.init(plan, rng)
    params = type(params)(**{**vars(params), "weights": size * rng.normal(size=4)})
    blocks = model.blocks(plan, 0)
    kept = np.arange(8) != rng.integers(8)
    more, less = (model.e_step(params, part, blocks).sums["gradient"] for part in (rows, rows[kept]))
    thin = model.e_step(params, as_sparse(rows), blocks).sums["gradient"]
    assert np.linalg.norm(more - less) <= blocks["gradient"].bound * (1 + 1e-9)
    np.testing.assert_allclose(thin, more, atol=1e-9)
    assert not model.e_step(params, rows[np.zeros(8, bool)], blocks).sums["gradient"].any()


def test_gradient_descent_without_noise_and_clipping_finds_the_optimum():
    rows, _ = cohort(n=1000, d=3)
    clip = 1.01 * rows.norm_bound
    model = PrivateGradientDescent(rows.feature_names, rows.norm_bound, clip=clip, learning_rate=4.0)
    found = vips.fit(model, rows, plan_for(rows, 0.0, steps=3000), seed=0).params.mean
    oracle = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10, max_iter=1000).fit(rows.x, rows.y)
    np.testing.assert_allclose(found, oracle.coef_[0], atol=1e-3)


def test_the_mean_is_that_of_the_second_half():
    rows, _ = cohort(n=200, d=3)
    model = PrivateGradientDescent(rows.feature_names, rows.norm_bound)
    seen = []
    result = vips.fit(
        model, rows, plan_for(rows, 1.0, steps=6), seed=0, on_step=lambda p: seen.append(p.params.weights)
    )
    np.testing.assert_allclose(result.params.mean, np.mean(seen[3:], axis=0))


def test_private_gradient_descent_learns_within_its_budget():
    rows, _ = cohort(n=5000, d=6, scale=1.0)
    model = PrivateGradientDescent(rows.feature_names, rows.norm_bound)
    plan = model.recommend(records=len(rows), epsilon=2.0, delta=1e-4, epochs=4)
    result = vips.fit(model, rows, plan, seed=0)
    assert plan.expected_batch == 50
    assert plan.epochs == pytest.approx(4)
    assert result.epsilon() <= 2.0 * (1 + 1e-6)
    ridge = LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000).fit(rows.x, rows.y)
    best = auc_of(rows.y, rows.x @ ridge.coef_[0])
    assert auc_of(rows.y, model.predict_probability(result, rows)) > best - 0.02


def persons_of(rows, times):
    """Return the same rows, with `times` copies of each as the rows of one person."""
    several = np.tile(np.arange(len(rows)), times)
    return vips.Table(rows.x[several], rows.y[several], rows.feature_names, rows.norm_bound, persons=several)


def test_copies_of_a_person_s_row_change_no_rival():
    rows, _ = cohort(n=400)
    copies, once = persons_of(rows, 3), persons_of(rows, 1)
    assert (len(copies), copies.row_count) == (400, 1200)
    both = [fit_objective_perturbation(few, 2.0, np.random.default_rng(1)) for few in (copies, once)]
    np.testing.assert_allclose(*both, atol=1e-6)


@given(
    st.integers(1, 8),
    st.integers(10, 1000),
    st.floats(0.01, 10),
    st.floats(1e-3, 1),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=200, deadline=None)
def test_the_charge_for_persons_covers_the_determinant(rank, n, epsilon, penalty, seed):
    """Replacing a person whose Hessian has any rank changes the log density by at most step 1's charge."""
    budget, extra = noise_budget(n, penalty, epsilon, several_rows=True)
    assert budget > 0
    assert extra >= 0
    rng = np.random.default_rng(seed)

    def hessian():
        """Return the Hessian of an average of unit rows, each with the largest curvature, ¼."""
        rows = rng.normal(size=(rank, 8))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return 0.25 / rank * rows.T @ rows

    ridge = n * (penalty + extra) * np.eye(8)
    ratios = [
        np.linalg.slogdet(ridge + hessian())[1] - np.linalg.slogdet(ridge + hessian())[1] for _ in range(5)
    ]
    assert max(np.abs(ratios)) <= epsilon - budget + 1e-9


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: PrivateGradientDescent(()), "features must be at least one name"),
        (lambda: PrivateGradientDescent(("a",), clip=-1.0), "clip must be a number above 0, got -1.0"),
        (lambda: PrivateGradientDescent(("a",), 1e-150), "the clip must be a number of at least 1e-100"),
        (lambda: PrivateGradientDescent(("a",), learning_rate=0.0), "learning_rate must be a number above 0"),
        (
            lambda: fit_objective_perturbation(cohort()[0], 0.0, np.random.default_rng(0)),
            "epsilon must be a number above 0, got 0.0",
        ),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()

"""Estimates and predictions of Bayesian logistic regression: accurate, finite, with honest intervals."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import vips_core as vips
from tests.models.logistic.people import as_sparse, cohort, plan_for
from tests.models.logistic.ways import STEPS, model_for
from vips_core.models.base import Released
from vips_core.models.logistic.coordinates import nonnegative_shrinkage
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.models.logistic.scores import auc_of


def test_more_epsilon_is_never_worse():
    """Measured by AUC and log loss, averaged over seeds, within their noise."""
    rows, weights = cohort(n=3000, d=12, scale=0.8)
    new, _ = cohort(n=4000, d=12, seed=5)
    y = np.random.default_rng(1).random(4000) < 1 / (1 + np.exp(-new.x @ weights))
    areas, losses = [], []
    for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0):
        model = model_for(rows)
        plan = model.recommend(records=3000, epsilon=epsilon, delta=1e-5, epochs=STEPS)
        risks = [model.predict_probability(vips.fit(model, rows, plan, seed=seed), new) for seed in range(6)]
        areas.append(np.mean([auc_of(y, risk) for risk in risks]))
        losses.append(np.mean([log_loss(y, risk) for risk in risks]))
    assert np.diff(areas).min() > -0.005
    assert np.diff(losses).max() < 0.005


def test_large_slopes_are_reached_where_noise_is_small():
    """They are many Newton steps away."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(25_000), rng.random((25_000, 3))])
    y = (rng.random(25_000) < 1 / (1 + np.exp(-x @ [-15, 30, 10, -10]))).astype(np.uint8)
    rows = vips.Table(x[:20_000], y[:20_000], ("intercept", "a", "b", "c"), 2.0)
    new = vips.Table(x[20_000:], y[20_000:], rows.feature_names, 2.0)
    exact = LogisticRegression(C=1e6, fit_intercept=False).fit(rows.x, rows.y)
    least = log_loss(new.y, exact.predict_proba(new.x)[:, 1])
    model = model_for(rows)
    plan = model.recommend(records=20_000, epsilon=1.0, delta=1e-6, epochs=STEPS)
    risks = model.predict_probability(vips.fit(model, rows, plan, seed=0), new)
    assert log_loss(new.y, risks) < 1.2 * least


def test_a_small_table_that_nearly_parts_the_classes_gets_sharp_risks():
    """The shrinkage of large slopes must not flatten predictions a second time."""
    tumours = load_breast_cancer()
    order = np.random.default_rng(0).permutation(len(tumours.target))
    x = np.column_stack([np.ones(len(order)), tumours.data / (1.2 * tumours.data.max(axis=0))])[order]
    names, y = tuple(f"column {j}" for j in range(31)), tumours.target[order]
    rows, new = (vips.Table(x[part], y[part], names, 31**0.5) for part in np.split(np.arange(569), [400]))
    model, losses = model_for(rows), []
    for epsilon in (3.0, 10.0, 30.0):
        plan = model.recommend(records=400, epsilon=epsilon, delta=1e-6, epochs=16)
        fits = [vips.fit(model, rows, plan, seed=seed) for seed in range(8)]
        losses.append(np.mean([log_loss(new.y, model.predict_probability(fit, new)) for fit in fits]))
    assert np.diff(losses).max() < 0.005
    assert losses[-1] < 0.135
    psi, variance = fits[0].params.log_odds(new.x)
    half = np.log(1 / (1 / model.risk_intervals(fits[0], new)[:, 1] - 1)) - psi
    assert (half > 1.05 * 1.645 * np.sqrt(variance)).all()  # intervals still include it


def test_risks_of_a_rare_target_are_right_on_average():
    """This holds also if noise leaves weights uncertain and predictions integrate over a wide range."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(4000), rng.random((4000, 11))])
    y = rng.random(4000) < 1 / (1 + np.exp(4.5 - x[:, 1] - x[:, 2]))
    rows = vips.Table(x, y, tuple("abcdefghijkl"), 12**0.5)
    model = model_for(rows)
    plan = model.recommend(records=4000, epsilon=1.0, delta=1e-6, epochs=16)
    risks = [model.predict_probability(vips.fit(model, rows, plan, seed=seed), rows) for seed in range(12)]
    assert y.mean() < 0.035
    assert np.mean(risks) == pytest.approx(y.mean(), rel=0.12)


@pytest.mark.parametrize("predictors", [0, 1])
def test_risks_from_next_to_no_predictors_are_right_on_average(predictors):
    """With few columns a record is short compared with the constant, so log odds vary less."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(1000), rng.random((1000, predictors))])
    rows = vips.Table(x, np.arange(1000) < 300, tuple("ab"[: 1 + predictors]), (1 + predictors) ** 0.5)
    rows = replace(rows, y=rng.permutation(rows.y))
    model = model_for(rows)
    plan = model.recommend(records=1000, epsilon=4.0, delta=1e-6, epochs=16)
    risks = [model.predict_probability(vips.fit(model, rows, plan, seed=seed), rows) for seed in range(24)]
    assert np.mean(risks) == pytest.approx(0.3, rel=0.05)


def test_no_column_is_special_by_its_name_or_its_place():
    rows, _ = cohort(n=3000, d=8)
    order = np.roll(np.arange(8), 3)
    renamed = vips.Table(rows.x[:, order], rows.y, tuple("abcdefgh"), rows.norm_bound)
    plan = plan_for(rows, 20.0, steps=STEPS)
    named, plain = (
        np.mean([vips.auc(vips.fit(model_for(data), data, plan, seed=seed), data) for seed in range(5)])
        for data in (rows, renamed)
    )
    assert plain == pytest.approx(named, abs=0.01)
    found = vips.fit(model_for(renamed), renamed, plan, seed=0).params
    assert order[found.coordinates.column] == 0


def test_rows_without_a_constant_column_get_a_level_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.random((4000, 3))
    y = rng.random(4000) < 1 / (1 + np.exp(-(2 * x[:, 0] - 3)))
    rows = vips.Table(x, y, tuple("abc"), 3**0.5)
    model = model_for(rows)
    result = vips.fit(model, rows, plan_for(rows, 10.0, steps=STEPS), seed=0)
    assert result.params.coordinates.column == -1
    assert model.predict_probability(result, rows).mean() == pytest.approx(y.mean(), abs=0.02)


def test_columns_that_add_up_to_the_constant_have_wide_intervals_and_sharp_predictions():
    """A common shift of a group's indicators can be traded for the constant without effect on any record."""
    rng = np.random.default_rng(0)
    group, other = rng.choice(6, 8000, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]), rng.random(8000)
    x = np.column_stack([np.ones(8000), group[:, None] == np.arange(6), other])
    log_odds = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])[group] + 2 * other - 1
    rows = vips.Table(x, rng.random(8000) < 1 / (1 + np.exp(-log_odds)), tuple("cuvwxyzo"), 3**0.5)
    model = model_for(rows)
    result = vips.fit(model, rows, plan_for(rows, 2.0, steps=STEPS), seed=0)
    half = np.ptp(model.credible_intervals(result), axis=1) / 2
    assert half[1:7].min() > 4 * half[7]
    assert model.predict_probability(result, rows).mean() == pytest.approx(rows.y.mean(), rel=0.01)


def test_wide_predictions_are_right_on_average():
    """Integrating over uncertain weights must preserve the class imbalance."""
    shares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = np.column_stack([np.ones(4000), rng.random((4000, 200)) < 0.1]).astype(float)
        y = rng.random(4000) < 1 / (1 + np.exp(2.5 - x[:, 1:] @ rng.normal(0, 0.3, 200)))
        names = ("intercept", *(f"feature {j}" for j in range(200)))
        train = vips.Table(sparse.csr_array(x), y, names, 8.0)
        model = model_for(train)
        plan = model.recommend(records=4000, epsilon=0.5, delta=1e-4, epochs=16)
        result = vips.fit(model, train, plan, seed=seed)
        assert result.params.covariance.ndim == 1
        shares.append(model.predict_probability(result, train).mean() / y.mean())
    assert 0.85 < np.mean(shares) < 1.25


@pytest.mark.parametrize("epsilon", [0.1, 10.0])
@pytest.mark.parametrize("d", [2, 300])
def test_the_estimate_stays_finite_from_small_to_large_budgets(epsilon, d):
    rows, _ = cohort(n=500, d=d, scale=0.3)
    model = model_for(rows)
    plan = model.recommend(records=len(rows), epsilon=epsilon, delta=1e-4, epochs=20)
    result = vips.fit(model, rows, plan, seed=0)
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
        areas[method] = np.mean([auc_of(y, model.predict_probability(found, test)) for found in fits])
    assert areas["refined"] > areas["paper"] + 0.02


@pytest.mark.parametrize("noise", [0.0, 1.0, 50.0], ids=["exact", "full covariance", "diagonal"])
def test_predictions_integrate_over_half_of_an_unusual_records_variance(noise):
    """Without noise, over all of the posterior (MacKay's formula)."""
    rows, _ = cohort(n=300, d=3)
    model = model_for(rows)
    result = vips.fit(model, rows, plan_for(rows, noise, steps=STEPS), seed=0)
    params = result.params
    full = np.diag(params.covariance) if params.covariance.ndim == 1 else params.covariance
    if noise:
        centred, own = rows.x - params.coordinates.centre, params.level_variance
        psi = params.level + centred @ params.slopes
    else:
        centred, own, psi = rows.x, 0.0, rows.x @ params.mean
    variance = np.einsum("ij,jk,ik->i", centred, full, centred)
    usual = params.usual_variance / 2 if noise else 0.0
    flatter = np.pi / 8 * ((variance / 2 if noise else variance) + own)
    expected = 1 / (1 + np.exp(-psi * np.sqrt((1 + np.pi / 8 * usual) / (1 + flatter))))
    np.testing.assert_allclose(model.predict_probability(result, rows), expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict_probability(result, as_sparse(rows)), expected, rtol=1e-9)


def test_the_paper_projects_negative_eigenvalues():
    rows, _ = cohort(n=100, d=3)
    model = model_for(rows, "paper")
    params = model.init(plan_for(rows, 1.0), np.random.default_rng(0))
    curvature = np.diag([5.0, -4.0, 2.0])
    released = Released(
        {"linear": np.ones(3), "curvature": curvature}, {"linear": 1.0, "curvature": 1.0}, 1.0
    )
    found = model.m_step(params, released, 0)
    # -4 becomes 1e-4 per record; ⟨α⟩ = 1 is added.
    np.testing.assert_allclose(np.diag(found.covariance), [1 / 6, 1 / (1 + 1e-4 * 100), 1 / 3])
    later = model.m_step(found, released, 1)
    np.testing.assert_allclose(later.average_linear, 1.0)


def test_nonnegative_shrinkage_beats_the_noisy_sums():
    rng = np.random.default_rng(0)
    truth = 3000 * (1 + np.arange(2000.0)) ** -0.8
    noisy = truth + 40 * rng.normal(size=2000)
    found = nonnegative_shrinkage(noisy, 40.0, 1e5)
    assert found.min() > 0
    assert np.mean((found - truth) ** 2) < 0.3 * np.mean((noisy - truth) ** 2)
    np.testing.assert_allclose(nonnegative_shrinkage(truth, 0.0, 1e5), truth)


@pytest.mark.parametrize(("records", "noise"), [(2, 1e4), (50, 1e6), (400, 1e7)])
def test_noise_far_above_the_sums_leaves_the_prior_and_no_error(records, noise):
    rng = np.random.default_rng(0)
    x, y = np.column_stack([np.ones(records), rng.random((records, 3))]), np.arange(records) % 2
    rows = vips.Table(x, y, ("intercept", "a", "b", "c"), 2.0)
    plan = vips.PrivacyPlan(
        records=records, expected_batch=records, steps=4, noise_multiplier=noise, delta=1e-5
    )
    fit = vips.fit(BayesianLogistic(rows.feature_names, 2.0), rows, plan, seed=0)
    assert np.all(np.isfinite(fit.model.predict_probability(fit, rows)))
    assert np.all(np.isfinite(fit.model.credible_intervals(fit, 0.9)))
    # Noise drowns the sums: under an exponential prior of mean m, posterior means are about m.
    mean = nonnegative_shrinkage(np.array([-1.0, 0.0, 1.0]) * noise, 1e3 * noise, noise)
    assert np.all((0 < mean) & (mean < 1.01 * noise))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BayesianLogistic(()), "features must be at least one name"),
        (lambda: BayesianLogistic(("a",), 0.0), "norm_bound must be a number of at least 1e-100 .*, got 0.0"),
        (lambda: BayesianLogistic(("a",), 1e-160), "norm_bound must be a number of .*, got 1e-160"),
        (lambda: BayesianLogistic(("a",), radius=1e-160), "radius must be a number of .*, got 1e-160"),
        (
            lambda: BayesianLogistic(("a",), variant="best"),
            "variant must be one of refined, paper, got 'best'",
        ),
        (
            lambda: BayesianLogistic(("a",), radius=2.0),
            "radius must be a number .* at most 1, got 2.0",
        ),
        (
            lambda: BayesianLogistic(("a",), prior_rate=-1.0),
            "prior_rate must be a number above 0, got -1.0",
        ),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_levels_and_widths_are_checked():
    rows, _ = cohort(n=50, d=3)
    model = model_for(rows)
    result = vips.fit(model, rows, plan_for(rows, 1.0), seed=0)
    with pytest.raises(ValueError, match="level must be a number above 0 and below 1, got 1"):
        model.credible_intervals(result, 1)
    with pytest.raises(ValueError, match="rows must have 3 features, got 5"):
        model.predict_probability(result, SimpleNamespace(x=np.ones((2, 5))))

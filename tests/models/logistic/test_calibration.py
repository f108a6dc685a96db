"""Calibration of level and slope, and coordinates where moments are mostly noise."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import vips_core as vips
from tests.models.logistic.ways import model_for
from vips_core.models.logistic.calibration import Calibration
from vips_core.models.logistic.coordinates import Coordinates, shrunk_means
from vips_core.models.logistic.kernels import INFORMATION, SCORE
from vips_core.models.logistic.refined import CALIBRATION, MOMENTS
from vips_core.models.logistic.sums import calibration


def slope_of(labels, probabilities):
    """Return the calibration slope, by logistic regression of labels on predicted log odds."""
    fitted = LogisticRegression(C=1e6).fit(logit(probabilities)[:, None], labels)
    return float(fitted.coef_[0, 0])


def smooth(records, seed, spread=6.0):
    """Return train and test rows of 16 columns whose log odds have a standard deviation of `spread`."""
    rng = np.random.default_rng(seed)
    x = rng.beta(4, 4, size=(2 * records, 16))
    psi = x @ rng.normal(size=16)
    y = rng.random(2 * records) < expit(spread * (psi - psi.mean()) / psi.std() - 1)
    rows = vips.Table(x, y, tuple(f"column {j}" for j in range(16)), 4.0)
    return rows[np.arange(2 * records) < records], rows[np.arange(2 * records) >= records]


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_strong_signals_are_not_flat(epsilon):
    train, test = smooth(6000, 1)
    model, slopes = model_for(train), []
    for seed in range(4):
        plan = model.recommend(records=len(train), epsilon=epsilon, delta=1e-6, epochs=16)
        fit = vips.fit(model, train, plan, seed=seed)
        assert vips.auc(fit, test) > 0.95
        slopes.append(slope_of(test.y, model.predict_probability(fit, test)))
    assert 0.8 < np.mean(slopes) < 1.3


def test_repeated_releases_without_noise_reach_the_logistic_regression_of_labels_on_log_odds():
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, 5000)
    y = rng.random(5000) < expit(0.7 + 2.5 * u)
    rows = vips.Table(u[:, None], y, ("u",), 2.0)
    coordinates = Coordinates(np.zeros(1), np.ones(1), np.ones(1), 0.5, -1, 1.0)
    found = Calibration(np.ones(1), np.array([0.0, 1.0]), None, 1.0, 0.0)
    for _ in range(30):
        total = calibration(rows, coordinates, found, vips.Block(1.0, shape=(5,), grid=2.0**-40))
        found = found.after(1e6 * np.eye(2), total, 0.0, len(rows))
    expected = LogisticRegression(C=1e9, tol=1e-10).fit(rows.x, rows.y)
    assert found.level == pytest.approx(expected.intercept_[0], abs=1e-3)
    assert found.slope == pytest.approx(expected.coef_[0, 0], abs=1e-3)


def test_a_release_moves_level_and_slope_as_far_as_its_noise_allows():
    """Against the normal posterior with a precisely known information, computed by inverting matrices."""
    prior, information = np.array([[0.5, 0.1], [0.1, 0.3]]), np.array([[800.0, 90.0], [90.0, 300.0]])
    score, std = np.array([200.0, -60.0]), 12.0
    total = np.append(score * SCORE, np.array([800.0, 90.0, 300.0]) * INFORMATION)
    found = Calibration(np.ones(1), np.array([0.2, 2.0]), None, 2.0, 0.0).after(prior, total, std, 10_000)
    noise = information + std**2 * np.diag(1 / np.square(SCORE))
    precision = np.linalg.inv(prior) + information @ np.linalg.inv(noise) @ information
    exact = [0.2, 2.0] + np.linalg.solve(precision, information @ np.linalg.inv(noise) @ score)
    np.testing.assert_allclose(found.place, exact, atol=0.03)  # the noise of the information counts too
    assert (np.diag(found.covariance) < np.diag(prior)).all()
    assert (np.linalg.eigvalsh(found.covariance - np.linalg.inv(precision)) > 0).all()


def test_a_release_takes_at_most_three_quarters_of_the_slope_and_the_level_goes_as_far():
    """Estimates that are far too steep have little information, and a Newton step goes beyond 0."""
    prior, information = np.array([[2.0, -5.0], [-5.0, 16.0]]), (300.0, 150.0, 90.0)
    total = np.append(np.array([0.0, -2000.0]) * SCORE, np.array(information) * INFORMATION)
    before = Calibration(np.ones(1), np.array([-5.0, 8.0]), None, 8.0, 0.0)
    after = before.after(prior, total, 5.0, 5000)
    assert after.slope == pytest.approx(0.25)
    assert -5.0 < after.level < -1.0
    free = before.after(prior, total / [1, 100, 1, 1, 1], 5.0, 5000)
    assert 0.25 < free.slope < 1.0


def test_a_calibration_is_measured_last_and_moments_only_above_their_noise():
    rows, _ = smooth(500, 2)
    model = model_for(rows)
    for noise, moments in ((30.0, 1), (3000.0, 0)):
        plan = vips.PrivacyPlan(records=500, expected_batch=500, steps=16, noise_multiplier=noise, delta=1e-6)
        names = [next(iter(model.blocks(plan, step))) for step in range(16)]
        assert names.count(MOMENTS) == moments
        assert [step for step, name in enumerate(names) if name == CALIBRATION] == [15]
        assert np.isfinite(vips.fit(model, rows, plan, seed=0).params.mean).all()


def test_noisy_means_are_shrunk_to_each_other_and_together_to_the_middle():
    rng = np.random.default_rng(0)
    truth = rng.normal(0.4, 0.1, 200)
    varying = np.ones(200, bool)
    for noise in (0.01, 0.1, 0.5):
        noisy = truth + noise * rng.normal(size=200)
        shrunk = shrunk_means(noisy, noise, 0.5, varying, 0.25)
        assert np.std(shrunk - truth) < min(1.05 * np.std(noisy - truth), 0.15)
    drowned = shrunk_means(100 * rng.normal(size=200), 100.0, 0.5, varying, 0.25)
    np.testing.assert_allclose(drowned, 0.5, atol=0.1)
    varying[3] = False
    assert shrunk_means(noisy, 0.5, 0.5, varying, 0.25)[3] == noisy[3]

"""The standing rivals: bounds by leaving out each record, the budget, and ridge regression without noise."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, sparse, stats
from scipy.special import expit

from tests.benchmarks.utility import logistic, report, rivals, rivals_curvature, rivals_gradient
from tests.benchmarks.utility.rivals_curvature import (
    Newton,
    NormalEquations,
    ObjectivePerturbation,
    perturbation_delta,
    perturbation_noise,
    record_weights,
)
from tests.benchmarks.utility.rivals_gradient import Adam, Centred, GradientDescent
from vips_core.privacy import gaussian
from vips_core.records import Table

ITERATIVE = [
    GradientDescent(0.7, 6, 1.0),
    Adam(0.7, 6, 0.3),
    NormalEquations(0.8, 0.4, 0.5),
    Newton(6, 0.5, 0.5, radius=0.8),
]


def patients(n=12, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(0, 120, n),
            "male": rng.integers(2, size=n),
            "dose": rng.choice([0, 9, np.nan], n),
        }
    )
    frame["ill"] = rng.integers(2, size=n)
    ranges = {"age": (0, 120), "male": (0, 1), "dose": (0, 9)}
    return Table.from_frame(frame, "ill", ranges, may_be_missing={"dose"})


def thin(n=12, seed=1):
    rng = np.random.default_rng(seed)
    x = 3 * rng.integers(2, size=(n, 9)) * rng.random((n, 1))
    return Table(sparse.csr_array(x), rng.integers(2, size=n), tuple("abcdefghi"), 5.0)


def without(people, i):
    """Zero-out: N stays, and the record adds nothing to any sum."""
    kept = (np.arange(len(people.labels)) != i).astype(float)
    z = people.columns
    columns = sparse.diags_array(kept) @ z if sparse.issparse(z) else z * kept[:, None]
    return replace(people, columns=columns)


def releases(monkeypatch, setting, people):
    """Return (sum, bound, part) of each release of a fit that is told the same random answers."""
    seen, answers = [], np.random.default_rng(5)

    def noisy(total, bound, part, rng):
        seen.append((total, bound, part))
        return answers.normal(0, 3, total.shape)

    monkeypatch.setattr(rivals_gradient, "noisy", noisy)
    monkeypatch.setattr(rivals_curvature, "noisy", noisy)
    setting.fit(people, 0.5, np.random.default_rng(0))
    return seen


@pytest.mark.parametrize("setting", ITERATIVE, ids=lambda setting: type(setting).__name__)
@pytest.mark.parametrize("rows", [patients(), thin()], ids=["dense", "sparse"])
def test_no_record_moves_a_release_by_more_than_its_bound(monkeypatch, setting, rows):
    people = Centred.of(rows)
    whole = releases(monkeypatch, setting, people)
    assert sum(part**2 for _, _, part in whole) == pytest.approx(0.5**2)
    largest = np.zeros(len(whole))
    for i in range(len(rows)):
        rest = releases(monkeypatch, setting, without(people, i))
        assert [release[1:] for release in rest] == [release[1:] for release in whole]
        moved = [
            np.linalg.norm(total - left) / bound
            for (total, bound, _), (left, _, _) in zip(whole, rest, strict=True)
        ]
        largest = np.maximum(largest, moved)
    assert (largest <= 1 + 1e-12).all()
    assert largest.max() > 0.5  # the bound is not loose


def test_weights_of_records_hold_gradients_and_squares_within_their_bounds():
    people = Centred.of(thin())
    f = record_weights(people, 0.7)
    assert (f * people.norms <= 0.7 + 1e-12).all()
    assert (f * people.norms**2 <= 0.7 * people.longest + 1e-12).all()


def test_noise_has_the_standard_deviation_of_its_part_of_the_budget():
    noise = rivals_gradient.noisy(np.zeros(100_000), 2.0, 0.5, np.random.default_rng(0))
    assert noise.std() == pytest.approx(4.0, rel=0.01)
    parts = [1.0 / math.sqrt(7)] * 7
    assert gaussian.epsilon(math.sqrt(sum(part**2 for part in parts)), 1e-6) == pytest.approx(
        gaussian.epsilon(1.0, 1e-6)
    )


def test_columns_are_centred_at_public_places_and_missing_values_are_zero():
    rows = patients()
    people = Centred.of(rows)
    missing = rows.x[:, 4] > 0
    assert missing.any()
    np.testing.assert_allclose(people.columns[:, 0], rows.x[:, 1] - 0.5)
    np.testing.assert_allclose(people.columns[:, 1], rows.x[:, 2] - rivals_gradient.INDICATOR_CENTRE)
    np.testing.assert_allclose(people.columns[:, 2], np.where(missing, 0, rows.x[:, 3] - 0.5))
    np.testing.assert_allclose(people.columns[:, -1], rivals_gradient.CONSTANT)


def test_several_rows_of_a_person_are_refused():
    rows = Table([[0.5], [0.2]], [1, 0], ("a",), 1.0, persons=["Ann", "Ann"])
    with pytest.raises(ValueError, match="one row for each person"):
        Centred.of(rows)


def test_delta_of_objective_perturbation_is_that_of_the_privacy_loss():
    # One dimension, f = R = 1 and one record z = 1: both densities of the minimiser are known.
    noise, ridge = 2.5, 0.8
    w = np.linspace(-60, 60, 400_001)
    p = expit(w)
    alone = stats.norm.pdf(ridge * w, scale=noise) * ridge
    with_record = stats.norm.pdf(ridge * w + p - 1, scale=noise) * (ridge + p * (1 - p))
    for epsilon in (0.3, 0.8, 1.5):
        bound = perturbation_delta(epsilon, noise, ridge)
        exact = max(
            integrate.trapezoid(np.maximum(one - math.exp(epsilon) * other, 0), w)
            for one, other in ((with_record, alone), (alone, with_record))
        )
        assert exact <= bound
        assert gaussian.delta(epsilon, 1 / noise) <= bound


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_noise_of_objective_perturbation_is_near_that_of_the_gaussian_mechanism(epsilon):
    noise = perturbation_noise(epsilon, 1e-6, 30.0)
    assert perturbation_delta(epsilon, noise, 30.0) <= 1e-6
    assert 1 <= noise * gaussian.mu(epsilon, 1e-6) < 1.02


def short_rows(n=4000, seed=3):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.uniform(0, 1, (n, 3))])
    y = rng.random(n) < expit(x @ [-0.5, 1.5, -2.0, 1.0])
    return Table(x, y, ("intercept", "a", "b", "c"), 2.0, {name: (0.0, 2.0) for name in "abc"})


@pytest.mark.parametrize(
    ("setting", "tolerance"),
    [
        (GradientDescent(10.0, 2000, 1.0, largest=6.0), 0.005),
        (Adam(10.0, 4000, 0.01), 0.01),
        (ObjectivePerturbation(1.0, radius=2.0), 0.005),
        (Newton(12, 0.5, 1.0, radius=2.0), 0.005),
        (NormalEquations(2.0, 0.4, 1.0), 0.03),  # one curvature for all records
    ],
    ids=lambda value: type(value).__name__,
)
def test_without_noise_rivals_predict_as_ridge_regression(setting, tolerance):
    rows = short_rows()
    expected = expit(rows.x @ logistic.ridge(rows, 1e-3))
    people = Centred.of(rows)
    fitted = rivals.weights(setting, people, 200.0, np.random.default_rng(0))
    assert np.abs(expit(people.columns @ fitted) - expected).max() < tolerance


@pytest.mark.parametrize("method", rivals.FROZEN)
def test_every_rival_has_a_setting_for_each_epsilon_and_predicts(method):
    assert set(rivals.FROZEN[method]) == set(logistic.EPSILONS)
    for rows in (patients(60), thin(60)):
        p = logistic.METHODS[method](rows, rows, 1.0, 0)
        assert p.shape == (60,)
        assert ((p > 0) & (p < 1)).all()
        np.testing.assert_array_equal(p, logistic.METHODS[method](rows, rows, 1.0, 0))


def test_calibration_slope_is_one_for_true_probabilities_and_half_for_doubled_log_odds():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(0, 2, 100_000)
    y = rng.random(100_000) < expit(log_odds)
    assert logistic.calibration_slope(y, log_odds) == pytest.approx(1, abs=0.02)
    assert logistic.calibration_slope(y, 2 * log_odds) == pytest.approx(0.5, abs=0.01)
    assert math.isnan(logistic.calibration_slope(y, np.full(100_000, 0.3)))


def scored(behind, noise):
    """Return results of two methods on two tables; refined is behind by so much on the second."""
    rng = np.random.default_rng(0)
    rows = []
    for data, gap in (("first", 0.0), ("second", behind)):
        for seed in range(6):
            common = rng.normal(0, 0.05)
            for method, auc in (("refined", 0.7 - gap), ("DP-GD", 0.7)):
                score = auc + common + rng.normal(0, noise)
                rows.append(
                    {"data": data, "method": method, "epsilon": 1.0, "seed": seed, "setting": method}
                    | dict.fromkeys(report.METRICS, 1.0)
                    | {"auc": score, "log_loss": 0.5 - 0.001 * (method == "refined")}
                )
    return pd.DataFrame(rows)


def test_report_pairs_splits_and_lists_where_refined_is_behind():
    rows = scored(behind=0.01, noise=0.001)
    gaps = report.gaps(rows, "auc").set_index("data")
    assert gaps.gap["second"] == pytest.approx(-0.01, abs=0.002)
    assert gaps.error.max() < 0.002  # the splits' common part cancels
    assert report.gaps(rows, "log_loss").gap.to_numpy() == pytest.approx(0.001)
    listed = report.behind(rows)
    assert "DP-GD at 1: second -0.01" in listed
    assert "first" not in listed
    assert "second" not in report.behind(scored(behind=0.01, noise=0.05))
    assert "±" in report.text(report.summarised(rows))
    assert "median" in report.calibration(report.summarised(rows))

"""Scores of risks against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vips_core.models.logistic.scores import auc_interval, auc_of, calibration_of, roc_band, roc_of


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([2, 5, 1000]))
def test_auc_and_roc_follow_their_definitions(seed, levels):
    rng = np.random.default_rng(seed)
    labels = rng.permutation([0, 1, *rng.integers(0, 2, 30)])
    scores = rng.integers(levels, size=32) / levels
    positive, negative = scores[labels == 1], scores[labels == 0]
    wins = (positive[:, None] > negative).mean() + (positive[:, None] == negative).mean() / 2
    assert auc_of(labels, scores) == pytest.approx(wins)
    curve = roc_of(labels, scores)
    assert list(curve.threshold) == [np.inf, *sorted(set(scores), reverse=True)]
    np.testing.assert_allclose(curve.true_positive_rate, [(positive >= t).mean() for t in curve.threshold])
    np.testing.assert_allclose(curve.false_positive_rate, [(negative >= t).mean() for t in curve.threshold])


def test_the_interval_of_the_auc_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    truth, covered = 0.7602, 0  # Φ(1/√2)
    for _ in range(300):
        labels = np.repeat([0, 1], [60, 40])
        low, high = auc_interval(labels, rng.normal(size=100) + labels, level=0.8)
        covered += low <= truth <= high
    assert covered / 300 == pytest.approx(0.8, abs=0.08)


def test_the_band_holds_the_curve_and_narrows_with_people():
    rng = np.random.default_rng(0)
    widths = []
    for people in (50, 5000):
        labels = np.arange(people) % 2
        low, high = roc_band(labels, rng.normal(size=people) + labels, [0.2], draws=200)
        assert low[0] < 0.5629 < high[0]  # Φ(1 + Φ⁻¹(0.2))
        widths.append(high[0] - low[0])
    assert widths[1] < 0.3 * widths[0]


def test_groups_of_equal_size_are_compared_where_risks_are_small():
    by_rank = calibration_of([0, 0, 0, 1], [0.01, 0.02, 0.03, 0.04], groups=2)
    np.testing.assert_allclose(by_rank.predicted, [0.015, 0.035])
    np.testing.assert_allclose(by_rank.observed, [0, 0.5])
    np.testing.assert_allclose(by_rank.records, [2, 2])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: auc_of([1, 1], [0.1, 0.2]), "labels must hold both classes"),
        (lambda: auc_of([1, 0], [0.1]), "labels and scores must be equally long vectors"),
        (lambda: auc_of([1, 0], [np.nan, 0.0]), "scores must be finite"),
        (lambda: auc_of([2, 0], [0.0, 0.0]), "labels must be 0 or 1"),
        (lambda: calibration_of([1, 0], [1.5, 0.0]), r"probabilities must be in \[0, 1\]"),
        (
            lambda: calibration_of([1, 0], [0.5, 0.0], groups=0),
            "groups must be a whole number of at least 1, got 0",
        ),
        (lambda: auc_interval([1, 0], [1.0, 0.0], 1), "level must be a number above 0 and below 1, got 1"),
        (lambda: roc_band([1, 0], [1.0, 0.0], [0.5], 0), "level must be a number above 0 and below 1, got 0"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_score_does_not_make_importing_slow():
    """Scikit-learn is loaded by the first score, not by the package."""
    import subprocess
    import sys

    code = "import sys, vips_core; print('sklearn' in sys.modules, 'pandas' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]

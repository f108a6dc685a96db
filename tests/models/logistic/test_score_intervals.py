"""Intervals, bands and groups of risks on held-out people."""

import numpy as np
import pytest

from vips_core.models.logistic import scores as measures


def test_delong_interval_agrees_with_the_bootstrap():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.2
    scores = np.round(rng.normal(size=400) + labels, 1)  # with ties
    positives, negatives = scores[labels][:, None], scores[~labels]
    won = (positives > negatives) + 0.5 * (positives == negatives)  # the AUC is its mean
    drawn = [won[np.ix_(*(rng.integers(size, size=size) for size in won.shape))].mean() for _ in range(1000)]
    assert measures.auc_interval(labels, scores) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=0.01)
    assert measures.auc_interval([0, 1], [0.0, 1.0]) == (1.0, 1.0)
    with pytest.raises(ValueError, match=r"level must be a number above 0 and below 1, got 1"):
        measures.auc_interval(labels, scores, 1)


def test_band_of_a_useless_score_lies_around_guessing():
    labels = np.arange(200) % 2
    rates = np.linspace(0, 1, 11)
    low, high = measures.roc_band(labels, np.zeros(200), rates)
    assert low == pytest.approx(rates)  # all scores tied: the curve is the diagonal for any draw
    assert high == pytest.approx(rates)
    low, high = measures.roc_band(labels, np.random.default_rng(1).random(200), rates)
    assert (low <= high).all()
    assert (low[1:-1] < rates[1:-1]).all()
    assert (high[1:-1] > rates[1:-1]).all()


def test_groups_by_rank_hold_rising_risks():
    rng = np.random.default_rng(3)
    risks = rng.random(95) * 0.1
    groups = measures.calibration_of(rng.random(95) < 0.5, risks, 10)
    assert set(groups.records) == {9, 10}
    assert (np.diff(groups.predicted) > 0).all()
    assert groups.predicted @ groups.records == pytest.approx(risks.sum())

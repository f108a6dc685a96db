"""How well predicted probabilities rank and match labels, on records that were not trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from vips_core import validate
from vips_core.models.base import FloatArray


@dataclass(frozen=True)
class Roc:
    """The points of a ROC curve, from (0, 0) to (1, 1), and the score from which each calls a positive."""

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    threshold: FloatArray


@dataclass(frozen=True)
class Calibration:
    """Mean prediction and share of positives per bin or group; empty bins are left out."""

    predicted: FloatArray
    observed: FloatArray
    records: FloatArray


def auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve: the chance that a positive scores above a negative.

    Parameters
    ----------
    labels
        0 or 1, both present.
    scores
        Finite numbers; ties count one half.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    from sklearn.metrics import roc_auc_score  # here and below: it is slow to import

    return float(roc_auc_score(*_checked(labels, scores)))


def auc_interval(labels: ArrayLike, scores: ArrayLike, level: float = 0.9) -> tuple[float, float]:
    """Return a confidence interval of the AUC over new people, the model as it is (DeLong et al. 1988).

    Parameters
    ----------
    labels, scores
        As for `auc`.
    level
        Probability that the interval holds the AUC.

    Returns
    -------
    low, high
        Ends, within [0, 1].

    Examples
    --------
    >>> low, high = auc_interval([0, 0, 1, 1] * 10, [0.1, 0.4, 0.4, 0.8] * 10)
    >>> round(low, 2), round(high, 2)
    (0.81, 0.94)
    """
    from scipy.stats import rankdata

    y, s = _checked(labels, scores)
    level = validate.share("level", level)
    ranks, positives, negatives = rankdata(s), int(y.sum()), int((~y).sum())
    below = (ranks[y] - rankdata(s[y])) / negatives  # share of negatives under each positive
    above = 1 - (ranks[~y] - rankdata(s[~y])) / positives
    variance = sum(float(shares.var(ddof=1)) / len(shares) for shares in (below, above) if len(shares) > 1)
    half = float(ndtri(0.5 + level / 2)) * variance**0.5
    middle = float(below.mean())
    return max(0.0, middle - half), min(1.0, middle + half)


def log_loss(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean of −log P(label): what wrong and overconfident probabilities cost.

    Parameters
    ----------
    labels
        0 or 1, both present.
    probabilities
        From 0 to 1.

    Returns
    -------
    float
        At least 0; smaller is better.

    Examples
    --------
    >>> round(log_loss([0, 1], [0.5, 0.5]), 3)
    0.693
    """
    from sklearn import metrics

    y, p = _checked(labels, probabilities)
    _check_probabilities(p)
    return float(metrics.log_loss(y, p))


def log_loss_of_one_risk(labels: ArrayLike) -> float:
    """Return the log loss of giving everyone the share of positives: what a model has to beat.

    Parameters
    ----------
    labels
        0 or 1, both present.

    Examples
    --------
    >>> round(log_loss_of_one_risk([0, 1]), 3)
    0.693
    """
    y = np.asarray(labels)
    return log_loss(y, np.full(y.shape, y.mean()))


def roc(labels: ArrayLike, scores: ArrayLike) -> Roc:
    """Return the ROC curve with one point per distinct score.

    Parameters
    ----------
    labels, scores
        As for `auc`.

    Returns
    -------
    Roc
        The points, from (0, 0) to (1, 1).

    Examples
    --------
    >>> roc([0, 1, 1], [0.1, 0.4, 0.8]).true_positive_rate
    array([0. , 0.5, 1. , 1. ])
    """
    from sklearn.metrics import roc_curve

    return Roc(*roc_curve(*_checked(labels, scores), drop_intermediate=False))


def roc_band(
    labels: ArrayLike,
    scores: ArrayLike,
    false_positive_rate: ArrayLike,
    level: float = 0.9,
    draws: int = 500,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Return pointwise intervals of the true positive rate, over people drawn anew from each class.

    Both classes keep their sizes (stratified bootstrap); the model stays as it is.

    Parameters
    ----------
    labels, scores
        As for `auc`.
    false_positive_rate
        Where on the curve.
    level
        Share of the draws within the interval.
    draws, seed
        Number of the bootstrap's draws, and what repeats them.

    Returns
    -------
    low, high
        One end for each false positive rate.

    Examples
    --------
    >>> low, high = roc_band([0, 0, 1, 1] * 10, [0.1, 0.4, 0.4, 0.8] * 10, [0.5])
    >>> bool(low[0] <= high[0])
    True
    """
    y, s = _checked(labels, scores)
    level = validate.share("level", level)
    rng, rates = np.random.default_rng(seed), np.asarray(false_positive_rate, dtype=np.float64)
    _, place = np.unique(-s, return_inverse=True)
    place += 1  # of each person's score, the highest first; curves begin with nobody
    classes, size = (place[y], place[~y]), int(place.max()) + 1
    curves = np.empty((draws, len(rates)))
    for curve in curves:
        hits, alarms = (
            np.cumsum(np.bincount(people[rng.integers(len(people), size=len(people))], minlength=size))
            / len(people)
            for people in classes
        )
        curve[:] = np.interp(rates, alarms, hits)
    low, high = np.quantile(curves, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high


def calibration(labels: ArrayLike, probabilities: ArrayLike, bins: int = 10) -> Calibration:
    """Compare predicted with observed shares, bin by bin over [0, 1].

    Parameters
    ----------
    labels
        0 or 1, both present.
    probabilities
        From 0 to 1.
    bins
        Number of bins of equal width.

    Returns
    -------
    Calibration
        Of the bins that are not empty.

    Examples
    --------
    >>> calibration([0, 1, 1], [0.1, 0.8, 0.9], bins=2).observed
    array([0., 1.])
    """
    y, p = _checked(labels, probabilities)
    bins = validate.whole("bins", bins, low=1)
    _check_probabilities(p)
    return _binned(y, p, np.minimum((p * bins).astype(np.int64), bins - 1), bins)


def calibration_by_rank(labels: ArrayLike, probabilities: ArrayLike, groups: int = 10) -> Calibration:
    """Compare predicted with observed shares in groups of equal size, from the least to the greatest risk.

    Where events are rare, nearly all predictions lie in one bin of equal width.

    Parameters
    ----------
    labels
        0 or 1, both present.
    probabilities
        From 0 to 1.
    groups
        Number of groups.

    Returns
    -------
    Calibration
        Of the groups, by rising risk.

    Examples
    --------
    >>> calibration_by_rank([0, 0, 1, 1], [0.01, 0.02, 0.03, 0.9], groups=2).observed
    array([0., 1.])
    """
    y, p = _checked(labels, probabilities)
    groups = validate.whole("groups", groups, low=1)
    _check_probabilities(p)
    group = np.empty(len(p), dtype=np.int64)
    group[np.argsort(p, kind="stable")] = np.arange(len(p)) * groups // len(p)
    return _binned(y, p, group, groups)


def _binned(y: np.ndarray, p: FloatArray, index: np.ndarray, bins: int) -> Calibration:
    records = np.bincount(index, minlength=bins)
    filled = records > 0
    predicted = np.bincount(index, weights=p, minlength=bins)[filled] / records[filled]
    observed = np.bincount(index, weights=y, minlength=bins)[filled] / records[filled]
    return Calibration(predicted, observed, records[filled].astype(np.float64))


def _check_probabilities(p: FloatArray) -> None:
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"probabilities must be in [0, 1], got {p.min():g} to {p.max():g}")


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, FloatArray]:
    y, s = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if y.ndim != 1 or y.shape != s.shape:
        raise ValueError(f"labels and scores must be equally long vectors, got {y.shape} and {s.shape}")
    if not np.isfinite(s).all():
        raise ValueError("scores must be finite, got nan or inf")
    if not np.isin(y, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")
    if y.min(initial=1) == y.max(initial=0):
        raise ValueError("labels must hold both classes")
    return y.astype(bool), s

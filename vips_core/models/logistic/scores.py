"""Scores of a risk model on held-out records.

The public functions `auc`, `roc` and `calibration` take a fit and a table; `auc_of`, `roc_of` and
`calibration_of` take labels and predicted risks, as do all others. Never score private training records: such
a score is a release that no ledger records.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from vips_core import validate
from vips_core.kernels import Array
from vips_core.models.base import Fitted
from vips_core.records import Table


@dataclass(frozen=True)
class Roc:
    """The points of a ROC curve, from (0, 0) to (1, 1), and each point's threshold."""

    false_positive_rate: Array
    true_positive_rate: Array
    threshold: Array


@dataclass(frozen=True)
class Calibration:
    """Mean prediction, share of positives and number of records of each group."""

    predicted: Array
    observed: Array
    records: Array


def auc_of(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve: the probability that a positive scores above a negative.

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
    >>> auc_of([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    from sklearn.metrics import roc_auc_score  # imported here and below because it is slow to load

    return float(roc_auc_score(*_checked(labels, scores)))


def auc_interval(labels: ArrayLike, scores: ArrayLike, level: float = 0.9) -> tuple[float, float]:
    """Return a confidence interval of the AUC over new people, for a fixed model (DeLong et al. 1988).

    Parameters
    ----------
    labels, scores
        As for `auc_of`.
    level
        Probability that the interval contains the AUC.

    Returns
    -------
    low, high
        Ends of the interval, within [0, 1].

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
    """Return the mean of −log P(label): the cost of wrong and overconfident probabilities.

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


def constant_log_loss(labels: ArrayLike) -> float:
    """Return the log loss of predicting the share of positives for everyone, the baseline of a model.

    Parameters
    ----------
    labels
        0 or 1, both present.

    Examples
    --------
    >>> round(constant_log_loss([0, 1]), 3)
    0.693
    """
    y = np.asarray(labels)
    return log_loss(y, np.full(y.shape, y.mean()))


def roc_of(labels: ArrayLike, scores: ArrayLike) -> Roc:
    """Return the ROC curve with one point per distinct score.

    Parameters
    ----------
    labels, scores
        As for `auc_of`.

    Returns
    -------
    Roc
        The points, from (0, 0) to (1, 1).

    Examples
    --------
    >>> roc_of([0, 1, 1], [0.1, 0.4, 0.8]).true_positive_rate
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
) -> tuple[Array, Array]:
    """Return pointwise bootstrap intervals of the true positive rate, for a fixed model.

    People are resampled within each class, so that both classes keep their sizes.

    Parameters
    ----------
    labels, scores
        As for `auc_of`.
    false_positive_rate
        Rates at which to compute the intervals.
    level
        Share of the draws within an interval.
    draws, seed
        Number of bootstrap draws, and the seed that repeats them.

    Returns
    -------
    low, high
        Ends of the interval at each false positive rate.

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
    place += 1  # rank of each score, the highest first, after 0 for the start of the curve
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


def calibration_of(labels: ArrayLike, probabilities: ArrayLike, groups: int = 10) -> Calibration:
    """Compare predicted with observed shares in groups of equal size, from the lowest to the highest risk.

    Groups have equal size, not equal width, because nearly all predictions are close together if events are
    rare.

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
        One entry per group, by rising risk.

    Examples
    --------
    >>> calibration_of([0, 0, 1, 1], [0.01, 0.02, 0.03, 0.9], groups=2).observed
    array([0., 1.])
    """
    y, p = _checked(labels, probabilities)
    groups = min(validate.whole("groups", groups, low=1), len(p))
    _check_probabilities(p)
    group = np.empty(len(p), dtype=np.int64)
    group[np.argsort(p, kind="stable")] = np.arange(len(p)) * groups // len(p)
    records = np.bincount(group)
    predicted, observed = (np.bincount(group, weights=column) / records for column in (p, y))
    return Calibration(predicted, observed, records.astype(np.float64))


def _check_probabilities(p: Array) -> None:
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"probabilities must be in [0, 1], got {p.min():g} to {p.max():g}")


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, Array]:
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


def auc(fit: Fitted[Any], rows: Table) -> float:
    """Return the area under the ROC curve of a fitted risk model.

    Parameters
    ----------
    fit
        A fitted risk model, with `predict_probability`.
    rows
        Labelled held-out people.

    Returns
    -------
    float
        From 0 to 1, where ½ is chance.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(predict_probability=lambda fit, rows: rows.x[:, 0])
    >>> rows = Table([[0.1], [0.7], [0.9]], [0, 1, 1], ("a",), norm_bound=1.0)
    >>> auc(SimpleNamespace(model=model), rows)
    1.0
    """
    return auc_of(rows.y, _risks(fit, rows))


def roc(fit: Fitted[Any], rows: Table) -> Roc:
    """Return the ROC curve of a fitted risk model.

    Parameters
    ----------
    fit
        A fitted risk model, with `predict_probability`.
    rows
        Labelled held-out people.

    Returns
    -------
    Roc
        One point per distinct risk.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(predict_probability=lambda fit, rows: rows.x[:, 0])
    >>> rows = Table([[0.1], [0.7], [0.9]], [0, 1, 1], ("a",), norm_bound=1.0)
    >>> roc(SimpleNamespace(model=model), rows).false_positive_rate
    array([0., 0., 0., 1.])
    """
    return roc_of(rows.y, _risks(fit, rows))


def calibration(fit: Fitted[Any], rows: Table, groups: int = 10) -> Calibration:
    """Return predicted against observed risk of a fitted risk model.

    Parameters
    ----------
    fit
        A fitted risk model, with `predict_probability`.
    rows
        Labelled held-out people.
    groups
        Number of groups of equal size.

    Returns
    -------
    Calibration
        One entry per group, by rising risk.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(predict_probability=lambda fit, rows: rows.x[:, 0])
    >>> rows = Table([[0.1], [0.7], [0.9]], [0, 1, 1], ("a",), norm_bound=1.0)
    >>> calibration(SimpleNamespace(model=model), rows, groups=3).predicted
    array([0.1, 0.7, 0.9])
    """
    return calibration_of(rows.y, _risks(fit, rows), groups)


def _risks(fit: Fitted[Any], rows: Table) -> NDArray[np.floating]:
    """Return predicted risks; refuse columns in another order than the model's, which would score wrongly."""
    validate.same_order("features", getattr(fit.model, "features", ()), rows.feature_names)
    risks: NDArray[np.floating] = fit.model.predict_probability(fit, rows)
    return risks

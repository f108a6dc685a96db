"""How well predicted probabilities rank and match labels, on records that were not trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

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
    """Chance that a positive scores above a negative, ties counting one half (Mann–Whitney)."""
    y, s = _checked(labels, scores)
    positives = int(y.sum())
    negatives = len(y) - positives
    rank_sum = _mid_ranks(s)[y].sum()
    return float((rank_sum - positives * (positives + 1) / 2) / (positives * negatives))


def auc_interval(labels: ArrayLike, scores: ArrayLike, level: float = 0.9) -> tuple[float, float]:
    """Confidence interval of the AUC over new people, the model as it is (DeLong et al. 1988)."""
    y, s = _checked(labels, scores)
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    ranks, positives, negatives = _mid_ranks(s), int(y.sum()), int((~y).sum())
    below = (ranks[y] - _mid_ranks(s[y])) / negatives  # share of negatives under each positive
    above = 1 - (ranks[~y] - _mid_ranks(s[~y])) / positives
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (below, above) if len(part) > 1)
    half = float(ndtri(0.5 + level / 2)) * variance**0.5
    middle = float(below.mean())
    return max(0.0, middle - half), min(1.0, middle + half)


def roc(labels: ArrayLike, scores: ArrayLike) -> Roc:
    """ROC curve with one point per distinct score."""
    y, s = _checked(labels, scores)
    order = np.argsort(-s, kind="stable")
    last_of_ties = np.append(np.flatnonzero(np.diff(s[order])), len(s) - 1)
    hits = np.cumsum(y[order])[last_of_ties]
    alarms = last_of_ties + 1 - hits
    return Roc(
        np.concatenate([[0.0], alarms / (~y).sum()]),
        np.concatenate([[0.0], hits / y.sum()]),
        np.concatenate([[np.inf], s[order][last_of_ties]]),
    )


def roc_band(
    labels: ArrayLike,
    scores: ArrayLike,
    false_positive_rate: ArrayLike,
    level: float = 0.9,
    draws: int = 500,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Pointwise percentile interval of the true positive rate, over people drawn anew from each class.

    Both classes keep their sizes (stratified bootstrap); the model stays as it is.
    """
    y, s = _checked(labels, scores)
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    rng, rates = np.random.default_rng(seed), np.asarray(false_positive_rate, dtype=np.float64)
    _, place = np.unique(-s, return_inverse=True)  # of each person's score, the highest first
    size = int(place.max()) + 1
    found = np.empty((draws, len(rates)))
    for draw in found:
        hits, alarms = (
            np.cumsum(np.bincount(rng.choice(part, len(part)), minlength=size)) / len(part)
            for part in (place[y], place[~y])
        )
        draw[:] = np.interp(rates, np.append(0.0, alarms), np.append(0.0, hits))
    low, high = np.quantile(found, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high


def calibration(labels: ArrayLike, probabilities: ArrayLike, bins: int = 10) -> Calibration:
    """Compare predicted with observed shares, bin by bin over [0, 1]."""
    y, p = _checked(labels, probabilities)
    _check_probabilities(p, bins)
    return _binned(y, p, np.minimum((p * bins).astype(np.int64), bins - 1), bins)


def calibration_by_rank(labels: ArrayLike, probabilities: ArrayLike, groups: int = 10) -> Calibration:
    """Compare predicted with observed shares in groups of equal size, from the least to the greatest risk.

    Where events are rare, nearly all predictions lie in one bin of equal width.
    """
    y, p = _checked(labels, probabilities)
    _check_probabilities(p, groups)
    group = np.empty(len(p), dtype=np.int64)
    group[np.argsort(p, kind="stable")] = np.arange(len(p)) * groups // len(p)
    return _binned(y, p, group, groups)


def _binned(y: np.ndarray, p: FloatArray, index: np.ndarray, bins: int) -> Calibration:
    records = np.bincount(index, minlength=bins)
    filled = records > 0
    predicted = np.bincount(index, weights=p, minlength=bins)[filled] / records[filled]
    observed = np.bincount(index, weights=y, minlength=bins)[filled] / records[filled]
    return Calibration(predicted, observed, records[filled].astype(np.float64))


def _check_probabilities(p: FloatArray, bins: int) -> None:
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"probabilities must be in [0, 1], got {p.min():g} to {p.max():g}")


def _mid_ranks(scores: FloatArray) -> FloatArray:
    """Ranks from 1, ties sharing their mean."""
    _, place, ties = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(ties) - (ties - 1) / 2)[place])


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

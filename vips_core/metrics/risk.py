"""How well predicted probabilities rank and match labels, on records that were not trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vips_core.models.base import FloatArray


@dataclass(frozen=True)
class Roc:
    """The points of a ROC curve, from (0, 0) to (1, 1), and the score from which each calls a positive."""

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    threshold: FloatArray


@dataclass(frozen=True)
class Calibration:
    """Mean prediction and share of positives per bin of equal width; empty bins are left out."""

    predicted: FloatArray
    observed: FloatArray
    records: FloatArray


def auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Chance that a positive scores above a negative, ties counting one half (Mann–Whitney)."""
    y, s = _checked(labels, scores)
    positives = int(y.sum())
    negatives = len(y) - positives
    _, place, ties = np.unique(s, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(ties) - (ties - 1) / 2
    rank_sum = mean_rank[place][y].sum()
    return float((rank_sum - positives * (positives + 1) / 2) / (positives * negatives))


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


def calibration(labels: ArrayLike, probabilities: ArrayLike, bins: int = 10) -> Calibration:
    """Compare predicted with observed shares, bin by bin over [0, 1]."""
    y, p = _checked(labels, probabilities)
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"probabilities must be in [0, 1], got {p.min():g} to {p.max():g}")
    index = np.minimum((p * bins).astype(np.int64), bins - 1)
    records = np.bincount(index, minlength=bins)
    filled = records > 0
    predicted = np.bincount(index, weights=p, minlength=bins)[filled] / records[filled]
    observed = np.bincount(index, weights=y, minlength=bins)[filled] / records[filled]
    return Calibration(predicted, observed, records[filled].astype(np.float64))


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

"""Rivals that follow gradients, DP-GD and DP-Adam, and what all rivals share: columns and noise.

Neighbours are zero-out with public N, as for the refined variant. A release is a sum over records, each
within an L2 bound, plus Gaussian noise of bound/μᵢ. Full batches compose exactly: all releases together are
as private as one with μ² = Σ μᵢ², and μ of (ε, δ) is the Gaussian mechanism's (Balle and Wang 2018), which is
also what `PrivacyPlan.calibrate` uses. Noise is in floating point: this is for comparison, not for people's
data.

| symbol | code      | shape |
|--------|-----------|-------|
| z      | `columns` | (n, d), centred columns, then a constant |
| w      | `weights` | (d,)  |
| C      | `clip`    | scalar, norm to which a record's gradient (p − y)z is clipped |
| μ, μᵢ  | `budget`, `part` | scalars, signal over noise of all releases and of one |
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from vips_core.records import Table

CONSTANTS = ("intercept", "constant")  # columns that all rivals replace by one of their own
YES_NO = (0.0, 1.0)
# The same for all methods, chosen on the development tables: of 0, .25, .35 and .5; of .3 to 2; of 1 to 5.
INDICATOR_CENTRE, CONSTANT, LENGTH = 0.25, 0.5, 3.0


@dataclass(frozen=True)
class Centred:
    """Rows in the rivals' columns: −½ to ½ for a public range, ¾ or −¼ for yes or no, 0 if missing.

    Columns without a public range keep their zeros, and the norm bound becomes `LENGTH`. `longest` is a
    public guess of the largest norm; no guarantee relies on it.
    """

    columns: Any
    labels: np.ndarray
    norms: np.ndarray
    longest: float

    @classmethod
    def of(cls, rows: Table) -> "Centred":
        if rows.persons is not None:
            raise ValueError("the rivals take one row for each person")
        kept = [j for j, name in enumerate(rows.feature_names) if name not in CONSTANTS]
        constant = np.full((len(rows), 1), CONSTANT)
        if rows.ranges:
            centres = [_centre(rows.ranges.get(rows.feature_names[j])) for j in kept]
            z = rows.x[:, kept] - np.array(centres)
            for column, indicator in rows.missing_pairs:
                z[rows.x[:, indicator] > 0, kept.index(column)] = 0.0
            longest = math.sqrt(CONSTANT**2 + len(kept) / 4)
        else:
            z = rows.x[:, kept] * (LENGTH / rows.norm_bound)
            longest = math.hypot(CONSTANT, LENGTH)
        z = sparse.hstack([z, constant], format="csr") if sparse.issparse(z) else np.hstack([z, constant])
        squares = z.multiply(z) if sparse.issparse(z) else z**2
        norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        return cls(z, rows.y.astype(np.float64), norms, longest)


def _centre(ends: tuple[float, float] | None) -> float:
    """Return a column's centre; indicators of missing values have no range and are mostly 0."""
    if ends is None:
        return 0.0
    return INDICATOR_CENTRE if ends == YES_NO else 0.5


def noisy(total: np.ndarray, bound: float, part: float, rng: np.random.Generator) -> np.ndarray:
    """Release a sum whose records have at most norm `bound`, with signal over noise `part`."""
    return total + bound / part * rng.standard_normal(total.shape)


def clipped_gradient(people: Centred, weights: np.ndarray, clip: float) -> np.ndarray:
    """Return Σ (p − y)z, with each record's term scaled down to norm `clip` if it is longer."""
    residual = expit(people.columns @ weights) - people.labels
    residual *= np.minimum(1.0, clip / np.maximum(np.abs(residual) * people.norms, 1e-300))
    return people.columns.T @ residual


@dataclass(frozen=True)
class GradientDescent:
    """DP-GD: full batches, constant steps, the average of the last fifth of the iterates.

    All steps add up to `rate`/(standard deviation of the noise of the average gradient): more noise ends the
    descent earlier, which shrinks. A single step is at most `largest`.
    """

    clip: float
    steps: int
    rate: float
    largest: float = 4.0
    averaged: float = 0.2

    def fit(self, people: Centred, budget: float, rng: np.random.Generator) -> np.ndarray:
        n, part = len(people.labels), budget / math.sqrt(self.steps)
        step = min(self.rate * n * budget / (self.clip * self.steps), self.largest) / n
        weights = mean = np.zeros(people.columns.shape[1])
        first = round(self.steps * (1 - self.averaged))
        for t in range(self.steps):
            weights = weights - step * noisy(
                clipped_gradient(people, weights, self.clip), self.clip, part, rng
            )
            mean = mean + (weights - mean) / max(t - first + 1, 1)
        return mean


@dataclass(frozen=True)
class Adam:
    """DP-Adam: full batches, Adam's published decays, the average of the last iterates."""

    clip: float
    steps: int
    rate: float
    averaged: float = 0.1
    decay_mean: float = 0.9
    decay_square: float = 0.999

    def fit(self, people: Centred, budget: float, rng: np.random.Generator) -> np.ndarray:
        n, part = len(people.labels), budget / math.sqrt(self.steps)
        weights = mean = first = second = np.zeros(people.columns.shape[1])
        start = round(self.steps * (1 - self.averaged))
        for t in range(self.steps):
            gradient = noisy(clipped_gradient(people, weights, self.clip), self.clip, part, rng) / n
            first = self.decay_mean * first + (1 - self.decay_mean) * gradient
            second = self.decay_square * second + (1 - self.decay_square) * gradient**2
            unbiased = first / (1 - self.decay_mean ** (t + 1))
            scale = np.sqrt(second / (1 - self.decay_square ** (t + 1))) + 1e-8
            weights = weights - self.rate * unbiased / scale
            mean = mean + (weights - mean) / max(t - start + 1, 1)
        return mean

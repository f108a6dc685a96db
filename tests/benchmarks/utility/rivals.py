"""Standing rivals of the refined regression that follow gradients: full-batch DP-GD and DP-Adam.

Both are (ε, δ)-DP for zero-out neighbours with public N, as the refined variant. Each of T steps releases
Σ (p − y)z + noise over all records, each record's gradient clipped to norm C. Steps on full batches compose
exactly: T releases with noise multiplier σ are one with σ/√T, so σ = √T/μ for the Gaussian mechanism's μ of
(ε, δ). Noise is in floating point: this is code for comparison, not for people's data.

| symbol | code      | shape |
|--------|-----------|-------|
| z      | `columns` | (n, d), centred columns, then a constant |
| w      | `weights` | (d,)  |
| C      | `clip`    | scalar |
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from vips_core.privacy import gaussian
from vips_core.records import Table

CONSTANTS = ("intercept", "constant")
YES_NO = (0.0, 1.0)
DELTA = 1e-6
ADAM = (0.9, 0.999, 1e-8)  # as published: decay of mean and of square, and least divisor


@dataclass(frozen=True)
class Prepared:
    """How public quantities change columns: an indicator's centre, and the size of the constant.

    A column with a public range is −½ to ½, and 0 where it is missing. Other columns, whose range is not
    public, keep their zeros; the norm bound becomes `length`.
    """

    yes_no: float = 0.5
    constant: float = 1.0
    length: float = 3.0

    def columns(self, rows: Table):
        """Return centred and scaled columns, then a constant."""
        if rows.persons is not None:
            raise ValueError("the rivals take one row for each person")
        kept = [j for j, name in enumerate(rows.feature_names) if name not in CONSTANTS]
        names = [rows.feature_names[j] for j in kept]
        constant = np.full((len(rows), 1), self.constant)
        if not rows.ranges:
            x = rows.x[:, kept] * (self.length / rows.norm_bound)
            return (
                sparse.hstack([x, constant], format="csr") if sparse.issparse(x) else np.hstack([x, constant])
            )
        centres = {name: self.yes_no if ends == YES_NO else 0.5 for name, ends in rows.ranges.items()}
        z = rows.x[:, kept] - np.array([centres.get(name, 0.0) for name in names])
        place = {j: k for k, j in enumerate(kept)}
        for column, indicator in rows.missing_pairs:
            z[rows.x[:, indicator] > 0, place[column]] = 0.0
        return np.hstack([z, constant])


def lengths(columns) -> np.ndarray:
    """Return the norm of each row."""
    squares = columns.multiply(columns) if sparse.issparse(columns) else columns**2
    return np.sqrt(np.asarray(squares.sum(axis=1)).ravel())


def clipped_gradient(columns, labels, norms, weights, clip):
    """Return Σ of the records' gradients (p − y)z, each scaled down to norm `clip` if it is longer."""
    residual = expit(columns @ weights) - labels
    residual *= np.minimum(1.0, clip / np.maximum(np.abs(residual) * norms, 1e-300))
    return columns.T @ residual


@dataclass(frozen=True)
class GradientSetting:
    """A setting of DP-GD (`rate` is the summed step times the noise-to-signal) or DP-Adam (step)."""

    clip: float
    steps: int
    rate: float
    limit: float = 4.0
    average: float = 0.5
    prepared: Prepared = Prepared()


def gradient_descent(rows: Table, mu: float, setting: GradientSetting, seed: int) -> np.ndarray:
    """Return the average of the last iterates of noisy full-batch gradient descent."""
    z, y, n = setting.prepared.columns(rows), rows.y.astype(float), len(rows)
    norms, rng = lengths(z), np.random.default_rng(seed)
    noise = setting.clip * math.sqrt(setting.steps) / mu
    # All steps add up to rate/(standard deviation of the average gradient), as far as steps are stable.
    step = min(setting.rate * n * mu / setting.clip / setting.steps, setting.limit) / n
    weights, mean = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    first = round(setting.steps * (1 - setting.average))
    for t in range(setting.steps):
        gradient = clipped_gradient(z, y, norms, weights, setting.clip)
        weights = weights - step * (gradient + noise * rng.standard_normal(len(weights)))
        if t >= first:
            mean += (weights - mean) / (t - first + 1)
    return mean if first < setting.steps else weights


def adam(rows: Table, mu: float, setting: GradientSetting, seed: int, corrected: bool = False) -> np.ndarray:
    """Return the average of the last iterates of noisy full-batch Adam."""
    z, y, n = setting.prepared.columns(rows), rows.y.astype(float), len(rows)
    norms, rng = lengths(z), np.random.default_rng(seed)
    noise = setting.clip * math.sqrt(setting.steps) / mu
    weights, mean = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    first, second = np.zeros((2, len(weights)))
    start = round(setting.steps * (1 - setting.average))
    for t in range(setting.steps):
        gradient = clipped_gradient(z, y, norms, weights, setting.clip)
        gradient = (gradient + noise * rng.standard_normal(len(weights))) / n
        first = ADAM[0] * first + (1 - ADAM[0]) * gradient
        second = ADAM[1] * second + (1 - ADAM[1]) * gradient**2
        square = second / (1 - ADAM[1] ** (t + 1))
        if corrected:
            square = np.maximum(square - (noise / n) ** 2, setting.limit**2)
        weights = weights - setting.rate * first / (1 - ADAM[0] ** (t + 1)) / (np.sqrt(square) + ADAM[2])
        if t >= start:
            mean += (weights - mean) / (t - start + 1)
    return mean if start < setting.steps else weights


# Settings of each method and ε, chosen on the tables `tables.CHOSEN_ON` without brfss and the large cohort.
FROZEN = {
    "DP-GD": dict.fromkeys((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), GradientSetting(1.25, 300, 0.5, average=0.2)),
    "DP-Adam": dict.fromkeys((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), GradientSetting(1.5, 300, 0.03, average=0.25)),
}
FITS = {"DP-GD": gradient_descent, "DP-Adam": adam}


def rival(method: str):
    """Return a rival at its frozen settings, in the bench's form."""

    def scores(train, test, epsilon, seed):
        setting = FROZEN[method][epsilon]
        weights = FITS[method](train, gaussian.mu(epsilon, DELTA), setting, seed)
        return expit(setting.prepared.columns(test) @ weights)

    return scores

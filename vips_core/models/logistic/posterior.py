"""From an estimate in coordinates to weights of columns: free post-processing.

| symbol | code        | shape                                             |
|--------|-------------|---------------------------------------------------|
| λ      | `curvature` | (d+1,) or (d+1+k,), at least what keeps steps stable |
| λ      | `seen`      | the same, at least 0                              |
|        | `vectors`   | (d+1, d+1), or None where directions are the axes |
| U      | `shared`    | (d+1, k), see `secants`                           |
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are used
from scipy.special import expit

from vips_core.kernels import Array
from vips_core.models.logistic.coordinates import NO_CONSTANT, Coordinates

LARGEST_SPREAD = 25.0  # variance of log odds over records, beyond which a normal one means little
RAREST = 1e-6  # mean probability
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
NODE_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Directions:
    """Directions and the curvature along each: a matrix's, or the axes and after them what columns share."""

    curvature: Array
    seen: Array
    vectors: Array | None
    shared: Array

    def apply(self, values: Array, vector: Array) -> Array:
        """Return the product of the matrix that has these eigenvalues with a vector."""
        if self.vectors is not None:
            return np.asarray(self.vectors @ (values * (self.vectors.T @ vector)))
        of_axes, of_shared = self._parted(values)
        along = self.shared.T @ vector
        rest = of_axes * (vector - self.shared @ along)
        return np.asarray(rest + self.shared @ (of_shared * along - self.shared.T @ rest))

    def components(self, vector: Array) -> Array:
        """Return how far a vector goes along every direction."""
        if self.vectors is not None:
            return np.asarray(self.vectors.T @ vector)
        return np.append(vector, self.shared.T @ vector)

    def along(self, diagonal: Array) -> Array:
        """Return a diagonal matrix's quadratic form along every direction."""
        if self.vectors is not None:
            return np.asarray(diagonal @ self.vectors**2)
        return np.append(diagonal, diagonal @ self.shared**2)

    def matrix(self, values: Array, scale: Array) -> Array:
        """Return the matrix that has these eigenvalues, in scaled axes; its diagonal where they are axes."""
        if self.vectors is None:
            return self.diagonal(values) * scale**2
        turned = self.vectors * scale[:, None]
        return np.asarray((turned * values) @ turned.T)

    def diagonal(self, values: Array) -> Array:
        """Return the diagonal of the matrix that has these eigenvalues, as a new array."""
        if self.vectors is not None:
            return np.asarray(self.vectors**2 @ values)
        of_axes, of_shared = self._parted(values)
        return np.asarray(of_axes * (1 - (self.shared**2).sum(axis=1)) + self.shared**2 @ of_shared)

    def form(self, values: Array, vector: Array) -> float:
        """Return vᵀAv of the matrix A that has these eigenvalues."""
        return float(vector @ self.apply(values, vector))

    def forms(self, values: Array, rows: Array) -> Array:
        """Return vᵀAv of the matrix A that has these eigenvalues, for every row v."""
        if self.vectors is not None:
            return np.asarray((rows @ self.vectors) ** 2 @ values)
        of_axes, of_shared = self._parted(values)
        along = rows @ self.shared
        return np.asarray((rows - along @ self.shared.T) ** 2 @ of_axes + along**2 @ of_shared)

    def _parted(self, values: Array) -> tuple[Array, Array]:
        return values[: len(self.shared)], values[len(self.shared) :]

    def over_slopes(self, values: Array) -> float:
        """Return Σ AᵢⱼHᵢⱼ over slopes, where A has these eigenvalues and H is the curvature that is seen."""
        first = np.eye(1, len(self.shared))[0]
        ours, seen = self.apply(values, first), self.apply(self.seen, first)
        return max(float(values @ self.seen - 2 * ours @ seen + ours[0] * seen[0]), 0.0)


def flattening(variance: Any) -> Any:
    """Return what divides ψ where its posterior of this variance is integrated out of σ(ψ) (MacKay 1992)."""
    return np.sqrt(1 + math.pi / 8 * variance)


def mean_probability(level: float, variance: float) -> float:
    """Return the mean of σ(ψ) for ψ ~ N(level, variance)."""
    return float(NODE_WEIGHTS @ expit(level + math.sqrt(min(variance, LARGEST_SPREAD)) * NODES))


def level_of(probability: float, variance: float) -> float:
    """Undo `mean_probability`."""
    target = min(max(probability, RAREST), 1 - RAREST)
    return float(scipy.optimize.brentq(lambda level: mean_probability(level, variance) - target, -60.0, 60.0))


def weights(level: float, slopes: Array, where: Coordinates) -> Array:
    """Return the weights of columns, with the constant's log odds at the column that holds them."""
    moved = slopes.copy()
    if where.missing is not None:
        columns, indicators = where.missing.T
        moved[indicators] += where.centre[columns] * slopes[columns]
    if where.column != NO_CONSTANT:
        moved[where.column] += (level - where.centre @ slopes) / where.value
    return moved


def weight_variances(directions: Directions, values: Array, scale: Array, where: Coordinates) -> Array:
    """Return the variance of each of `weights`, given those along directions in coordinates."""
    variances = directions.diagonal(values)[1:] * scale[1:] ** 2
    if where.missing is not None:
        columns, indicators = where.missing.T
        moves, each = np.zeros((len(columns), len(scale))), np.arange(len(columns))
        moves[each, 1 + indicators], moves[each, 1 + columns] = 1.0, where.centre[columns]
        variances[indicators] = directions.forms(values, moves * scale)
    if where.column != NO_CONSTANT:
        moves = np.append(1.0, -where.centre) / where.value
        moves[1 + where.column] += 1
        variances[where.column] = directions.form(values, moves * scale)
    return variances

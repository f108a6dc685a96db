"""From an estimate in coordinates to weights of columns: free post-processing.

| symbol | code        | shape                                             |
|--------|-------------|---------------------------------------------------|
| λ      | `curvature` | (d+1,)                                            |
| U      | `vectors`   | (d+1, d+1), or None where directions are the axes |
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used
from scipy.special import expit

from vips_core.models.base import FloatArray
from vips_core.models.logistic.coordinates import NO_CONSTANT, Coordinates

LARGEST_SPREAD = 25.0  # variance of log odds over records, beyond which a normal one means little
RAREST = 1e-6  # mean probability
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
NODE_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Directions:
    """Orthogonal directions and the curvature along each."""

    curvature: FloatArray
    vectors: FloatArray | None

    def apply(self, values: FloatArray, vector: FloatArray) -> FloatArray:
        """Return the product of the matrix that has these eigenvalues with a vector."""
        if self.vectors is None:
            return values * vector
        return np.asarray(self.vectors @ (values * (self.vectors.T @ vector)))

    def along(self, diagonal: FloatArray) -> FloatArray:
        """Return a diagonal matrix's quadratic form along every direction."""
        return diagonal if self.vectors is None else np.asarray(diagonal @ self.vectors**2)

    def matrix(self, values: FloatArray, scale: FloatArray) -> FloatArray:
        """Return the matrix that has these eigenvalues, in scaled axes; its diagonal where it is one."""
        if self.vectors is None:
            return values * scale**2
        turned = self.vectors * scale[:, None]
        return np.asarray((turned * values) @ turned.T)


def form(matrix: FloatArray, vector: FloatArray) -> float:
    """Return vᵀAv, where A is a matrix or a diagonal."""
    return float(vector**2 @ matrix if matrix.ndim == 1 else vector @ matrix @ vector)


def diagonal(matrix: FloatArray) -> FloatArray:
    """Return a matrix's diagonal, as a new array."""
    return np.array(matrix if matrix.ndim == 1 else np.diagonal(matrix))


def mean_probability(level: float, variance: float) -> float:
    """Return the mean of σ(ψ) for ψ ~ N(level, variance)."""
    return float(NODE_WEIGHTS @ expit(level + math.sqrt(min(variance, LARGEST_SPREAD)) * NODES))


def level_of(probability: float, variance: float) -> float:
    """Undo `mean_probability`."""
    target = min(max(probability, RAREST), 1 - RAREST)
    return float(scipy.optimize.brentq(lambda level: mean_probability(level, variance) - target, -60.0, 60.0))


def weights(level: float, slopes: FloatArray, where: Coordinates) -> FloatArray:
    """Return the weights of columns, with the constant's log odds at the column that holds them."""
    moved = slopes.copy()
    if where.column != NO_CONSTANT:
        moved[where.column] += (level - where.centre @ slopes) / where.value
    return moved


def weight_variances(covariance: FloatArray, where: Coordinates) -> FloatArray:
    """Return the variance of each of `weights`, given that of (level, slopes)."""
    variances = diagonal(covariance)[1:]
    if where.column != NO_CONSTANT:
        moves = np.append(1.0, -where.centre) / where.value
        moves[1 + where.column] += 1
        variances[where.column] = form(covariance, moves)
    return variances

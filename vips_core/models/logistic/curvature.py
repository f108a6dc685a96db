"""Curvature as directions with eigenvalues, and directions learned from changes of the gradient.

With few records, or many columns, only the diagonal of the curvature is measured. A diagonal does not
describe correlated columns: along their common direction the curvature is up to d times larger, and a step
that is small by the diagonal overshoots. But with move s and gradients g and g⁺ before and after it,
g − g⁺ = Hs, up to √2 times a gradient's noise. The part that the known curvature B does not explain,
r = g − g⁺ − Bs, defines the symmetric rank-one update rrᵀ/(rᵀs), which is accepted if it is clear of its
known noise.

| symbol | code          | shape                                                             |
|--------|---------------|-------------------------------------------------------------------|
| λ      | `curvature`   | (d+1+k,)                                                          |
| U      | `shared`      | (d+1, k), orthonormal directions beside the axes; k = d+1 for all |
"""

import math
from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array


@dataclass(frozen=True)
class Directions:
    """Directions and the curvature along each: the axes, then orthonormal shared directions.

    Along the axes, a matrix acts on the component of a vector outside the span of the shared directions. That
    component is 0 if the shared directions are all eigenvectors of a released matrix.
    """

    curvature: Array
    shared: Array

    def apply(self, values: Array, vector: Array) -> Array:
        """Return the matrix with these eigenvalues times a vector."""
        of_axes, of_shared = self._axes_and_shared(values)
        along = self.shared.T @ vector
        rest = of_axes * (vector - self.shared @ along)
        return np.asarray(rest + self.shared @ (of_shared * along - self.shared.T @ rest))

    def along(self, diagonal: Array) -> Array:
        """Return a diagonal matrix's quadratic form along every direction."""
        return np.append(diagonal, diagonal @ self.shared**2)

    def matrix(self, values: Array, scale: Array) -> Array:
        """Return the matrix with these eigenvalues in scaled axes; its diagonal if axes are directions."""
        if self.shared.shape[1] < len(self.shared):
            return self.diagonal(values) * scale**2
        turned = self.shared * scale[:, None]
        return np.asarray((turned * self._axes_and_shared(values)[1]) @ turned.T)

    def diagonal(self, values: Array) -> Array:
        """Return the diagonal of the matrix with these eigenvalues, as a new array."""
        of_axes, of_shared = self._axes_and_shared(values)
        return np.asarray(of_axes * (1 - (self.shared**2).sum(axis=1)) + self.shared**2 @ of_shared)

    def forms(self, values: Array, rows: Array) -> Array:
        """Return vᵀAv of the matrix A with these eigenvalues, for every row v."""
        of_axes, of_shared = self._axes_and_shared(values)
        along = rows @ self.shared
        return np.asarray((rows - along @ self.shared.T) ** 2 @ of_axes + along**2 @ of_shared)

    def trace_over_slopes(self, values: Array) -> float:
        """Return Σ AᵢⱼHᵢⱼ over slopes, for A with these eigenvalues and the curvature H."""
        first = np.eye(1, len(self.shared))[0]
        ours, curvature = self.apply(values, first), self.apply(self.curvature, first)
        trace = float(self.diagonal(values * self.curvature).sum())
        return max(trace - float(2 * ours @ curvature - ours[0] * curvature[0]), 0.0)

    def _axes_and_shared(self, values: Array) -> tuple[Array, Array]:
        return values[: len(self.shared)], values[len(self.shared) :]


@dataclass(frozen=True)
class LowRankCurvature:
    """Orthonormal directions, and the curvature along each."""

    vectors: Array
    values: Array


def no_directions(size: int) -> LowRankCurvature:
    """Return an empty set of directions."""
    return LowRankCurvature(np.zeros((size, 0)), np.zeros(0))


def rank_one_update(
    known: Array, move: Array, change: Array, noise_std: float, min_z: float
) -> tuple[Array, float] | None:
    """Return a direction and its excess over the known curvature, or None if the excess may be noise.

    Parameters
    ----------
    known
        Change of the gradient explained by the known curvature.
    move, change
        Change of the point, and of the gradient.
    noise_std
        Standard deviation of a gradient's noise.
    min_z
        z-score required to accept an update.
    """
    rest, noise = change - known, 2 * noise_std**2
    left, along = float(rest @ rest) - noise * len(rest), float(rest @ move)
    if left < min_z * noise * math.sqrt(2 * len(rest)) or along <= min_z * math.sqrt(noise * move @ move):
        return None
    return rest / np.linalg.norm(rest), left / along


def add_direction(low_rank: LowRankCurvature, direction: Array, value: float, most: int) -> LowRankCurvature:
    """Add a direction, orthonormalise all, and keep the `most` with the largest curvature."""
    basis, triangle = np.linalg.qr(np.column_stack([low_rank.vectors, direction]))
    values, vectors = np.linalg.eigh((triangle * np.append(low_rank.values, value)) @ triangle.T)
    return LowRankCurvature(basis @ vectors[:, -most:], values[-most:])

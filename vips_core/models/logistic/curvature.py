"""Curvature as directions with eigenvalues, and directions learned from how gradients change.

With few records, or many columns, the curvature is known along the axes only. A diagonal cannot know that
columns are correlated: along what they share the curvature is up to d times larger, and a step that the
diagonal calls small overshoots. But with move s and gradients g and g⁺ before and after it, g − g⁺ = Hs, up
to √2 times a gradient's noise. What the known curvature B leaves of it, r = g − g⁺ − Bs, makes the symmetric
rank-one update rrᵀ/(rᵀs). It is accepted if it is clear of its known noise.

| symbol | code          | shape                                                             |
|--------|---------------|-------------------------------------------------------------------|
| λ      | `for_steps`   | (d+1,) or (d+1+k,), at least what keeps steps stable              |
| λ      | `measured`    | the same, at least 0                                              |
|        | `vectors`     | (d+1, d+1), or None where directions are the axes                 |
| U      | `shared`      | (d+1, k), orthonormal directions beside the axes                  |
|        | `excess`      | (k,), curvature beyond the diagonal's, as a part of its sum       |
"""

import math
from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array


@dataclass(frozen=True)
class Directions:
    """Directions and the curvature along each: eigenvectors, or the axes followed by shared directions."""

    for_steps: Array
    measured: Array
    vectors: Array | None
    shared: Array

    def apply(self, values: Array, vector: Array) -> Array:
        """Return the product of the matrix with these eigenvalues and a vector."""
        if self.vectors is not None:
            return np.asarray(self.vectors @ (values * (self.vectors.T @ vector)))
        of_axes, of_shared = self._parted(values)
        along = self.shared.T @ vector
        rest = of_axes * (vector - self.shared @ along)
        return np.asarray(rest + self.shared @ (of_shared * along - self.shared.T @ rest))

    def components(self, vector: Array) -> Array:
        """Return a vector's component along every direction."""
        if self.vectors is not None:
            return np.asarray(self.vectors.T @ vector)
        return np.append(vector, self.shared.T @ vector)

    def along(self, diagonal: Array) -> Array:
        """Return a diagonal matrix's quadratic form along every direction."""
        if self.vectors is not None:
            return np.asarray(diagonal @ self.vectors**2)
        return np.append(diagonal, diagonal @ self.shared**2)

    def matrix(self, values: Array, scale: Array) -> Array:
        """Return the matrix with these eigenvalues in scaled axes; only its diagonal if they are axes."""
        if self.vectors is None:
            return self.diagonal(values) * scale**2
        turned = self.vectors * scale[:, None]
        return np.asarray((turned * values) @ turned.T)

    def diagonal(self, values: Array) -> Array:
        """Return the diagonal of the matrix with these eigenvalues, as a new array."""
        if self.vectors is not None:
            return np.asarray(self.vectors**2 @ values)
        of_axes, of_shared = self._parted(values)
        return np.asarray(of_axes * (1 - (self.shared**2).sum(axis=1)) + self.shared**2 @ of_shared)

    def form(self, values: Array, vector: Array) -> float:
        """Return vᵀAv of the matrix A with these eigenvalues."""
        return float(vector @ self.apply(values, vector))

    def forms(self, values: Array, rows: Array) -> Array:
        """Return vᵀAv of the matrix A with these eigenvalues, for every row v."""
        if self.vectors is not None:
            return np.asarray((rows @ self.vectors) ** 2 @ values)
        of_axes, of_shared = self._parted(values)
        along = rows @ self.shared
        return np.asarray((rows - along @ self.shared.T) ** 2 @ of_axes + along**2 @ of_shared)

    def trace_over_slopes(self, values: Array) -> float:
        """Return Σ AᵢⱼHᵢⱼ over slopes, for A with these eigenvalues and the measured curvature H."""
        first = np.eye(1, len(self.shared))[0]
        ours, measured = self.apply(values, first), self.apply(self.measured, first)
        return max(float(values @ self.measured - 2 * ours @ measured + ours[0] * measured[0]), 0.0)

    def _parted(self, values: Array) -> tuple[Array, Array]:
        return values[: len(self.shared)], values[len(self.shared) :]


@dataclass(frozen=True)
class LowRankCurvature:
    """Orthonormal directions, and the curvature along each beyond the diagonal's."""

    vectors: Array
    excess: Array


def no_directions(size: int) -> LowRankCurvature:
    """Return what is known before the first step."""
    return LowRankCurvature(np.zeros((size, 0)), np.zeros(0))


def rank_one_update(
    known: Array, move: Array, change: Array, noise_std: float, min_z: float, harmless: float
) -> tuple[Array, float] | None:
    """Return a direction and the curvature along it beyond the known one; None if none is clear of noise.

    Parameters
    ----------
    known
        Change of the gradient that the known curvature explains.
    move, change
        Change of the point, and of the gradient.
    noise_std
        Standard deviation of a gradient's noise.
    min_z
        z-score required to accept an update.
    harmless
        Excess over the known curvature, as a part of it, that is left alone.
    """
    rest, noise = change - known, 2 * noise_std**2
    left, along = float(rest @ rest) - noise * len(rest), float(rest @ move)
    least = max(harmless * float(known @ move), min_z * math.sqrt(noise * float(move @ move)))
    if left < min_z * noise * math.sqrt(2 * len(rest)) or along <= least:
        return None
    return rest / np.linalg.norm(rest), left / along


def add_direction(low_rank: LowRankCurvature, direction: Array, excess: float, most: int) -> LowRankCurvature:
    """Return the directions with one more, orthogonal again, the `most` largest of them."""
    basis, triangle = np.linalg.qr(np.column_stack([low_rank.vectors, direction]))
    values, vectors = np.linalg.eigh((triangle * np.append(low_rank.excess, excess)) @ triangle.T)
    return LowRankCurvature(basis @ vectors[:, -most:], values[-most:])

"""Directions that many columns share, from how gradients change between steps: free post-processing.

A diagonal cannot know that columns are correlated. Along what they share the curvature is up to d times
larger, and a step that the diagonal calls small overshoots. But with move s and gradients g before and after
it, g − g⁺ = Hs, up to noise of √2 times a gradient's: what the curvature B that is known so far leaves of it,
r = g − g⁺ − Bs, is the symmetric rank-one update rrᵀ/(rᵀs). It is taken where its known noise leaves of it.

| symbol | code      | shape                                                       |
|--------|-----------|-------------------------------------------------------------|
| U      | `vectors` | (d+1, k), orthonormal                                       |
|        | `excess`  | (k,), curvature beyond the diagonal's, as a part of its sum |
"""

import math
from dataclasses import dataclass

import numpy as np

from vips_core.models.base import FloatArray

CLEAR = 3.0  # standard deviations of noise from which an update is one
MOST = 8  # directions


@dataclass(frozen=True)
class Shared:
    """Orthonormal directions, and the curvature along each beyond the diagonal's."""

    vectors: FloatArray
    excess: FloatArray


def none(size: int) -> Shared:
    """Return what is known before the first step."""
    return Shared(np.zeros((size, 0)), np.zeros(0))


def learned(
    shared: Shared, diagonal: FloatArray, move: FloatArray, change: FloatArray, noise_std: float
) -> Shared:
    """Return what a change of the gradient adds, if it is clear of noise."""
    total, vectors = float(diagonal[1:].sum()), shared.vectors
    known = diagonal * move + vectors @ (shared.excess * total * (vectors.T @ move))
    rest, noise = change - known, 2 * noise_std**2
    left = float(rest @ rest) - noise * len(rest)
    along = float(rest @ move)
    if left < CLEAR * noise * math.sqrt(2 * len(rest)) or along**2 < CLEAR**2 * noise * float(move @ move) or along <= 0:
        return shared
    excess = min(left / along / total, 1.0)
    basis, triangle = np.linalg.qr(np.column_stack([vectors, rest / np.linalg.norm(rest)]))
    values, turned = np.linalg.eigh((triangle * np.append(shared.excess, excess)) @ triangle.T)
    most = np.argsort(values)[::-1][:MOST]
    return Shared(basis @ turned[:, most], values[most])

"""Directions that many columns share, from how gradients change between steps: free post-processing.

A diagonal cannot know that columns are correlated. Along what they share the curvature is up to d times
larger, and a step that the diagonal calls small overshoots. But with move s and gradients g before and after
it, g − g⁺ = Hs, up to noise of √2 times a gradient's: what the curvature B that is known so far leaves of it,
r = g − g⁺ − Bs, makes the symmetric rank-one update rrᵀ/(rᵀs). It is taken where it is clear of its known
noise, and as large as that leaves it.

| symbol | code      | shape                                                       |
|--------|-----------|-------------------------------------------------------------|
| U      | `vectors` | (d+1, k), orthonormal                                       |
|        | `excess`  | (k,), curvature beyond the diagonal's, as a part of its sum |
"""

import math
from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array

CLEAR = 3.0  # standard deviations of noise from which an update is one
# Excess over what is known that is left alone: steps are a small part of Newton's, and the curvature changes
# along a move.
HARMLESS = 1.0
MOST = 8  # directions


@dataclass(frozen=True)
class Shared:
    """Orthonormal directions, and the curvature along each beyond the diagonal's."""

    vectors: Array
    excess: Array


def none(size: int) -> Shared:
    """Return what is known before the first step."""
    return Shared(np.zeros((size, 0)), np.zeros(0))


def beyond(known: Array, move: Array, change: Array, noise_std: float) -> tuple[Array, float] | None:
    """Return a direction and the curvature along it beyond what was `known`; None where none is clear.

    Parameters
    ----------
    known
        Change of the gradient that the curvature so far explains.
    move, change
        Of the point, and of the gradient.
    noise_std
        Of a gradient.
    """
    rest, noise = change - known, 2 * noise_std**2
    left, along = float(rest @ rest) - noise * len(rest), float(rest @ move)
    least = max(HARMLESS * float(known @ move), CLEAR * math.sqrt(noise * float(move @ move)))
    if left < CLEAR * noise * math.sqrt(2 * len(rest)) or along <= least:
        return None
    return rest / np.linalg.norm(rest), left / along


def joined(shared: Shared, direction: Array, excess: float) -> Shared:
    """Return directions with one more, orthogonal again."""
    basis, triangle = np.linalg.qr(np.column_stack([shared.vectors, direction]))
    values, vectors = np.linalg.eigh((triangle * np.append(shared.excess, excess)) @ triangle.T)
    return Shared(basis @ vectors[:, -MOST:], values[-MOST:])

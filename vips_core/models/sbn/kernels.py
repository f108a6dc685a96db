"""Mean-field updates of hidden units, image by image, and the sum of centred images.

symbol          code      shape
--------------  --------  ------------------------------------------------------------------------
d without μ     field     (n, K): b + Σ_j (y_j − ½ − ⟨ξ_j⟩c_j)⟨w_j⟩, the part independent of q(z)
Σ_j⟨ξ_j w wᵀ⟩   gram      (K, K) shared by all images, or (n, K(K+1)/2) upper triangles, one per image
⟨z⟩             mu        (n, K), changed in place

The hidden units of an image depend on that image alone, so a batch may be split into chunks anywhere.
"""

import math

import numpy as np
from numba import njit

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, lowered
from vips_core.kernels.pool import grouped_sums
from vips_core.models.base import Block
from vips_core.records import Images

PIXEL_CHUNK = 512  # images at a time


@njit(nogil=True, cache=True)
def _settle(field: Array, gram: Array, mu: Array, sweeps: int, tolerance: float) -> None:
    """Sweep over the hidden units of one image until none moves by more than `tolerance`.

    The logit of unit k is the paper's d_{n,k}: field_k − Σ_{l≠k} gram_kl μ_l − ½ gram_kk. `rest` is kept at
    field − gram·μ, so a unit that does not change costs almost nothing.
    """
    units = mu.size
    rest = field.copy()
    for k in range(units):
        for other in range(units):
            rest[other] -= gram[k, other] * mu[k]
    for _ in range(sweeps):
        largest = 0.0
        for k in range(units):
            logit = rest[k] + gram[k, k] * (mu[k] - 0.5)
            change = 1.0 / (1.0 + math.exp(-logit)) - mu[k]
            if abs(change) < 0.1 * tolerance:
                continue
            mu[k] += change
            largest = max(largest, abs(change))
            for other in range(units):
                rest[other] -= gram[k, other] * change
        if largest < tolerance:
            return


@njit(nogil=True, cache=True)
def settle_shared(field: Array, gram: Array, mu: Array, sweeps: int, tolerance: float) -> None:
    """Update every image's hidden units under one Gram matrix."""
    for n in range(field.shape[0]):
        _settle(field[n], gram, mu[n], sweeps, tolerance)


@njit(nogil=True, cache=True)
def settle_each(field: Array, triangles: Array, mu: Array, sweeps: int, tolerance: float) -> None:
    """Update every image's hidden units under its own Gram matrix, given as upper triangles by rows."""
    images, units = field.shape
    gram = np.empty((units, units))
    for n in range(images):
        index = 0
        for k in range(units):
            for other in range(k, units):
                gram[k, other] = triangles[n, index]
                gram[other, k] = triangles[n, index]
                index += 1
        _settle(field[n], gram, mu[n], sweeps, tolerance)


@njit(nogil=True, cache=True)
def weighted_products(left: Array, factors: Array, right: Array) -> Array:
    """Return Σ_j factor_j·left_j·right_jᵀ over rows, summed in their order."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for j in range(left.shape[0]):
        for k in range(left.shape[1]):
            factor = factors[j] * left[j, k]
            for other in range(right.shape[1]):
                total[k, other] += factor * right[j, other]
    return total


@njit(nogil=True, cache=True)
def second_moments(mu: Array) -> Array:
    """Return the upper triangles of ⟨zzᵀ⟩ = μμᵀ + diag(μ(1 − μ)), whose diagonal is μ (z² = z)."""
    images, units = mu.shape
    pairs = np.empty((images, units * (units + 1) // 2))
    for n in range(images):
        index = 0
        for k in range(units):
            pairs[n, index] = mu[n, k]
            index += 1
            for other in range(k + 1, units):
                pairs[n, index] = mu[n, k] * mu[n, other]
                index += 1
    return pairs


def centred_pixel_sums(batch: Images, block: Block) -> Array:
    """Return Σ(y − ½), each image divided by its person's number of images and cut to the block's grid."""
    halves = cut(lowered(0.5, cells=0) * batch.row_weights, block.grid)

    def chunk_sums(start: int, stop: int) -> tuple[Array]:
        return (halves[start:stop] @ (2 * batch.unpack(np.float64, slice(start, stop)) - 1),)

    return grouped_sums(chunk_sums, lambda: (np.zeros(block.shape),), batch.row_count, PIXEL_CHUNK)[0]

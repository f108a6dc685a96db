"""The K × K matrices that the paper's variant has for every pixel, a few pixels at a time."""

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.pool import concatenated
from vips_core.kernels.symmetric import from_triangles, triangles

CHUNK = 32
EIGENVALUE_FLOOR = 1e-3


def weight_posteriors(
    gram: Array, inverse_scale: Array, target: Array, xi_hidden: Array
) -> tuple[Array, Array, Array]:
    """⟨W⟩, ⟨w_j w_jᵀ⟩ and E_jᵀΣ_jE_j of every pixel: Σ_j = [gram_j + diag⟨1/ζ_j⟩]⁻¹, ⟨w_j⟩ = Σ_j·target_j."""
    pixels, hidden = target.shape

    def pixel_rows(start: int, stop: int) -> tuple[Array, Array, Array]:
        precision = from_triangles(gram[start:stop], hidden)
        precision[:, np.arange(hidden), np.arange(hidden)] += inverse_scale[start:stop]
        covariance = np.linalg.inv(precision)
        mean = (covariance @ target[start:stop, :, None])[..., 0]
        second = triangles(covariance + mean[:, :, None] * mean[:, None, :])
        explained = np.einsum("jk,jkl,jl->j", xi_hidden[start:stop], covariance, xi_hidden[start:stop])
        return mean, second, explained

    mean, pairs, explained = concatenated(pixel_rows, pixels, CHUNK)
    return mean, pairs, explained


def floored(gram: Array, hidden: int) -> Array:
    """Return noisy G_j with eigenvalues of at least the floor."""

    def pixel_rows(start: int, stop: int) -> tuple[Array]:
        values, vectors = np.linalg.eigh(from_triangles(gram[start:stop], hidden))
        kept = (vectors * np.maximum(values, EIGENVALUE_FLOOR)[:, None, :]) @ vectors.swapaxes(1, 2)
        return (triangles(kept),)

    return concatenated(pixel_rows, len(gram), CHUNK)[0]

"""Non-negative sums behind noisy ones."""

import math

import numpy as np
from scipy.special import log_ndtr, logsumexp

from vips_core.kernels import Array

ROUNDS = 10  # of fitting the prior
FAR = -1e4  # standard deviations below which a normal tail is taken from its expansion, to nine digits


def expected_mass(noisy: Array, noise_std: float, largest: float) -> Array:
    """Posterior mean of non-negative sums whose sizes have a long tail, given noisy ones.

    The prior is a mixture of exponentials with means `largest`/4ᵏ; its weights are fitted to the noisy sums.
    """
    smallest = largest * 4.0**-12
    if noise_std <= smallest:
        return np.maximum(noisy, smallest)
    scales = largest * 4.0 ** -np.arange(10.0)
    z = noisy[:, None] / noise_std - noise_std / scales
    near, far = np.maximum(z, FAR), np.minimum(z, FAR)
    log_tail, log_root = log_ndtr(near), math.log(2 * math.pi) / 2
    log_density = np.where(
        z < FAR,
        -((noisy[:, None] / noise_std) ** 2) / 2 - log_root - np.log(-far),
        (noise_std / scales) ** 2 / 2 - noisy[:, None] / scales + log_tail,
    ) - np.log(scales)
    mean = noise_std * np.where(z < FAR, -1 / far, near + np.exp(-(near**2) / 2 - log_root - log_tail))
    log_weight = np.full(len(scales), -math.log(len(scales)))
    for _ in range(ROUNDS):
        joint = log_density + log_weight
        responsibility = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        log_weight = np.log((responsibility.sum(axis=0) + 1) / (len(noisy) + len(scales)))
    return np.asarray(np.maximum((responsibility * mean).sum(axis=1), smallest))

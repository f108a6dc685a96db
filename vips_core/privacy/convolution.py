"""The law of a sum of many independent steps, by FFT, with a bound of its rounding."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used

from vips_core.privacy.losses import Side, log_sum_exp

Array = npt.NDArray[np.float64]
Spectrum = npt.NDArray[np.complex128]

_UNIT = 2.0**-53  # rounding of one operation
_NOTHING = -100.0  # log of a size in the spectrum that counts as 0: e^−100 in each cell is far below rounding


def convolve(
    steps: Sequence[Side], counts: Sequence[int], spacing: float, first: int, cells: int
) -> tuple[Array, float]:
    """Law of the sum of `counts` of each step on the cells from `first` on, scaled to mass 1.

    Every cell is raised by a bound of what rounding can have taken from it. With X the transform of a step's
    law f and e its error, |(X + e)ᵀ − Xᵀ| ≤ T·|e|·(|X| + |e|)ᵀ⁻¹, and ‖e‖₂ ≤ 8u·log₂n·√n·‖f‖₂ for n cells
    and unit rounding u (Higham 2002, Theorem 24.2); Cauchy and Schwarz bound what the inverse transform makes
    of that. The power itself, exp(T·log X), errs by less than 20u·T. Mass that leaves the window on one side
    comes in again on the other: it is never lost.

    Parameters
    ----------
    steps
        Losses at multiples of `spacing` with logs of mass, tilted so that the sum centres on the window. An
        FFT errs by about 1e-16 of the largest value anywhere, which without a tilt would drown a small δ.
    counts
        How often each step happens.
    spacing, first, cells
        The window: `cells` (a power of two) multiples of `spacing`, from `first`·`spacing` on.

    Returns
    -------
    mass, log_scale
        The law of total mass 1 (and the bound), and the log of what the steps' masses multiply to.
    """
    transforms: list[Spectrum] = []
    errors: list[float] = []
    log_sizes: list[Array] = []
    offset, log_scale = 0, 0.0
    fft_error = 8 * _UNIT * math.log2(cells)
    for step, count in zip(steps, counts, strict=True):
        log_total = log_sum_exp(step.log_mass)
        weights = np.exp(step.log_mass - log_total)
        multiples = np.rint(step.losses / spacing).astype(np.int64)
        middle = round(float(weights @ multiples))  # keeps the phases small
        law = np.bincount((multiples - middle) % cells, weights=weights, minlength=cells)
        transform = scipy.fft.rfft(law)
        error = fft_error * math.sqrt(cells * float(np.square(law).sum()))
        transforms.append(transform)
        errors.append(error)
        log_sizes.append(np.log(np.abs(transform) + error))
        offset += count * middle
        log_scale += count * log_total
    log_size = np.sum([count * size for count, size in zip(counts, log_sizes, strict=True)], axis=0)
    summed = scipy.fft.irfft(_power(transforms, counts, log_size > _NOTHING), cells)
    from_transforms = sum(
        count * error * _norm(np.exp(log_size - size))
        for count, error, size in zip(counts, errors, log_sizes, strict=True)
    )
    sizes = np.exp(log_size)
    from_power = 20 * _UNIT * sum(counts) * 2 * float(sizes.sum())
    rounding = (from_transforms + from_power) / cells + fft_error * _norm(sizes) / math.sqrt(cells)
    rounding += math.exp(_NOTHING)
    return np.maximum(np.roll(summed, (offset - first) % cells) + rounding, 0.0), log_scale


def _power(transforms: Sequence[Spectrum], counts: Sequence[int], where: npt.NDArray[np.bool_]) -> Spectrum:
    """Product of the transforms, each to the power of its count, at the frequencies that matter."""
    log_size, angle = np.zeros(np.count_nonzero(where)), np.zeros(np.count_nonzero(where))
    for count, transform in zip(counts, transforms, strict=True):
        at = transform[where]
        log_size += count * np.log(np.abs(at) + 1e-300)
        angle += count * np.angle(at)
    product = np.zeros(where.size, complex)
    product[where] = np.exp(log_size) * np.exp(1j * angle)
    return product


def _norm(half: Array) -> float:
    """Euclidean norm of a spectrum of which the other half is the mirror image, from above."""
    return math.sqrt(2 * float(np.square(half).sum()))

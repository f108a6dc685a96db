"""The law of a sum of many independent steps, by FFT, with a bound of its rounding."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used

from vips_core.kernels import Array
from vips_core.privacy.losses import Side, log_sum_exp

Complex = npt.NDArray[np.complex128]

_UNIT = 2.0**-53  # rounding of one operation
_NOTHING = -60.0  # log of a size in the spectrum that counts as 0: even in all cells it is far below rounding


@dataclass(frozen=True)
class Law:
    """The law of a sum on `cells` cells, of mass 1: its spectrum at the frequencies that matter.

    The spectrum of many steps is narrow: a few hundred frequencies may say all about 10⁵ cells. With X the
    transform of a step's law f and e its error, |(X + e)ᵀ − Xᵀ| ≤ T·|e|·(|X| + |e|)ᵀ⁻¹, and
    ‖e‖₂ ≤ 8u·log₂n·√n·‖f‖₂ for n cells and unit rounding u (Higham 2002, Theorem 24.2). The power itself,
    exp(T·log X), errs by less than 20u·T. Mass that leaves the cells on one side comes in again on the other:
    it is never lost.

    Attributes
    ----------
    cells
        Their number, a power of two.
    log_scale
        Log of what the steps' masses multiply to.
    frequency, value
        Where the spectrum matters, from 0 to half the cells, and what it is there.
    sensitivity
        Of each step: count·‖e‖₂·(|X| + |e|)ᵀ⁻¹ times the other steps' sizes, at these frequencies.
    steps
        The number of all steps, T.
    """

    cells: int
    log_scale: float
    frequency: npt.NDArray[np.int64]
    value: Complex
    sensitivity: Sequence[Array]
    steps: int

    def mass(self) -> Array:
        """Mass of every cell, raised by a bound of what rounding can have taken from it.

        Cauchy and Schwarz bound what the inverse transform makes of the errors.
        """
        spectrum = np.zeros(self.cells // 2 + 1, complex)
        spectrum[self.frequency] = self.value
        backwards = 8 * _UNIT * math.log2(self.cells) * math.sqrt(2 * self.cells * _square(self.value))
        rounding = (self._doubt(np.ones(self.value.size)) + backwards) / self.cells + math.exp(_NOTHING)
        mass: Array = np.maximum(scipy.fft.irfft(spectrum, self.cells) + rounding, 0.0)
        return mass

    def excess(self, decay: float, step: float) -> Callable[[int], float]:
        """Σ mass·e^{−decay·k}·(1 − e^{−step·k}) over the cells from some start on, k = 0, 1, …, from above.

        Each frequency ω has two geometric sums, (1 − aⁿ)/(1 − a) with a = e^{iω − decay} and the one that
        decays faster. At their ends all frequencies are in phase again; phases at the start are reduced in
        whole numbers, so they are exact.
        """
        turn = 2j * np.pi / self.cells
        slow, fast = (-1 / np.expm1(turn * self.frequency - each) for each in (decay, decay + step))
        apart = -math.expm1(-step) * np.exp(turn * self.frequency - decay) * slow * fast  # slow − fast
        ends: list[float] = [(self._twice * (self.value * each).real).sum() for each in (slow, fast)]
        begin = self._twice * self.value * apart
        begin_doubt = self._doubt(np.abs(apart)) + self.cells * math.exp(_NOTHING) * abs(apart[0])
        end_doubt = self._doubt(np.abs(slow) + np.abs(fast))

        def above(start: int) -> float:
            left = self.cells - start
            begun = float((np.exp(turn * (self.frequency * start % self.cells)) * begin).real.sum())
            ended = ends[0] - ends[1] * math.exp(-step * left)
            total: float = begun + begin_doubt + (end_doubt - ended) * math.exp(-decay * left)
            return max(total, 0.0) / self.cells

        return above

    @functools.cached_property
    def _twice(self) -> Array:
        """How often a frequency counts: with its mirror image, if it has one."""
        return np.where((self.frequency == 0) | (2 * self.frequency == self.cells), 1.0, 2.0)

    def _doubt(self, weight: Array) -> float:
        """Bound of the error of Σ value·weight over all frequencies that matter, with weights up to these.

        Products, phases and NumPy's pairwise sum add less than 60u to what the power errs by.
        """
        from_transforms = sum(math.sqrt(2 * _square(each * weight)) for each in self.sensitivity)
        size = float((np.abs(self.value) * weight).sum())
        return from_transforms + 20 * _UNIT * (self.steps + 3) * 2 * size


def convolve(steps: Sequence[Side], counts: Sequence[int], spacing: float, first: int, cells: int) -> Law:
    """Law of the sum of `counts` of each step on the cells from `first` on.

    Parameters
    ----------
    steps
        Losses at multiples of `spacing` with logs of mass, tilted so that the sum centres on the window. An
        FFT errs by about 1e-16 of the largest value anywhere, which without a tilt would drown a small δ.
    counts
        How often each step happens.
    spacing, first, cells
        The window: `cells` (a power of two) multiples of `spacing`, from `first`·`spacing` on.
    """
    transforms: list[Complex] = []
    errors: list[float] = []
    log_size, offset, log_scale = np.zeros(cells // 2 + 1), -first, 0.0
    for step, count in zip(steps, counts, strict=True):
        log_total = log_sum_exp(step.log_mass)
        weights = np.exp(step.log_mass - log_total)
        multiples = np.rint(step.losses / spacing).astype(np.int64)
        middle = round(float((weights * multiples).sum()))  # keeps the phases small
        law = np.bincount((multiples - middle) % cells, weights=weights, minlength=cells)
        transforms.append(scipy.fft.rfft(law))
        errors.append(8 * _UNIT * math.log2(cells) * math.sqrt(cells * _square(law)))
        log_size += count * np.log(np.abs(transforms[-1]) + errors[-1])
        offset += count * middle
        log_scale += count * log_total
    (frequency,) = np.nonzero(log_size > _NOTHING)
    log_size = log_size[frequency]
    log_value = -2j * np.pi / cells * (frequency * (offset % cells) % cells)
    sensitivity = []
    for transform, error, count in zip(transforms, errors, counts, strict=True):
        at = transform[frequency]
        log_value += count * (np.log(np.abs(at) + 1e-300) + 1j * np.angle(at))
        sensitivity.append(count * error * np.exp(log_size - np.log(np.abs(at) + error)))
    return Law(cells, log_scale, frequency, np.exp(log_value), sensitivity, sum(counts))


def _square(values: npt.NDArray[np.number]) -> float:
    """Sum of the squares of sizes, without the threads of BLAS: they keep cores busy after they are done."""
    return float((values * values.conj()).real.sum())

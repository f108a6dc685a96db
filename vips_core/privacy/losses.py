"""The privacy loss of one step on a set of dots, and the sum over many steps: quantiles, and its law by FFT.

A step releases a draw from P = (1 − q)·N(0, σ²) + q·N(1, σ²) with the person, and from Q = N(0, σ²) without.
The loss at z is x = log dP/dQ = log(1 − q + q·e^w) with w = (z − ½)/σ², which rises in z. The mass between
two dots is divided between them so that its P-mass *and* its Q-mass are preserved ("connect the dots":
Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). This spreads the likelihood ratio without changing its
mean, so the pair on the dots dominates (Blackwell), in both directions and under any composition.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used
from numba import njit
from scipy.special import erfcx, ndtr

from vips_core.kernels import Array

_ROUNDING = 8 * 2.0**-53  # relative rounding of the few operations on a cell's masses, rounded up


@dataclass(frozen=True)
class Side:
    """One direction: finite losses in any order, the log of their masses, and the mass at +∞."""

    losses: Array
    log_mass: Array
    infinite: float


def dots(rate: float, noise: float, reach: float, per_std: int) -> Array:
    """Return losses up to `reach` standard deviations from the means of P and Q, `per_std` dots in each."""
    steps = np.linspace(-reach, reach, math.ceil(2 * reach * per_std) + 1) * noise
    z = np.unique(np.concatenate([steps, steps + 1]))
    return np.unique(_loss(rate, (z - 0.5) / noise**2))


def dots_between(sketch: Side, order: float, least: float, most: int) -> Array:
    """Return dots between those of a sketch, in rising order of log dP/dQ, at most about `most`.

    Mass m between dots h apart adds about m·h² to the variance of a step. The fewest dots that add a given
    amount are proportional to (gap/m)^⅓ apart, with the mass tilted to where it determines ε. Together they
    add a third of the variance that dots `least` apart would add. Where there is hardly any mass, four dots
    are put between two.
    """
    x = sketch.losses if sketch.losses[-1] > sketch.losses[0] else -sketch.losses
    tilted = sketch.log_mass + order * sketch.losses
    mass = np.exp(tilted - log_sum_exp(tilted))
    gaps, mass = np.diff(x), (mass[1:] + mass[:-1]) / 2 + 1e-300
    spread = mass ** (1 / 3) * gaps ** (2 / 3)
    unit = max(least * math.sqrt(1 / 3 / spread.sum()), spread.sum() / most)
    apart = np.maximum(unit * (gaps / mass) ** (1 / 3), least)
    parts = np.maximum(np.ceil(gaps / apart), 5)
    ends = np.append(0.0, np.cumsum(parts))
    return np.interp(np.arange(ends[-1] + 1), ends, x)


def connect(rate: float, noise: float, x: Array) -> tuple[Side, Side]:
    """Return the loss of P against Q and of Q against P on rising dots x.

    Only the first dot may lie below the least loss. Mass below the first dot is moved up to it, and mass
    above the last dot to infinity: both can only raise ε.
    """
    w = _log_ratio(rate, x)
    z = noise**2 * w + 0.5
    masses0, tails0 = _cells(z / noise)
    masses1, tails1 = _cells((z - 1) / noise)
    scaled0, scales = _scaled_cells(rate, noise, x, w, z, masses0)

    p_mass = (1 - rate) * masses0 + rate * masses1
    doubt = _ROUNDING * (1 + np.abs(np.where(w > -np.inf, w, 0.0)[:-1])) * (tails1 + scales)
    upper = np.clip(rate * (masses1 - scaled0 + doubt) / -np.expm1(-np.diff(x)), 0.0, p_mass)
    mass = np.append(p_mass - upper, 0.0) + np.append(0.0, upper)
    with np.errstate(divide="ignore"):
        log_mass = np.log(mass)
    edge0, edge1 = z[[0, -1]] / noise, (z[[0, -1]] - 1) / noise
    above = (1 - rate) * ndtr(-edge0[1]) + rate * ndtr(-edge1[1])
    below = (1 - rate) * ndtr(edge0[0]) + rate * ndtr(edge1[0])
    present = Side(x, np.logaddexp(log_mass, _log_at(0, below, x.size)), float(above))
    if rate == 1:  # a Gaussian is its own mirror image
        return present, present
    absent = Side(-x, np.logaddexp(log_mass - x, _log_at(-1, ndtr(-edge0[1]), x.size)), float(ndtr(edge0[0])))
    return present, absent


def _cells(t: Array) -> tuple[Array, Array]:
    """Return the normal mass between neighbours from the tail with less cancellation, and that tail."""
    right = t[:-1] > 0
    lower, upper = ndtr(t), ndtr(-t)
    mass = np.where(right, upper[:-1] - upper[1:], lower[1:] - lower[:-1])
    return np.maximum(mass, 0.0), np.where(right, upper[:-1], lower[1:])


def _scaled_cells(
    rate: float, noise: float, x: Array, w: Array, z: Array, masses0: Array
) -> tuple[Array, Array]:
    """Return the cells' mass under N(0, σ²) times e^w at their lower dot, and the size of the terms.

    For z > 0 it is computed by e^w·φ(z/σ) = φ((z − 1)/σ), because e^w overflows where the mass underflows.
    Below the least loss, log(1 − q), e^w stands for (e^x − 1 + q)/q < 0.
    """
    positive = np.maximum(z, 0.0)
    shifted = 0.5 * erfcx(positive / (noise * math.sqrt(2))) * np.exp(-0.5 * ((positive - 1) / noise) ** 2)
    ratio = np.where(w > -np.inf, np.exp(np.minimum(w, 0.0)), 1 + np.expm1(np.minimum(x, 0.0)) / rate)[:-1]
    right = z[:-1] > 0
    with np.errstate(invalid="ignore"):
        from_right = shifted[:-1] - np.exp(-np.diff(w)) * shifted[1:]
    scaled = np.where(right, from_right, ratio * masses0)
    return scaled, np.where(right, shifted[:-1], np.abs(scaled))


def _loss(rate: float, w: Array) -> Array:
    """Return log(1 − q + q·e^w)."""
    if rate == 1:
        return w
    small = np.log1p(rate * np.expm1(np.minimum(w, 30.0)))
    return np.where(w > 30, np.logaddexp(math.log1p(-rate), math.log(rate) + w), small)


def _log_ratio(rate: float, x: Array) -> Array:
    """Return the w whose loss is x; −∞ at or below log(1 − q)."""
    if rate == 1:
        return x
    with np.errstate(divide="ignore"):
        small = np.log1p(np.maximum(np.expm1(np.minimum(x, 30.0)) / rate, -1.0))
    large = x - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-np.maximum(x, 30.0)))
    return np.where(x > 30, large, small)


def log_sum_exp(terms: Array) -> float:
    """Return log Σ e^term (faster than SciPy's, which is more general)."""
    largest = float(terms.max())
    return largest + math.log(np.exp(terms - largest).sum())


def _log_at(index: int, mass: float, size: int) -> Array:
    """Return the logs of a law with all its mass at one index."""
    logs = np.full(size, -np.inf)
    logs[index] = math.log(mass) if mass > 0 else -np.inf
    return logs


# −log of the share of δ that may lie beyond the window: e^−18 = 1.5e-8 of δ, which is added to δ(ε).
OUTSIDE = 18.0
_HALVINGS = 13  # bisections of the log of Chernoff's exponent, which give 0.5 %; any exponent is valid


@dataclass(frozen=True)
class Sum:
    """The loss of the whole composition in one direction: the loss of each step, `counts` times."""

    steps: Sequence[Side]
    counts: Sequence[int]

    def cumulant(self, theta: float) -> tuple[float, float]:
        """Return K(θ) = log E e^{θ·loss}, and K′(θ)."""
        value, slope = 0.0, 0.0
        for step, count in zip(self.steps, self.counts, strict=True):
            of_steps = _cumulant(step.losses, step.log_mass, float(count), theta)
            value, slope = value + of_steps[0], slope + of_steps[1]
        return value, slope

    @functools.cached_property
    def scale(self) -> float:
        """|Mean| plus the root of the summed second moments, the scale of the search for exponents."""
        shares = [np.exp(step.log_mass) * step.losses for step in self.steps]
        means = [float(share.sum()) for share in shares]
        squares = [float((share * step.losses).sum()) for share, step in zip(shares, self.steps, strict=True)]
        mean, square = np.dot(self.counts, means), np.dot(self.counts, squares)
        return float(abs(mean) + math.sqrt(square)) or 1.0

    def quantile(self, log_inverse: float, tilt: float = 0.0, sign: int = 1) -> tuple[float, float]:
        """Return the exponent t of Chernoff's bound on a quantile of sign·loss under a tilt, and the bound.

        With K of the tilted loss, the bound is the least (K(t) + log 1/p)/t. At its minimum, t·K′(t) − K(t),
        which rises in t, equals log 1/p. t is limited so that K, a difference of numbers of size t·scale,
        keeps ten digits.
        """
        least, most = 1e-9 / self.scale, 1e6 / self.scale
        untilted, _ = self.cumulant(tilt)
        t = math.sqrt(least * most)
        for _ in range(_HALVINGS):
            value, slope = self.cumulant(tilt + sign * t)
            if t * sign * slope - (value - untilted) < log_inverse:
                least = t
            else:
                most = t
            t = math.sqrt(least * most)
        return t, (self.cumulant(tilt + sign * t)[0] - untilted + log_inverse) / t

    def window(self, delta: float, theta: float) -> tuple[float, float, float]:
        """Return the ends of a window that is precise where δ(ε) is about `delta`, and its upper exponent.

        A loss x beyond the upper end wraps around to x − width, its mass multiplied by e^{θ·width}. The
        window is wide enough that little mass wraps around to losses above ε ≥ max(0, low).
        """
        small = OUTSIDE - math.log(delta)
        low = -self.quantile(OUTSIDE, theta, -1)[1]
        least = max(0.0, low)
        width = self.quantile(small + self.cumulant(theta)[0] - theta * least, theta)[1] - least
        far, high = self.quantile(small)
        return low, max(high, low + width), far


@njit(nogil=True, cache=True)
def _cumulant(losses: Array, log_mass: Array, count: float, theta: float) -> tuple[float, float]:
    """Return K(θ) of the sum of `count` equal steps, and K′(θ)."""
    peak = -math.inf
    for i in range(losses.size):
        peak = max(peak, log_mass[i] + theta * losses[i])
    mass, moment = 0.0, 0.0
    for i in range(losses.size):
        weight = math.exp(log_mass[i] + theta * losses[i] - peak)
        mass += weight
        moment += weight * losses[i]
    return count * (peak + math.log(mass)), count * moment / mass


Complex = npt.NDArray[np.complex128]

_UNIT = 2.0**-53  # relative rounding of one operation
# Log of a spectral size that counts as 0: e^−60 in each of 2²⁰ cells is far below rounding, and is added.
_NOTHING = -60.0


@dataclass(frozen=True)
class Law:
    """The law of a sum on `cells` cells, of mass 1, as its spectrum at the frequencies that matter.

    The spectrum of many steps is narrow: a few hundred frequencies may determine 10⁵ cells. With X the
    transform of a step's law f and e its error, |(X + e)ᵀ − Xᵀ| ≤ T·|e|·(|X| + |e|)ᵀ⁻¹, and
    ‖e‖₂ ≤ 8u·log₂n·√n·‖f‖₂ for n cells and unit rounding u (Higham 2002, Theorem 24.2). The power itself,
    exp(T·log X), has an error below 20u·T. Mass that leaves the cells on one side wraps around to the other
    side, so none is lost.

    Attributes
    ----------
    cells
        Number of cells, a power of two.
    log_scale
        Log of the product of the steps' total masses.
    frequency, value
        Frequencies that matter, from 0 to half the cells, and the spectrum there.
    sensitivity
        For each step, count·‖e‖₂·(|X| + |e|)ᵀ⁻¹ times the other steps' sizes, at these frequencies.
    steps
        T, the number of all steps.
    """

    cells: int
    log_scale: float
    frequency: npt.NDArray[np.int64]
    value: Complex
    sensitivity: Sequence[Array]
    steps: int

    def mass(self) -> Array:
        """Return the mass of every cell, raised by a bound on its rounding error.

        The Cauchy–Schwarz inequality bounds the errors after the inverse transform.
        """
        spectrum = np.zeros(self.cells // 2 + 1, complex)
        spectrum[self.frequency] = self.value
        backwards = 8 * _UNIT * math.log2(self.cells) * math.sqrt(2 * self.cells * _square(self.value))
        rounding = (self._doubt(np.ones(self.value.size)) + backwards) / self.cells + math.exp(_NOTHING)
        return np.asarray(np.maximum(scipy.fft.irfft(spectrum, self.cells) + rounding, 0.0))

    def excess(self, decay: float, step: float) -> Callable[[int], float]:
        """Return a function of a start: Σ mass·e^{−decay·k}·(1 − e^{−step·k}) over k = 0, 1, …, from above.

        k counts the cells from the start on. Each frequency ω has two geometric sums, (1 − aⁿ)/(1 − a) with
        a = e^{iω − decay}, and another that decays faster. At their ends all frequencies are in phase again;
        phases at the start are reduced in whole numbers, so they are exact.
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
            total = begun + begin_doubt + (end_doubt - ended) * math.exp(-decay * left)
            return float(max(total, 0.0) / self.cells)

        return above

    @functools.cached_property
    def _twice(self) -> Array:
        """Multiplicity of each frequency: 2 if it has a mirror image, otherwise 1."""
        return np.where((self.frequency == 0) | (2 * self.frequency == self.cells), 1.0, 2.0)

    def _doubt(self, weight: Array) -> float:
        """Return a bound on the error of Σ value·weight over the frequencies that matter.

        Products, phases and NumPy's pairwise sum add less than 60u to the error of the power.
        """
        from_transforms = sum(math.sqrt(2 * _square(each * weight)) for each in self.sensitivity)
        size = float((np.abs(self.value) * weight).sum())
        return from_transforms + 20 * _UNIT * (self.steps + 3) * 2 * size


def convolve(steps: Sequence[Side], counts: Sequence[int], spacing: float, first: int, cells: int) -> Law:
    """Return the law of the sum of `counts` of each step on the cells from `first` on.

    Parameters
    ----------
    steps
        Losses at multiples of `spacing` with logs of mass, tilted so that the sum centres on the window. An
        FFT's error everywhere is about 1e-16 of the largest value; without a tilt it would exceed a small δ.
    counts
        Number of times each step is taken.
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
    """Return the sum of squared sizes without BLAS, whose threads keep cores busy afterwards."""
    return float((values * values.conj()).real.sum())

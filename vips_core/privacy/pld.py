"""Tight accounting by privacy loss distributions that never fall below the truth.

The losses of independent steps add up, so the loss of the whole has their convolution as its law (Sommer,
Meiser and Mohammadi 2019; Koskela, Jälkö and Honkela 2020). `losses` has the law of one step, `convolution`
that of the sum; here the grid is chosen, and δ(ε) and ε(δ) are read off.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used
from scipy.special import ndtri

from vips_core.privacy import gaussian, moments
from vips_core.privacy.convolution import convolve
from vips_core.privacy.events import SampledGaussian, join_full_batches
from vips_core.privacy.losses import Side, connect, dots, log_sum_exp

Array = npt.NDArray[np.float64]

_LEAST_CELLS, _MOST_CELLS = 2**13, 2**18  # bound memory and time; a coarser grid is looser, never unsound
_MOST_WORK = 2**20  # cells times different steps
_TOLERANCE = 2e-4  # what the grid may add to ε, relatively, while there are cells
_OUTSIDE = 14.0  # −log of the share of δ that may lie beyond the window
_MOST_STEPS = 10**8  # beyond, what rounding does to one step could add up to something
_DOTS_PER_STD, _FEW_DOTS_PER_STD = 50, 10
_TILT = 2 / 3  # of Chernoff's exponent, which would centre rare large losses: they lie far above ε
_SMALL_DELTA = 1e-10  # of the attack risk's profile, which needs no tilt


def epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """ε of the composition; exact for full batches, which are one Gaussian.

    In extreme plans the grid is coarse; RDP is valid too, so the smaller of the two counts.
    """
    joined = join_full_batches(events)
    if len(joined) == 1 and joined[0].sampling_rate == 1:
        return float(gaussian.epsilon(1 / joined[0].noise_multiplier, delta))
    return min(_tight_epsilon(tuple(joined), delta), moments.rdp_epsilon(events, delta)[0])


def deltas(events: Sequence[SampledGaussian], epsilons: Array) -> Array:
    """δ at each ε ≥ 0: from above, by 1e-10 for a few steps and 1e-4 for ten million."""
    joined = tuple(join_full_batches(events))
    if len(joined) == 1 and joined[0].sampling_rate == 1:
        return gaussian.delta(epsilons, 1 / joined[0].noise_multiplier)
    if sum(event.count for event in joined) > _MOST_STEPS:
        return np.ones_like(epsilons)
    sketches = _on_dots(joined, _SMALL_DELTA)
    directions = [_compose(joined, sketches, way, _SMALL_DELTA, tilt=0.0).deltas(epsilons) for way in (0, 1)]
    return np.minimum(np.maximum(*directions), 1.0)


@functools.lru_cache(maxsize=256)
def _tight_epsilon(events: tuple[SampledGaussian, ...], delta: float) -> float:
    """ε of the worse direction: the person present against absent, or the reverse."""
    if sum(event.count for event in events) > _MOST_STEPS:
        return math.inf
    sketches, worse = _on_dots(events, delta), 0.0
    for way in (0, 1):
        if sketches[way].quantile(-math.log(delta))[1] > worse:  # Chernoff's bound of ε
            worse = max(worse, _compose(events, sketches, way, delta, _TILT).epsilon(delta))
    return worse


@dataclass(frozen=True)
class _Whole:
    """The composition's loss: `mass[i]` at (`first` + i)·`spacing`, and what may lie beyond the window."""

    first: int
    spacing: float
    mass: Array
    beyond: float

    @functools.cached_property
    def _profile(self) -> tuple[Array, Array, Array]:
        """At each loss ε ≥ 0 of the window: ε, δ(ε), and Σ mass·e^{ε − x} over losses x ≥ ε.

        δ(ε) = Σ mass·(1 − e^{ε − x}) over x > ε, as sums of positive terms from the right.
        """
        start = min(max(0, -self.first), self.mass.size - 1)
        x: Array = (self.first + np.arange(start, self.mass.size, dtype=float)) * self.spacing
        from_right = scipy.signal.lfilter([1.0], [1.0, -math.exp(-self.spacing)], self.mass[start:][::-1])
        after = np.append(0.0, np.cumsum(from_right[:-1]))
        return x, (self.beyond - math.expm1(-self.spacing) * after)[::-1], from_right[::-1]

    def epsilon(self, delta: float) -> float:
        """Smallest ε ≥ 0 with δ(ε) ≤ `delta`; between dots δ is linear in e^ε."""
        x, profile, weighed = self._profile
        at = int(np.searchsorted(-profile, -delta))
        if at == x.size:
            return math.inf
        if at == 0:
            return float(x[0])
        room = (delta - profile[at]) / weighed[at]  # what is left of e^{ε − x} − 1
        return max(float(x[at - 1]), float(x[at]) + (math.log1p(-room) if room < 1 else -math.inf))

    def deltas(self, epsilons: Array) -> Array:
        """δ at each ε ≥ 0; 1 below the window."""
        x, profile, _ = self._profile
        largest = 700.0  # e^ε is finite
        grid = np.exp(np.minimum(x, largest))
        return np.interp(np.exp(np.minimum(epsilons, largest)), grid, profile, left=1.0)


@dataclass(frozen=True)
class _Sum:
    """The loss of the whole as a sum of `counts` of each step, in one direction."""

    steps: Sequence[Side]
    counts: Sequence[int]

    def cumulant(self, theta: float) -> float:
        """log E e^{θ·loss}."""
        logs = (log_sum_exp(step.log_mass + theta * step.losses) for step in self.steps)
        return float(sum(count * log for count, log in zip(self.counts, logs, strict=True)))

    @functools.cached_property
    def scale(self) -> float:
        """Mean and standard deviation, by size: the unit of what may be expected of the loss."""
        masses = [np.exp(step.log_mass) for step in self.steps]
        means = [float(mass @ step.losses) for mass, step in zip(masses, self.steps, strict=True)]
        squares = [float(mass @ step.losses**2) for mass, step in zip(masses, self.steps, strict=True)]
        mean, square = np.dot(self.counts, means), np.dot(self.counts, squares)
        return float(abs(mean) + math.sqrt(square)) or 1.0

    def quantile(self, log_inverse: float, tilt: float = 0.0, sign: int = 1) -> tuple[float, float]:
        """Chernoff's bound of a quantile of sign·loss under a tilt: the t with the least (K(t) + log 1/p)/t.

        t is limited so that K, a difference of numbers of size t·scale, keeps ten digits.
        """

        def bound(log_t: float) -> float:
            t = math.exp(log_t)
            return (self.cumulant(tilt + sign * t) - untilted + log_inverse) / t

        untilted = self.cumulant(tilt)
        unit = math.log(self.scale)
        widest = (math.log(1e-9) - unit, math.log(1e6) - unit)
        minimum = scipy.optimize.minimize_scalar(
            bound, bounds=widest, method="bounded", options={"xatol": 1e-2}
        )
        return math.exp(minimum.x), float(minimum.fun)

    def window(self, delta: float, tilt: float) -> tuple[float, float, float, float]:
        """Tilt θ, the ends of a window that is precise where δ(ε) is about `delta`, and its end's exponent.

        θ is a share of Chernoff's. A loss x beyond the upper end comes in again at x − width, enlarged by
        e^{θ·width}: even so, what comes in above ε ≥ max(0, low) has to be small.
        """
        small = _OUTSIDE - math.log(delta)
        theta = tilt * self.quantile(-math.log(delta))[0]
        low = -self.quantile(_OUTSIDE, theta, -1)[1]
        least = max(0.0, low)
        width = self.quantile(small + self.cumulant(theta) - theta * least, theta)[1] - least
        far, high = self.quantile(small)
        return theta, low, max(high, low + width), far


def _on_dots(events: tuple[SampledGaussian, ...], delta: float, spacing: float = 0.0) -> tuple[_Sum, _Sum]:
    """Both directions, with steps on multiples of `spacing`; 0 for a sketch on fewer dots, anywhere."""
    counts = [event.count for event in events]
    reach = -float(ndtri(max(delta * math.exp(-_OUTSIDE) / sum(counts), 1e-300)))
    ways: tuple[list[Side], list[Side]] = [], []
    for event in events:
        rate, noise = event.sampling_rate, event.noise_multiplier
        x = dots(rate, noise, reach, _DOTS_PER_STD if spacing else _FEW_DOTS_PER_STD)
        if spacing:
            near = x / spacing
            ends = [math.floor(near[0]), math.ceil(near[-1]) + 1]
            x = np.unique(np.concatenate([np.rint(near), ends])) * spacing
        for way, side in zip(ways, connect(rate, noise, x), strict=True):
            way.append(side)
    return _Sum(ways[0], counts), _Sum(ways[1], counts)


def _compose(
    events: tuple[SampledGaussian, ...], sketches: tuple[_Sum, _Sum], way: int, delta: float, tilt: float
) -> _Whole:
    """Law of the whole loss in way 0 (P against Q) or 1, precise where δ(ε) is about `delta`."""
    spacing = _spacing(sketches[way], delta, tilt)
    total = _on_dots(events, delta, spacing)[way]
    theta, low, high, far = total.window(delta, tilt)
    first = math.floor(low / spacing)
    cells = _cells((high - low) / spacing + 2, 2 * _MOST_CELLS)
    tilted = [Side(s.losses, s.log_mass + theta * s.losses, s.infinite) for s in total.steps]
    mass, log_scale = convolve(tilted, total.counts, spacing, first, cells)
    x = (first + np.arange(cells)) * spacing
    mass = mass * np.exp(np.minimum(log_scale - theta * x, 600.0))  # a δ near e^600 is above 1 anyway
    log_tail = total.cumulant(far) - far * (first + cells) * spacing  # Chernoff
    infinite = sum(count * step.infinite for count, step in zip(total.counts, total.steps, strict=True))
    return _Whole(first, spacing, mass, math.exp(min(log_tail, 0.0)) + infinite)


def _spacing(sketch: _Sum, delta: float, tilt: float) -> float:
    """Spacing that adds about `_TOLERANCE` to ε, or as fine as the cells allow.

    Dividing a mass between dots a small d apart raises log E e^{θ·loss} by θ(θ + 1)·d²/12 on average.
    """
    order, bound = sketch.quantile(-math.log(delta))
    _, low, high, _ = sketch.window(delta, tilt)
    ideal = math.sqrt(12 * _TOLERANCE * max(bound, 1e-300) / ((order + 1) * sum(sketch.counts)))
    width = 1.02 * (high - low)  # on the grid the window will be a little wider
    largest = max(float(np.abs(step.losses).max()) for step in sketch.steps)
    finest = max(1e-9 * max(abs(low), abs(high)), 1e-12 * largest)
    most = min(_MOST_CELLS, max(_LEAST_CELLS, _MOST_WORK // len(sketch.counts)))
    return max(width / (_cells(width / ideal, most) - 2), finest)


def _cells(wanted: float, most: int) -> int:
    """Return the power of two above what is wanted, or the last one up to `most`."""
    return int(2 ** min(math.ceil(math.log2(max(wanted, _LEAST_CELLS))), math.floor(math.log2(most))))

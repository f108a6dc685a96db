"""Tight accounting by privacy loss distributions (PLD), with ε and δ from above.

The losses of independent steps add up, so the law of the total loss is the convolution of their laws (Sommer,
Meiser and Mohammadi 2019; Koskela, Jälkö and Honkela 2020). `losses` computes the laws of one step and of the
sum, and bounds on its quantiles; this module chooses the grid and computes δ(ε) and ε(δ).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used
from numba import njit
from scipy.special import ndtri

from vips_core.kernels import Array
from vips_core.privacy import gaussian, moments
from vips_core.privacy.events import SampledGaussian, chance_to_be_drawn, join_full_batches
from vips_core.privacy.losses import OUTSIDE, Law, Side, Sum, connect, convolve, dots, dots_between

# Three limits that bound memory and time: a coarser grid or fewer dots make ε looser, never unsound.
_LEAST_CELLS, _MOST_CELLS = 2**13, 2**19  # cells of the grid
_MOST_WORK = 2**20  # cells times different steps: the memory of all transforms together
_MOST_DOTS = 2**15  # dots of one step's law
_SPACING = 0.8e-4  # largest distance of two losses on the grid, if the cells suffice
_TOLERANCE = 2e-4  # largest relative increase of ε by the grid, if the cells suffice
_ROUGHLY = 5e-3  # the same for a direction that is computed roughly first, to rule it out
_MOST_STEPS = 10**8  # steps above which RDP is used, because the rounding of one step could add up
_MANY_STEPS = 10**5  # steps above which RDP's ε may be smaller, because of the bound on rounding
_FEW_DOTS_PER_STD = 10  # dots per standard deviation of the sketch that finds the window
_TILT = 2 / 3  # tilt over Chernoff's exponent; 1 would centre the window on rare losses far above ε
_SMALL_DELTA = 1e-10  # least δ at which the attack risk's profile is precise without a tilt


def epsilon(events: Sequence[SampledGaussian], delta: float) -> float:
    """Return ε of the composition; exact for full batches, which compose to one Gaussian."""
    joined = join_full_batches(events)
    if len(joined) == 1 and joined[0].sampling_rate == 1:
        return float(gaussian.epsilon(1 / joined[0].noise_multiplier, delta))
    return 0.0 if chance_to_be_drawn(joined) <= delta else _tight_epsilon(tuple(joined), delta)


def deltas(events: Sequence[SampledGaussian], epsilons: Array) -> Array:
    """Return δ at each ε from 0 to 600, from above: 1e-9 too large for few steps, 1e-4 for ten million."""
    joined = tuple(join_full_batches(events))
    if len(joined) == 1 and joined[0].sampling_rate == 1:
        return gaussian.delta(epsilons, 1 / joined[0].noise_multiplier)
    if sum(event.count for event in joined) > _MOST_STEPS:
        return np.ones_like(epsilons)
    directions = _directions(joined, _SMALL_DELTA, tilt=0.0)
    return np.minimum(np.maximum(*(each.delta(epsilons) for each in directions)), chance_to_be_drawn(joined))


def tail(events: Sequence[SampledGaussian], least: float) -> tuple[Array, Array]:
    """Return ε from 0 to where δ falls to `least`, and δ from above, precise also where it is small.

    At least one event must be sampled. ε ends at 600, or earlier if rounding keeps δ above `least`.
    """
    joined = tuple(join_full_batches(events))
    if sum(event.count for event in joined) > _MOST_STEPS:
        return np.zeros(1), np.ones(1)
    directions = _directions(joined, least, _TILT)
    epsilons = np.linspace(0, max(each.end(least) for each in directions), 2000)
    delta = np.maximum(*(each.delta(epsilons) for each in directions))
    return epsilons, np.minimum(delta, chance_to_be_drawn(joined))


def _directions(events: tuple[SampledGaussian, ...], least: float, tilt: float) -> list["_Whole"]:
    sketches = _sketches(events, least)
    return [_compose(events, each, least, _TOLERANCE, math.inf, tilt) for each in sketches]


@functools.lru_cache(maxsize=256)
def _tight_epsilon(events: tuple[SampledGaussian, ...], delta: float) -> float:
    """Return ε of the worse direction: the person present against absent or, rarely, the reverse.

    The second direction is computed only if cheaper bounds do not rule it out. In extreme plans the grid is
    too coarse, or rounding too large; RDP is valid too, so the smaller ε is returned.
    """
    steps = sum(event.count for event in events)
    if steps > _MOST_STEPS:
        return moments.rdp_epsilon(events, delta)
    present, absent = _sketches(events, delta)
    whole = _compose(events, present, delta, _TOLERANCE, _SPACING)
    worse, coarse = whole.epsilon(delta), whole.coarse
    if absent.quantile(-math.log(delta))[1] > worse:  # Chernoff's bound of ε
        if _compose(events, absent, delta, _ROUGHLY, math.inf).epsilon(delta) > worse:
            whole = _compose(events, absent, delta, _TOLERANCE, _SPACING)
            worse, coarse = max(worse, whole.epsilon(delta)), coarse or whole.coarse
    if coarse or steps > _MANY_STEPS or math.isinf(worse):
        return min(worse, moments.rdp_epsilon(events, delta))
    return worse


@dataclass(frozen=True)
class _Whole:
    """The composition's loss: cell i of `law`, tilted by e^{θ·loss}, lies at (`first` + i)·`spacing`.

    `beyond` bounds the mass beyond the window; `coarse` tells whether the grid needed more cells.
    """

    law: Law
    theta: float
    first: int
    spacing: float
    beyond: float
    coarse: bool

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε ≥ 0 with δ(ε) ≤ `delta`; between dots δ is linear in e^ε."""
        start, last = min(max(0, -self.first), self.law.cells - 1), self.law.cells - 1
        above = self.law.excess(self.theta * self.spacing, self.spacing)

        @functools.cache
        def at(cell: int) -> float:
            """Return δ at the loss of a cell: Σ mass·(1 − e^{ε − x}) over the losses x beyond it."""
            log_scale = self.law.log_scale - self.theta * (self.first + cell) * self.spacing
            return self.beyond + above(cell) * math.exp(min(log_scale, 600.0))  # e^600 is above 1 anyway

        def log_excess(cell: float) -> float:
            return math.log(max(at(round(cell)), 1e-307)) - math.log(delta)

        if at(last) > delta:
            return math.inf
        cell = start
        if at(start) > delta:
            cell = round(scipy.optimize.brentq(log_excess, start, last, xtol=0.5))
            while at(cell) > delta:
                cell += 1
            while at(cell - 1) <= delta:
                cell -= 1
        x = (self.first + cell) * self.spacing
        if cell == start or self.spacing > 1:
            return x
        share = (at(cell - 1) - delta) / (at(cell - 1) - at(cell))
        return x - self.spacing + math.log1p(share * math.expm1(self.spacing))

    @functools.cached_property
    def _profile(self) -> tuple[Array, Array]:
        """Losses of the cells from 0 on, and δ there, which falls."""
        start = min(max(0, -self.first), self.law.cells - 1)
        losses: Array = (self.first + np.arange(start, self.law.cells, dtype=float)) * self.spacing
        untilt = np.exp(np.minimum(self.law.log_scale - self.theta * losses, 600.0))  # e^600 is above 1
        excess = _excess_of_each(self.law.mass()[start:] * untilt, self.spacing)
        return losses, self.beyond + excess

    def delta(self, epsilons: Array) -> Array:
        """Return δ at each ε from 0 to 600: linear in e^ε between cells, 1 below the first."""
        losses, delta = self._profile
        last = losses.size - 1
        cell = np.clip(np.floor((epsilons - losses[0]) / self.spacing), 0, last).astype(np.int64)
        beyond = np.clip(epsilons - losses[cell], 0.0, self.spacing)
        drop = delta[cell] - delta[np.minimum(cell + 1, last)]
        between = delta[cell] - drop * np.expm1(beyond) / math.expm1(min(self.spacing, 700.0))
        return np.where(epsilons < losses[0], 1.0, between)

    def end(self, least: float) -> float:
        """Return the loss at which δ has fallen to `least`, at most 600."""
        losses, delta = self._profile
        cell = min(max(int(np.searchsorted(-delta, -least)), 1), losses.size - 1)
        return min(float(losses[cell]), 600.0)


@njit(nogil=True, cache=True)
def _excess_of_each(mass: Array, spacing: float) -> Array:
    """Return Σ mass·(1 − e^{ε − x}) over the losses x beyond each ε of the grid, from above.

    With D(ε) = Σ mass·e^{ε − x} over x ≥ ε, the sum one cell to the left is larger by (1 − e^{−spacing})·D.
    All terms are positive, so each of the n sums, and D, has an error of at most 2n roundings.
    """
    decay, share = math.exp(-spacing), -math.expm1(-spacing)
    upwards = 1.0 + 5.0 * mass.size * 2.0**-53
    out = np.empty(mass.size)
    discounted, total = 0.0, 0.0
    for i in range(mass.size - 1, -1, -1):
        out[i] = total * upwards
        discounted = mass[i] + decay * discounted
        total += share * discounted
    return out


def _sketches(events: tuple[SampledGaussian, ...], delta: float) -> tuple[Sum, Sum]:
    """Return both directions, present against absent and the reverse, with steps on few dots off the grid."""
    counts = [event.count for event in events]
    reach = -float(ndtri(max(delta * math.exp(-OUTSIDE) / sum(counts), 1e-300)))
    steps = [(event.sampling_rate, event.noise_multiplier) for event in events]
    sides = [connect(*step, dots(*step, reach, _FEW_DOTS_PER_STD)) for step in steps]
    present, absent = zip(*sides, strict=True)
    return Sum(present, counts), Sum(absent, counts)


def _compose(
    events: tuple[SampledGaussian, ...],
    sketch: Sum,
    delta: float,
    tolerance: float,
    spacing: float,
    tilt: float = _TILT,
) -> _Whole:
    """Return the law of the whole loss in one direction, precise where δ(ε) is about `delta`.

    Dividing a mass between dots a small d apart raises log E e^{θ·loss} by θ(θ + 1)·d²/12 on average. If the
    cells suffice, the grid is so fine that this raises ε by about a relative `tolerance`, and its dots are at
    most `spacing` apart.
    """
    order, bound = sketch.quantile(-math.log(delta))
    theta = tilt * order
    low, high, far = sketch.window(delta, theta)
    ideal = math.sqrt(12 * tolerance * max(bound, 1e-300) / ((order + 1) * sum(sketch.counts)))
    most = min(_MOST_CELLS, max(_LEAST_CELLS, _MOST_WORK // len(events)))
    cells = _cells((high - low) / min(ideal, spacing), most)
    largest = max(float(np.abs(step.losses).max()) for step in sketch.steps)
    finest = max(1e-9 * max(abs(low), abs(high)), 1e-12 * largest)
    spacing = max((high - low) / (cells - 2), finest)
    total = _on_grid(events, sketch, order, spacing)
    if spacing > ideal or total.cumulant(far)[0] - far * high > math.log(delta) - OUTSIDE / 2:
        theta = tilt * total.quantile(-math.log(delta))[0]  # the grid moved the losses: find a new window
        low, high, far = total.window(delta, theta)
        cells = _cells((high - low) / spacing + 2, 2 * most)
    first = max(math.floor(low / spacing), math.ceil(high / spacing) - cells)
    tilted = [Side(s.losses, s.log_mass + theta * s.losses, s.infinite) for s in total.steps]
    law = convolve(tilted, total.counts, spacing, first, cells)
    log_tail = total.cumulant(far)[0] - far * (first + cells) * spacing  # Chernoff
    infinite = sum(count * step.infinite for count, step in zip(total.counts, total.steps, strict=True))
    return _Whole(law, theta, first, spacing, math.exp(min(log_tail, 0.0)) + infinite, spacing > ideal)


def _cells(wanted: float, most: int) -> int:
    """Return the least power of two that is at least `wanted`, or the largest one up to `most`."""
    return int(2 ** min(math.ceil(math.log2(max(wanted, _LEAST_CELLS))), math.floor(math.log2(most))))


def _on_grid(events: tuple[SampledGaussian, ...], sketch: Sum, order: float, spacing: float) -> Sum:
    """Return the sketch's direction with steps on multiples of `spacing`, denser where they determine ε."""
    steps = []
    for event, side in zip(events, sketch.steps, strict=True):
        is_present = side.losses[-1] > side.losses[0]
        near = dots_between(side, order, spacing, _MOST_DOTS) / spacing
        ends = [math.floor(near[0]), math.ceil(near[-1]) + 1]
        x = np.unique(np.concatenate([np.rint(near), ends])) * spacing
        steps.append(connect(event.sampling_rate, event.noise_multiplier, x)[0 if is_present else 1])
    return Sum(steps, sketch.counts)

"""A sum of many independent losses: its cumulants, and Chernoff's bounds of its quantiles."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from vips_core.kernels import Array
from vips_core.privacy.losses import Side

OUTSIDE = 18.0  # −log of the share of δ that may lie beyond the window
_HALVINGS = 13  # of the range in which the best exponent is looked for: to 0.5 %


@dataclass(frozen=True)
class Sum:
    """The loss of the whole as a sum of `counts` of each step, in one direction."""

    steps: Sequence[Side]
    counts: Sequence[int]

    @functools.cached_property
    def _columns(self) -> tuple[Array, Array, npt.NDArray[np.int64], Array]:
        """Losses and logs of mass of all steps in a row, where each step ends, and the counts."""
        losses = np.concatenate([step.losses for step in self.steps])
        log_mass = np.concatenate([step.log_mass for step in self.steps])
        ends = np.cumsum([step.losses.size for step in self.steps])
        return losses, log_mass, ends, np.array(self.counts, float)

    def cumulant(self, theta: float) -> float:
        """log E e^{θ·loss}."""
        return float(_cumulant(*self._columns, theta)[0])

    @functools.cached_property
    def scale(self) -> float:
        """Mean and standard deviation, by size: the unit of what may be expected of the loss."""
        shares = [np.exp(step.log_mass) * step.losses for step in self.steps]
        means = [float(share.sum()) for share in shares]
        squares = [float((share * step.losses).sum()) for share, step in zip(shares, self.steps, strict=True)]
        mean, square = np.dot(self.counts, means), np.dot(self.counts, squares)
        return float(abs(mean) + math.sqrt(square)) or 1.0

    def quantile(self, log_inverse: float, tilt: float = 0.0, sign: int = 1) -> tuple[float, float]:
        """Chernoff's bound of a quantile of sign·loss under a tilt: the t with the least (K(t) + log 1/p)/t.

        t is limited so that K, a difference of numbers of size t·scale, keeps ten digits.
        """
        t, bound = _quantile(*self._columns, log_inverse, tilt, sign, 1e-9 / self.scale, 1e6 / self.scale)
        return float(t), float(bound)

    def window(self, delta: float, theta: float) -> tuple[float, float, float]:
        """Ends of a window that is precise where δ(ε) is about `delta`, and the exponent of its upper end.

        A loss x beyond the upper end comes in again at x − width, enlarged by e^{θ·width}: even so, what
        comes in above ε ≥ max(0, low) has to be small.
        """
        small = OUTSIDE - math.log(delta)
        low = -self.quantile(OUTSIDE, theta, -1)[1]
        least = max(0.0, low)
        width = self.quantile(small + self.cumulant(theta) - theta * least, theta)[1] - least
        far, high = self.quantile(small)
        return low, max(high, low + width), far


@njit(nogil=True, cache=True)
def _cumulant(
    losses: Array, log_mass: Array, ends: npt.NDArray[np.int64], counts: Array, theta: float
) -> tuple[float, float]:
    """K(θ) = log E e^{θ·loss} of the sum, and K′(θ)."""
    total, slope, start = 0.0, 0.0, 0
    for step in range(counts.size):
        peak = -math.inf
        for i in range(start, ends[step]):
            peak = max(peak, log_mass[i] + theta * losses[i])
        mass, moment = 0.0, 0.0
        for i in range(start, ends[step]):
            weight = math.exp(log_mass[i] + theta * losses[i] - peak)
            mass += weight
            moment += weight * losses[i]
        total += counts[step] * (peak + math.log(mass))
        slope += counts[step] * moment / mass
        start = ends[step]
    return total, slope


@njit(nogil=True, cache=True)
def _quantile(
    losses: Array,
    log_mass: Array,
    ends: npt.NDArray[np.int64],
    counts: Array,
    log_inverse: float,
    tilt: float,
    sign: int,
    least: float,
    most: float,
) -> tuple[float, float]:
    """The t where (K(t) + log 1/p)/t is least: there t·K′(t) − K(t), which rises, is log 1/p."""
    untilted = _cumulant(losses, log_mass, ends, counts, tilt)[0]
    t = math.sqrt(least * most)
    for _ in range(_HALVINGS):
        value, slope = _cumulant(losses, log_mass, ends, counts, tilt + sign * t)
        if t * sign * slope - (value - untilted) < log_inverse:
            least = t
        else:
            most = t
        t = math.sqrt(least * most)
    value = _cumulant(losses, log_mass, ends, counts, tilt + sign * t)[0]
    return t, (value - untilted + log_inverse) / t

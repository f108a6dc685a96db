"""The privacy loss of one step on dots, so that the pair of laws on the dots dominates the true one.

A step is told apart from one without the person by the pair P = (1 − q)·N(0, σ²) + q·N(1, σ²) and
Q = N(0, σ²). The loss at z is x = log dP/dQ = log(1 − q + q·e^w) with w = (z − ½)/σ², which rises in z.
The mass between two dots is divided between them so that its P-mass *and* its Q-mass stay ("connect the
dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). The likelihood ratio is spread with its mean
kept, so the pair on the dots dominates (Blackwell), in both directions and under any composition.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtr

from vips_core.kernels import Array

_ROUNDING = 8 * 2.0**-53  # of each of the few operations on a cell's masses, generously


@dataclass(frozen=True)
class Side:
    """One direction: finite losses in any order, their logs of mass, and the mass at +∞."""

    losses: Array
    log_mass: Array
    infinite: float


def dots(rate: float, noise: float, reach: float, per_std: int) -> Array:
    """Losses where P or Q has mass: to `reach` standard deviations of noise, with `per_std` dots in each."""
    steps = np.linspace(-reach, reach, math.ceil(2 * reach * per_std) + 1) * noise
    z = np.unique(np.concatenate([steps, steps + 1]))
    return np.unique(_loss(rate, (z - 0.5) / noise**2))


def between(few: Side, order: float, least: float, most: int) -> Array:
    """Dots between those of a sketch, in rising order of log dP/dQ and about `most` at most.

    Mass m between dots h apart adds about m·h² to the variance of its step; the fewest dots that add a given
    amount are (gap/m)^⅓ apart, with the mass tilted to where it decides about ε. Together they add a third of
    what dots `least` apart would. Where hardly any mass is, four dots go between two.
    """
    x = few.losses if few.losses[-1] > few.losses[0] else -few.losses
    tilted = few.log_mass + order * few.losses
    mass = np.exp(tilted - log_sum_exp(tilted))
    gaps, mass = np.diff(x), (mass[1:] + mass[:-1]) / 2 + 1e-300
    spread = mass ** (1 / 3) * gaps ** (2 / 3)
    unit = max(least * math.sqrt(1 / 3 / spread.sum()), spread.sum() / most)
    apart = np.maximum(unit * (gaps / mass) ** (1 / 3), least)
    parts = np.maximum(np.ceil(gaps / apart), 5)
    ends = np.append(0.0, np.cumsum(parts))
    return np.interp(np.arange(ends[-1] + 1), ends, x)


def connect(rate: float, noise: float, x: Array) -> tuple[Side, Side]:
    """Loss of P against Q and of Q against P on rising dots x; only the first may lie below the least loss.

    Mass below the first dot and above the last is of no account: it goes up to that dot, or to infinity.
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
    """Standard normal mass between neighbours, from the tail in which it cancels less, and that tail."""
    right = t[:-1] > 0
    lower, upper = ndtr(t), ndtr(-t)
    mass = np.where(right, upper[:-1] - upper[1:], lower[1:] - lower[:-1])
    return np.maximum(mass, 0.0), np.where(right, upper[:-1], lower[1:])


def _scaled_cells(
    rate: float, noise: float, x: Array, w: Array, z: Array, masses0: Array
) -> tuple[Array, Array]:
    """Cells' mass under N(0, σ²) times e^w at their lower dot, and the terms' size.

    For z > 0 by e^w·φ(z/σ) = φ((z − 1)/σ), since e^w overflows where the mass underflows. Below the least
    loss, log(1 − q), e^w stands for (e^x − 1 + q)/q < 0.
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
    """log(1 − q + q·e^w)."""
    if rate == 1:
        return w
    small = np.log1p(rate * np.expm1(np.minimum(w, 30.0)))
    return np.where(w > 30, np.logaddexp(math.log1p(-rate), math.log(rate) + w), small)


def _log_ratio(rate: float, x: Array) -> Array:
    """The w whose loss is x, −∞ at or below log(1 − q)."""
    if rate == 1:
        return x
    with np.errstate(divide="ignore"):
        small = np.log1p(np.maximum(np.expm1(np.minimum(x, 30.0)) / rate, -1.0))
    large = x - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-np.maximum(x, 30.0)))
    return np.where(x > 30, large, small)


def log_sum_exp(terms: Array) -> float:
    """Log of Σ e^term (scipy's has more to it, and takes longer than what is summed here)."""
    largest = float(terms.max())
    return largest + math.log(np.exp(terms - largest).sum())


def _log_at(index: int, mass: float, size: int) -> Array:
    """Logs of a law with all its mass at one index."""
    logs = np.full(size, -np.inf)
    logs[index] = math.log(mass) if mass > 0 else -np.inf
    return logs

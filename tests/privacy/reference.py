"""The true ε of subsampled Gaussian releases: a slow oracle that shares no code with the accountants.

The loss of one step is a sum of many atoms in z (the trapezoid rule, which converges exponentially), written
onto a fine grid by cubic interpolation, tilted, and composed by FFT in extended precision (64-bit mantissa).
The result is an estimate, not a bound; `true_epsilon` returns the difference of two grids.
"""

import math

import mpmath
import numpy as np
import scipy.fft
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

Real = np.longdouble
_REACH = 14  # standard deviations, beyond which the mass is 1e-44
_ATOMS_PER_STD = 1000
_OUTSIDE = 40.0  # −log of the mass that may leave the window


def single_step_delta(epsilon, rate, noise):
    """δ(ε) of one step with the person present, exactly: q·δ of the Gaussian at log(1 + (e^ε − 1)/q)."""
    w = math.log1p(math.expm1(epsilon) / rate)
    return rate * (ndtr(0.5 / noise - noise * w) - math.exp(w) * ndtr(-0.5 / noise - noise * w))


def true_log_moment(rate, noise, order):
    """log E[(1 + u)^order] for u = q(e^{(z − ½)/σ²} − 1), z ~ N(0, σ²), to 20 digits.

    Computed by the trapezoid rule, with denser points over a wider range than the kernels'. Its error is
    e^{−2π²·8/3}.
    """
    with mpmath.workdps(40):
        rate, noise, order = mpmath.mpf(rate), mpmath.mpf(noise), mpmath.mpf(order)
        step = min(mpmath.mpf(1) / 10, noise * 3 / 8)
        total = mpmath.mpf(0)
        for i in range(int((28 + order / noise) / step) + 1):
            z = -14 + i * step
            u = rate * mpmath.expm1((z - 1 / (2 * noise)) / noise)
            total += mpmath.exp(-z * z / 2) * ((1 + u) ** order - 1 - order * u)
        return mpmath.log1p(total * step / mpmath.sqrt(2 * mpmath.pi))


def true_epsilon(events, delta, cells=2**17):
    """ε(δ) of the worse direction, and the relative difference that a grid twice as coarse makes."""
    apart = sum(e.count * e.sampling_rate * (1 - 2 * ndtr(-0.5 / e.noise_multiplier)) for e in events)
    if (
        apart <= delta
    ):  # total variation, of which each step has at most q·TV of its Gaussians: δ(0) is enough
        return 0.0, 0.0
    fine = max(direction_epsilon(events, delta, present, cells) for present in (True, False))
    coarse = max(direction_epsilon(events, delta, present, cells // 2) for present in (True, False))
    return fine, abs(fine - coarse) / max(fine, 1e-300)


def direction_epsilon(events, delta, present, cells):
    """ε(δ) of P against Q (`present`) or of Q against P."""
    parts = [(*_atoms(event.sampling_rate, event.noise_multiplier, present), event.count) for event in events]

    def cumulant(theta):
        return float(sum(count * _log_moment(x, weight, theta) for x, weight, count in parts))

    spread = _spread(parts)
    theta = 0.7 * _best(lambda t: (cumulant(t) - math.log(delta)) / t, spread)[0]
    centre = cumulant(theta)
    high = _best(lambda t: (cumulant(theta + t) - centre + _OUTSIDE) / t, spread)[1]
    high = max(high, _best(lambda t: (cumulant(t) - math.log(delta) + _OUTSIDE / 2) / t, spread)[1])
    low = -_best(lambda t: (cumulant(theta - t) - centre + _OUTSIDE) / t, spread)[1]
    width = max(high - low, spread)
    spacing = Real(width) / (cells - 8)
    first = math.floor(low / float(spacing))
    mass = _composed(parts, theta, spacing, first, cells)
    x = (first + np.arange(cells, dtype=Real)) * spacing
    with np.errstate(over="ignore", under="ignore"):
        mass = mass * np.exp(Real(centre) - Real(theta) * x)

    def excess(epsilon):
        above = slice(max(0, math.floor(epsilon / float(spacing)) - first), None)
        gain = -np.expm1(np.minimum(Real(epsilon) - x[above], 0))
        return float(np.sum(mass[above] * gain) / Real(delta)) - 1

    return 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, float(x[-1]), xtol=1e-300, rtol=1e-13)


def _atoms(rate, noise, present):
    """Return losses and weights of one step."""
    rate, noise = Real(rate), Real(noise)
    steps = np.arange(-_REACH * _ATOMS_PER_STD, _REACH * _ATOMS_PER_STD + 1).astype(Real) / _ATOMS_PER_STD
    near_zero = _weights(steps)
    if 1 / noise > 2 * _REACH:  # the two humps apart
        z = np.concatenate([steps * noise, 1 + steps * noise])
        zero, one = np.concatenate([near_zero, 0 * near_zero]), np.concatenate([0 * near_zero, near_zero])
    else:
        more = np.arange(1, math.ceil(_ATOMS_PER_STD / float(noise)) + 1).astype(Real) / _ATOMS_PER_STD
        t = np.concatenate([steps, steps[-1] + more])
        z, zero, one = t * noise, _weights(t), _weights(t - 1 / noise)
    w = (z - Real(0.5)) / noise**2
    loss = w
    if rate < 1:
        loss = np.where(w > 50, np.log(rate) + w, np.log1p(rate * np.expm1(np.minimum(w, 50))))
        loss += np.where(w > 50, np.log1p((1 - rate) / rate * np.exp(-np.maximum(w, 50))), 0)
    weight = (1 - rate) * zero + rate * one if present else zero
    kept = weight > 0
    return (loss if present else -loss)[kept], (weight / weight.sum())[kept]


def _weights(t):
    return np.exp(-t * t / 2) / (np.sqrt(2 * Real(np.pi)) * _ATOMS_PER_STD)


def _log_moment(x, weight, theta):
    exponent = Real(theta) * x
    peak = exponent.max()
    return peak + np.log(np.sum(weight * np.exp(exponent - peak)))


def _composed(parts, theta, spacing, first, cells):
    """Return the tilted law of the sum on the window, of mass 1."""
    power, offset = np.zeros(cells // 2 + 1, np.clongdouble), 0
    for x, weight, count in parts:
        tilted = weight * np.exp(Real(theta) * x - _log_moment(x, weight, theta))
        middle = math.floor(float(np.sum(tilted * x) / spacing))
        law = np.zeros(cells, Real)
        place = x / spacing - middle
        below = np.floor(place)
        t = place - below
        for shift, share in (
            (-1, -t * (1 - t) * (2 - t) / 6),
            (0, (1 - t * t) * (2 - t) / 2),
            (1, t * (1 + t) * (2 - t) / 2),
            (2, -t * (1 - t * t) / 6),
        ):
            np.add.at(law, ((below + shift) % cells).astype(np.int64), tilted * share)
        power += count * np.log(scipy.fft.rfft(law) + np.finfo(Real).tiny)
        offset += count * middle
    return np.roll(scipy.fft.irfft(np.exp(power), cells), (offset - first) % cells)


def _spread(parts):
    """Return the standard deviation of the sum plus 1e-5 of its mean; tilts are at most 1000 over that."""
    means = [float(np.sum(weight * x)) for x, weight, _ in parts]
    squares = [
        float(np.sum(weight * (x - mean) ** 2)) for (x, weight, _), mean in zip(parts, means, strict=True)
    ]
    counts = [count for *_, count in parts]
    return math.sqrt(np.dot(counts, squares)) + 1e-5 * abs(float(np.dot(counts, means)))


def _best(function, spread):
    """Return the minimiser and the minimum of a unimodal function on 0 < t < 1000/spread."""
    found = minimize_scalar(
        lambda log_t: function(math.exp(log_t)),
        bounds=(math.log(1e-9 / spread), math.log(1e3 / spread)),
        method="bounded",
        options={"xatol": 0.03},
    )
    return math.exp(found.x), float(found.fun)


def true_positive_rate(rate, noise, steps, false_positive_rate, cells=2**15):
    """Return the largest TPR at a FPR by the Neyman–Pearson test, in extended precision (an estimate).

    A person's presence may be tested against absence, or the reverse; the concave hull of the better curve
    covers both.
    """
    curves = [_best_test(rate, noise, steps, present, cells) for present in (True, False)]
    x, y = (np.concatenate(axis) for axis in zip(*curves, strict=True))
    order = np.lexsort((-y, x))
    hull = []
    for point in zip(x[order], y[order], strict=True):
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return float(np.interp(false_positive_rate, *zip(*hull, strict=True)))


def _best_test(rate, noise, steps, present, cells):
    """Return FPR and TPR of rejecting if the loss is at least x, for every x of the window."""
    parts = [(*_atoms(rate, noise, present), steps)]

    def bound(sign):
        return _best(
            lambda t: (steps * float(_log_moment(*parts[0][:2], sign * t)) + _OUTSIDE) / t, _spread(parts)
        )[1]

    low, high = -bound(-1), bound(1)
    spacing = Real(high - low) / (cells - 8)
    first = math.floor(low / float(spacing))
    mass = _composed(parts, 0.0, spacing, first, cells)
    absent = mass * np.exp(-(first + np.arange(cells, dtype=Real)) * spacing)
    found, accused = (np.append(0, np.cumsum(law[::-1])).astype(float) for law in (mass, absent))
    return accused, found


def _turns_left(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) >= 0

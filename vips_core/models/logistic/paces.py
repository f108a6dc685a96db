"""How far a step follows the gradient along each direction, given what noise leaves of it.

| symbol | code       | shape                                            |
|--------|------------|--------------------------------------------------|
| τ²     | `prior`    | (directions,), variance of coefficients a priori |
| s      | `signal`   | (directions,), signal over noise: λτ/√(V + λ)    |
"""

from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array
from vips_core.models.logistic.coordinates import RADIUS
from vips_core.models.logistic.posterior import Directions
from vips_core.models.logistic.state import DescentParams

PRIOR = 1.5 * RADIUS  # τ: a typical record's log odds have a standard deviation of 1.5, a priori
CONSTANT_PRIOR = 2.0  # standard deviation of the constant's log odds
LARGEST_STEP = 0.3, 0.9  # of Newton's, with much noise and with little: the curvature changes on the way
STEP_PER_SIGNAL = 0.03  # what is clear of noise may be followed faster: large slopes are far away


@dataclass(frozen=True)
class Pace:
    """What steps do along each direction."""

    prior: Array
    sampling: Array  # variance of a gradient through which records there are
    time: Array  # s²/(1+s), which all steps add up to
    step: Array  # as a part of Newton's


def pace(params: DescentParams, directions: Directions, noise_std: float) -> Pace:
    """Return the pace along directions, of gradients with noise of this standard deviation."""
    d, steps, curvature = len(params.slopes), params.schedule.gradients, directions.curvature
    prior = directions.along(np.append((CONSTANT_PRIOR / params.where.constant) ** 2, np.full(d, PRIOR**2)))
    # Variance of the weighted residuals, Σ v²p(1−p)z², with Σm²/Σm as of m = ½ and of uniform m.
    sampling = curvature / (1 - params.rarer * (5 - 4 * params.rarer) / 3)
    signal = curvature * np.sqrt(prior / (noise_std**2 / steps + sampling))
    time = signal**2 / (1 + signal)
    step = np.minimum(np.clip(STEP_PER_SIGNAL * signal, *LARGEST_STEP), time / steps)
    return Pace(prior, sampling, time, step)

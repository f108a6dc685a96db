"""Standing rivals of the refined regression at frozen settings, in the bench's form.

All are (ε, δ)-DP for zero-out neighbours with public N, as the refined variant.
"""

import numpy as np
from scipy.special import expit

from tests.benchmarks.utility.rivals_curvature import ObjectivePerturbation
from tests.benchmarks.utility.rivals_gradient import Adam, Centred, GradientDescent
from vips_core.privacy import gaussian
from vips_core.records import Table

DELTA = 1e-6


FROZEN = {
    "DP-GD": {
        **dict.fromkeys((0.25, 0.5), GradientDescent(1.0, 300, 0.5)),
        **dict.fromkeys((1.0, 2.0), GradientDescent(1.25, 300, 0.5)),
        **dict.fromkeys((4.0, 8.0), GradientDescent(1.25, 1000, 1.0)),
    },
    "DP-Adam": dict.fromkeys((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), Adam(1.25, 1000, 0.02)),
}


def weights(setting, people: Centred, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return a rival's weights."""
    if isinstance(setting, ObjectivePerturbation):
        return setting.fit(people, epsilon, DELTA, rng)
    return setting.fit(people, gaussian.mu(epsilon, DELTA), rng)


def rival(settings):
    """Return a rival in the bench's form, given its setting for each ε."""

    def scores(train: Table, test: Table, epsilon: float, seed: int) -> np.ndarray:
        fitted = weights(settings[epsilon], Centred.of(train), epsilon, np.random.default_rng(seed))
        return expit(Centred.of(test).columns @ fitted)

    return scores

"""Standing rivals of the refined regression at frozen settings, in the bench's form.

All are (ε, δ)-DP for zero-out neighbours with public N, as the refined variant. Four or five settings of each
method were scored on `tables.CHOSEN_ON` without brfss and the large cohort: two splits, one draw of noise,
after a coarser search on two other splits. For each ε, the setting with the lowest mean log loss was taken
among those whose mean AUC is within .002 of the best.
"""

import numpy as np
from scipy.special import expit

from tests.benchmarks.utility.rivals_curvature import Newton, NormalEquations, ObjectivePerturbation
from tests.benchmarks.utility.rivals_gradient import Adam, Centred, GradientDescent
from vips_core.privacy import gaussian
from vips_core.records import Table

DELTA = 1e-6
Setting = GradientDescent | Adam | ObjectivePerturbation | NormalEquations | Newton


FROZEN: dict[str, dict[float, Setting]] = {
    "DP-GD": {
        0.25: GradientDescent(clip=1.0, steps=1000, rate=0.5),
        **dict.fromkeys((0.5, 1.0, 4.0), GradientDescent(clip=1.25, steps=1000, rate=1.0)),
        **dict.fromkeys((2.0, 8.0), GradientDescent(clip=1.5, steps=1000, rate=1.0)),
    },
    "DP-Adam": {
        0.25: Adam(clip=1.0, steps=1000, rate=0.02),
        **dict.fromkeys((0.5, 1.0), Adam(clip=1.25, steps=1000, rate=0.02)),
        **dict.fromkeys((2.0, 4.0, 8.0), Adam(clip=1.5, steps=1000, rate=0.04)),
    },
    "objective perturbation": {
        0.25: ObjectivePerturbation(per_noise=1.5),
        **dict.fromkeys((0.5, 1.0, 2.0), ObjectivePerturbation(per_noise=1.0)),
        **dict.fromkeys((4.0, 8.0), ObjectivePerturbation(per_noise=0.7)),
    },
    "normal equations": {
        **dict.fromkeys((0.25, 0.5, 1.0, 2.0), NormalEquations(radius=1.0, per_edge=0.4, per_noise=0.3)),
        4.0: NormalEquations(radius=1.25, per_edge=0.25, per_noise=0.3),
        8.0: NormalEquations(radius=1.25, per_edge=0.4, per_noise=1.0),
    },
    "DP-Newton": {
        0.25: Newton(steps=30, per_edge=0.5, per_noise=0.5),
        1.0: Newton(steps=15, per_edge=0.3, per_noise=0.5),
        **dict.fromkeys((0.5, 2.0, 4.0, 8.0), Newton(steps=30, per_edge=0.3, per_noise=0.5, averaged=0.5)),
    },
}


def weights(setting: Setting, people: Centred, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return a rival's weights."""
    if isinstance(setting, ObjectivePerturbation):
        return setting.fit(people, epsilon, DELTA, rng)
    return setting.fit(people, gaussian.mu(epsilon, DELTA), rng)


def rival(settings: dict[float, Setting]):
    """Return a rival in the bench's form, given its setting for each ε."""

    def scores(train: Table, test: Table, epsilon: float, seed: int) -> np.ndarray:
        fitted = weights(settings[epsilon], Centred.of(train), epsilon, np.random.default_rng(seed))
        return expit(Centred.of(test).columns @ fitted)

    return scores

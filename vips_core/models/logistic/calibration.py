"""Calibration of log odds: the last releases measure how far an estimate's level and slope are off.

Shrinkage that suits the direction of the slopes does not suit their length: with strong signals, log odds are
too flat. So the last steps fit log odds b + a·u, with u the log odds of the estimate's slopes. They release
the score and the information of b and a. With t = u/c cut to ±1 and p at the present b and a, a record's
contribution is

    (y−p)·(0.6, 0.8t) and p(1−p)·(1.5, 1.5t, 2.5t²).

With m = min(p, 1−p) ≤ ½, its squared norm is at most (1−m)²·(1 + 10.75m²) ≤ 1. The weight t depends on x
alone, so Σ t(y−p) = 0 keeps the calibration slope of the model. A record that was trained on fits better than
a new one: the score of a exceeds its expectation over new records by about the number of slopes that the data
determine, which is subtracted.

| symbol  | code          | shape                                                            |
|---------|---------------|------------------------------------------------------------------|
|         | `slopes`      | (d,), of the estimate in coordinates; u = z·slopes               |
| (b, ac) | `place`       | (2,), level and slope                                            |
|         | `covariance`  | (2, 2), of `place`                                               |
| c       | `reach`       | scalar, twice the standard deviation of u over records            |
"""

from dataclasses import dataclass, replace

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.symmetric import symmetrised
from vips_core.models.logistic import kernels

LEAST_SHARE = 0.25  # of the slope that a release leaves: far from the optimum, a Newton step may overshoot 0
LEAST_INFORMATION = 1e-9  # least eigenvalue of the information per record, which noise may make negative


@dataclass(frozen=True)
class Calibration:
    """A Gaussian over level and slope of log odds; it has no covariance before the first release."""

    slopes: Array
    place: Array
    covariance: Array | None
    reach: float
    determined: float  # number of slopes that the data determine, by MacKay's count

    @property
    def level(self) -> float:
        """b, the log odds of a record at the centre of the coordinates."""
        return float(self.place[0])

    @property
    def slope(self) -> float:
        """a, 1 for an estimate that needs no calibration."""
        return float(self.place[1]) / self.reach

    def slope_variance(self) -> float:
        """Return the relative variance of the slope; 0 before the first release."""
        return 0.0 if self.covariance is None else float(self.covariance[1, 1] / self.place[1] ** 2)

    def after(self, prior: Array, total: Array, noise_std: float, records: int) -> "Calibration":
        """Return the calibration after a release, by one step of a Kalman filter.

        `prior` is the covariance before the release. The score is I·δ plus noise and sampling error of
        variance I, for the difference δ to the optimum and the information I. I is noisy itself; its error,
        times δ, counts as noise of the score.
        """
        score = total[:2] / kernels.SCORE - [0.0, self.determined / self.place[1]]
        level, cross, slope = total[2:] / kernels.INFORMATION
        values, vectors = np.linalg.eigh([[level, cross], [cross, slope]])
        information = (vectors * np.maximum(values, LEAST_INFORMATION * records)) @ vectors.T
        of_score = np.diag(np.power(kernels.SCORE, -2.0))
        of_level, of_cross, of_slope = np.power(kernels.INFORMATION, -2.0)
        (b, both), (_, a) = prior
        of_information = np.array(
            [[of_level * b + of_cross * a, of_cross * both], [of_cross * both, of_cross * b + of_slope * a]]
        )
        forecast = prior @ information
        spread = information @ forecast + information + noise_std**2 * (of_score + of_information)
        gain = np.linalg.solve(spread, forecast.T).T
        step = gain @ score
        shrinking = max(-step[1] / ((1 - LEAST_SHARE) * self.place[1]), 1.0)
        return replace(
            self, place=self.place + step / shrinking, covariance=symmetrised(prior - gain @ forecast.T)
        )

"""What the descent remembers between steps."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vips_core.kernels import Array
from vips_core.models.logistic import secants, statistics
from vips_core.models.logistic.coordinates import Coordinates
from vips_core.models.logistic.secants import Shared


@dataclass(frozen=True)
class Schedule:
    """Which steps release what: public."""

    moments: int  # the first so many
    curvature: int  # so many, from either of two steps, which may be one
    early: int
    late: int
    gradients: int  # all others

    @property
    def guided(self) -> bool:
        """Whether a curvature is released early too, so that steps can follow it."""
        return self.curvature > 0 and self.early < self.late

    def curvature_number(self, step: int) -> int | None:
        """Return the place of a step among those that release a curvature together, if it does."""
        for start in (self.early, self.late):
            if start <= step < start + self.curvature:
                return step - start
        return None

    def gradients_before(self, step: int) -> int:
        """Return the number of gradients before a step."""
        return sum(self.curvature_number(other) is None for other in range(self.moments, step))


@dataclass(frozen=True)
class DescentParams:
    """The estimate in the columns' units, and the state of the descent."""

    mean: Array
    coefficient_variance: Array
    privacy_variance: Array
    slopes: Array
    level: float
    covariance: Array
    level_variance: float
    schedule: Schedule
    where: Coordinates
    records: int
    power: float
    moments: Array
    positive: float
    point: Array
    average_point: Array
    average_gradient: Array
    spread: float
    squares: Array
    totals: Array
    matrix: Array
    diagonal: Array
    values: Array
    vectors: Array
    rarer: float  # mean of min(p, 1−p)
    last_point: Array = field(default_factory=lambda: np.zeros(0))  # these are later than the others
    last_gradient: Array = field(default_factory=lambda: np.zeros(0))
    shared: Shared = field(default_factory=lambda: secants.none(0))
    longer_point: Array = field(default_factory=lambda: np.zeros(0))  # averages over nearly all steps
    longer_gradient: Array = field(default_factory=lambda: np.zeros(0))
    widening: float = 1.0  # of the variance of log odds in intervals, for what shrinkage may have taken

    @property
    def guided(self) -> bool:
        """Whether steps follow the curvature's matrix."""
        return self.schedule.guided and bool(self.matrix.any())

    def log_odds(self, x: Any) -> tuple[Array, Array]:
        """Mean and variance of ψ over the posterior."""
        x, centre = self.where.filled(x), self.where.centre
        psi = self.level + x @ self.slopes - centre @ self.slopes
        if self.covariance.ndim == 1:
            crossed = self.covariance * centre
            variance = statistics.squares(x) @ self.covariance - 2 * (x @ crossed) + centre @ crossed
        else:
            crossed = self.covariance @ centre
            variance = statistics.quadratic_forms(x, self.covariance) - 2 * (x @ crossed) + centre @ crossed
        return np.asarray(psi), np.maximum(variance, 0.0) + self.level_variance

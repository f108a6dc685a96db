"""Refined logistic regression with noise: averaged, preconditioned gradient steps in noisy coordinates.

With full batches, T releases of noise σ tell as much as one of σ/√T, so the gradient is followed for many
cheap steps. A step of constant size leaves noise in the iterates, but their average has only the noise of the
average gradient: what one exact Newton step at the answer would have, without a curvature of d² noisy cells.
How far a direction is followed depends on what its noise leaves of it. With prior variance τ², curvature λ
and noise V of the average gradient, s = λτ/√(V + λ) is its signal over noise, and the steps add up to a time
s²/(1+s): the Wiener filter where s is small, a ridge of 1/s where it is large.

1. `coordinates`: one release in twelve (none below four) finds where columns lie.
2. Gradient steps. With m = min(p, 1−p), a record's share of a release is (y−p)·(κ, vwz) and
   m·(SQUARES·w|z|min(1, |z|/a), TOTALS, TOTALS·w²‖z‖²). Here w = min(1, √(1−κ²)/‖z‖): long records weigh
   less. And v = √(1−(0.9m)²)/(1−m): a residual is at most 1−m, so where both labels are likely a record can
   weigh almost twice as much within the same bound. Both weights depend on x alone, so Σ vw(y−p)z = 0 keeps
   the coefficients of the model. That of the level weighs all alike, so that predictions are right on
   average. The rest of the norm measures the curvature's diagonal, Σ vw·p(1−p)z² ≈ Σ wmz².
3. Where d × d cells can be seen (N·μ ≥ 3·d^1.5), one release in sixteen is Σ 4w²p(1−p)zzᵀ, on the way, where
   p is near that of the answer. Its deviation from the diagonal is shrunk, eigenvalue by eigenvalue, by the
   known spectrum of its noise; what is left of it makes intervals honest. Where it is clear of noise (N·μ ≥
   7·d^1.5), another one early guides the steps too: less clear, it costs them more than it tells.
4. `secants`: what correlated columns share is learned from the gradients too, so that steps stay stable where
   the matrix is hidden or wrong. Without a matrix, moves begin small and may double from step to step.
5. `estimates`: from the average of the late steps, and of nearly all where these agree.

| symbol | code            | shape                                       |
|--------|-----------------|---------------------------------------------|
| θ      | `point`         | (d+1,), the iterate in coordinates          |
| θ̄, ḡ   | `average_point`, `average_gradient` | (d+1,)                  |
| λ      | `Directions`    | eigenvalues and vectors, or the axes        |
| V      | `noise_std`², over steps | scalar                             |
| τ      | `paces.PRIOR`, `paces.CONSTANT_PRIOR` | scalars               |
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from vips_core.kernels import Array
from vips_core.kernels.symmetric import symmetrised
from vips_core.models.base import Block, Released
from vips_core.models.logistic import coordinates, estimates, kernels, paces, secants, shares
from vips_core.models.logistic.answer import over_records, unit_curvature
from vips_core.models.logistic.coordinates import RADIUS
from vips_core.models.logistic.mass import expected_mass
from vips_core.models.logistic.posterior import Directions
from vips_core.models.logistic.state import DescentParams, Schedule
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

if TYPE_CHECKING:
    from vips_core.models.logistic.model import BayesianLogistic

MOMENTS, SHARES, CURVATURE = "moments", "gradient and curvature's diagonal", "curvature"
STEPS = 16
WARM_STEPS, LATE = 1, 0.4  # when a matrix is measured: after steps that move the level only, and on the way
VISIBLE_FROM, CLEAR_FROM = 3.0, 7.0  # N·μ/d^1.5 from which a matrix makes intervals honest, and guides steps
FIRST = 0.1  # part of the steps that no average holds: the level is not yet found
LARGEST_MOVE = 1.0  # of a step, as a standard deviation of log odds over records
LEAST_CURVATURE = 0.02  # of an average direction's, for steps where the matrix says less
A_PRIORI = 0.75, 0.5  # mean m and its standard deviation, as parts of what the class imbalance leaves
MEMORY = 3  # steps over which the total curvature is averaged


class Descent:
    """The refined variant's answers to the loop, for plans with noise."""

    def __init__(self, model: "BayesianLogistic") -> None:
        self.model = model
        self.d = len(model.features)

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> DescentParams:
        """Return the prior, in columns as they are."""
        d, where, schedule = self.d, coordinates.unknown(self.model.norm_bound, self.d), self._schedule(plan)
        matrix = np.zeros((d + 1, d + 1) if schedule.curvature else (0, 0))
        prior = (paces.PRIOR * where.scale) ** 2
        return DescentParams(
            mean=np.zeros(d),
            coefficient_variance=prior,
            privacy_variance=prior,
            slopes=np.zeros(d),
            level=0.0,
            covariance=np.diag(prior) if schedule.curvature else prior,
            level_variance=paces.CONSTANT_PRIOR**2,
            schedule=schedule,
            where=where,
            records=plan.records,
            power=coordinates.spread_power(plan.records * plan.signal_to_noise / d),
            moments=np.zeros(2 * d + 2),
            positive=0.5,
            point=np.zeros(d + 1),
            average_point=np.zeros(d + 1),
            average_gradient=np.zeros(d + 1),
            spread=0.0,
            squares=np.zeros(d),
            totals=np.zeros(2),
            matrix=matrix,
            diagonal=np.ones(d + 1),
            values=np.ones(d + 1),
            vectors=matrix,
            rarer=0.5,
            last_point=np.zeros(d + 1),
            last_gradient=np.zeros(d + 1),
            longer_point=np.zeros(d + 1),
            longer_gradient=np.zeros(d + 1),
            shared=secants.none(d + 1),
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return moments first, then gradients, and among these the curvature."""
        schedule = self._schedule(plan)
        if step < schedule.moments:
            return {MOMENTS: self._moment_block}
        if schedule.curvature_number(step) is not None:
            return {CURVATURE: Block(1.0, shape=(self.d + 1, self.d + 1))}
        return {SHARES: Block(1.0, shape=(2 * self.d + 3,))}

    def sums(self, params: DescentParams, batch: Table, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return the block that the step asks for."""
        ((name, block),) = blocks.items()
        if name == MOMENTS:
            return {name: coordinates.moment_sums(batch, self.model.norm_bound, block)}
        sums = shares.gradient_and_diagonal if name == SHARES else shares.curvature
        return {name: sums(batch, params.where, params.point, block)}

    def update(self, params: DescentParams, released: Released, step: int) -> DescentParams:
        """Take what was released, move, and solve for the posterior."""
        (name,) = released.sums
        total, noise_std = released.total(name), released.total_std(name)
        if name == MOMENTS:
            return self._with_moments(params, total, noise_std, step)
        number = params.schedule.curvature_number(step)
        if number is not None:
            return _with_matrix(params, total, noise_std, number + 1)
        return _moved(params, total, noise_std, params.schedule.gradients_before(step))

    def _with_moments(
        self, params: DescentParams, total: Array, noise_std: float, step: int
    ) -> DescentParams:
        moments, std = params.moments + (total - params.moments) / (step + 1), noise_std / math.sqrt(step + 1)
        where = coordinates.from_moments(
            moments,
            std,
            self.model.norm_bound,
            self._moment_block,
            params.records,
            params.power,
            np.array(self.model.missing_pairs or (), np.int64).reshape(-1, 2),
        )
        positive = coordinates.positive_share(moments, std)
        point = np.append(logit(positive) / where.constant, np.zeros(self.d))
        return replace(params, moments=moments, where=where, positive=positive, point=point)

    @property
    def _moment_block(self) -> Block:
        return coordinates.moment_block(self.model.norm_bound, self.model.moment_radius, self.d)

    def _schedule(self, plan: PrivacyPlan) -> Schedule:
        """Return what is released when; d × d cells only where they can be seen."""
        moments = max(1, round(plan.steps / 12)) if plan.steps >= 4 else 0
        seen = plan.records * plan.signal_to_noise / (self.d + 1) ** 1.5
        each = max(1, round(plan.steps / STEPS))
        early, late = moments + WARM_STEPS, round(plan.steps * LATE)
        curvature = each if seen >= VISIBLE_FROM and early + each < late else 0
        if seen < CLEAR_FROM:
            early = late
        matrices = curvature * (1 if early == late else 2)
        return Schedule(moments, curvature, early, late, plan.steps - moments - matrices)


def _with_matrix(params: DescentParams, total: Array, noise_std: float, releases: int) -> DescentParams:
    """Shrink what the matrix adds to the diagonal, by what its known noise leaves of each eigenvalue.

    A Wigner matrix of standard deviation ν has eigenvalues up to 2ν√d; of a value v above that edge √(v² −
    4ν²d) is left (Frobenius' norm's best, for few large values).
    """
    scale = 4 * (1 - params.rarer)  # from 4p(1−p) to m
    matrix, average = params.matrix + (total / scale - params.matrix) / releases, params.diagonal[1:].mean()
    noise = noise_std / scale / math.sqrt(2 * releases)
    values, vectors = np.linalg.eigh(symmetrised(matrix) - np.diag(params.diagonal))
    left = np.sign(values) * np.sqrt(np.maximum(values**2 - 4 * noise**2 * len(values), 0.0))
    shrunk = np.diag(params.diagonal) + (vectors * left) @ vectors.T
    values, vectors = np.linalg.eigh(shrunk)
    return replace(params, matrix=matrix, values=np.maximum(values / average, 0.0), vectors=vectors)


def _with_change(params: DescentParams, gradient: Array, noise_std: float) -> DescentParams:
    """Learn from how the gradient has changed since the last step."""
    directions, total = _directions(params, params.guided), float(params.diagonal[1:].sum())
    move, change = params.point - params.last_point, params.last_gradient - gradient
    beyond = secants.beyond(directions.apply(directions.curvature, move), move, change, noise_std)
    if beyond is None:
        return params
    direction, excess = beyond[0], min(beyond[1] / total, 1.0)  # no curvature is above the sum of all
    if directions.vectors is None:
        return replace(params, shared=secants.joined(params.shared, direction, excess))
    known = (params.vectors * params.values) @ params.vectors.T
    values, vectors = np.linalg.eigh(known + excess * len(params.slopes) * np.outer(direction, direction))
    return replace(params, values=np.maximum(values, 0.0), vectors=vectors)


def _moved(params: DescentParams, total: Array, noise_std: float, taken: int) -> DescentParams:
    """One gradient step, and the posterior from the averages of those so far."""
    d, steps, gradient = len(params.slopes), params.schedule.gradients, total[: len(params.slopes) + 1]
    params = _with_diagonal(params, total[d + 1 :], noise_std, taken)
    if taken:
        params = _with_change(params, gradient, noise_std)
    directions = _directions(params, params.guided)
    pace = paces.pace(params, directions, noise_std)
    move: Array = directions.apply(pace.step / directions.curvature, gradient)
    if params.schedule.guided and not params.guided:
        move[1:] = 0.0
    size = math.sqrt(directions.form(directions.curvature, np.append(0.0, move[1:])) / unit_curvature(params))
    if (
        directions.vectors is None
    ):  # all curvature might be along the move, until gradients show that it is not
        size = max(size, float(np.linalg.norm(move[1:])) / RADIUS / 2.0**taken)
    move *= min(1.0, LARGEST_MOVE / max(size, 1e-9))
    # The way to the answer is left out of an average, all the more where there is little noise to average.
    skipped = round(steps * (FIRST + 0.5 * min(1.0, float(pace.time.mean()) / steps)))
    late, longer = (1 / max(taken - first + 1, 1) for first in (skipped, round(steps * FIRST)))
    params = replace(
        params,
        last_point=params.point,
        last_gradient=gradient,
        point=params.point + move,
        spread=params.spread + (over_records(params, directions, params.point)[1] - params.spread) * late,
        average_point=params.average_point + (params.point - params.average_point) * late,
        average_gradient=params.average_gradient + (gradient - params.average_gradient) * late,
        longer_point=params.longer_point + (params.point - params.longer_point) * longer,
        longer_gradient=params.longer_gradient + (gradient - params.longer_gradient) * longer,
    )
    estimate = estimates.estimate(params, directions, pace, noise_std**2 * (late - longer))
    known = _directions(params, bool(params.matrix.any()))
    return estimates.with_uncertainty(params, known, estimate, noise_std, taken, late, longer)


def _directions(params: DescentParams, with_matrix: bool) -> Directions:
    """Return the curvature as far as it is known: eigenvectors of the matrix, or axes and what they share."""
    diagonal, shared, average = params.diagonal, params.shared, params.diagonal[1:].mean()
    if with_matrix:
        seen = params.values * average
        return Directions(np.maximum(seen, LEAST_CURVATURE * average), seen, params.vectors, shared.vectors)
    seen = np.append(diagonal, diagonal @ shared.vectors**2 + shared.excess * diagonal[1:].sum())
    return Directions(seen, seen, None, shared.vectors)


def _with_diagonal(params: DescentParams, measured: Array, noise_std: float, taken: int) -> DescentParams:
    """Average the curvature's measured totals, and share them out over the columns by their squares."""
    d, where = len(params.slopes), params.where
    totals = params.totals + (measured[d:] - params.totals) / min(taken + 1, MEMORY)
    squares = params.squares + (measured[:d] - params.squares) / (taken + 1)
    noise = (noise_std / kernels.TOTALS) ** 2 / min(taken + 1, MEMORY)
    largest = params.records * min(params.positive, 1 - params.positive)
    mean, spread = largest * A_PRIORI[0], (largest * A_PRIORI[1]) ** 2
    weighed = (totals / kernels.TOTALS * spread + mean * noise) / (spread + noise)
    level, everything = np.maximum(weighed, 0.1 * largest)
    rarer = float(level / params.records)
    own = level * (1 - rarer) * where.constant**2  # p(1−p) = m(1−m)
    everything *= math.sqrt(1 - (kernels.CURVATURE_NORM * rarer) ** 2)
    features = max(everything, 0.3 * own * d)
    relative = params.diagonal[1:] / params.diagonal[1:].sum()
    power_of_two = (taken + 1) & taken == 0
    if power_of_two or taken + 1 == params.schedule.gradients:  # it takes a while
        std = noise_std / math.sqrt(taken + 1)
        mass = expected_mass(squares, std, kernels.SQUARES / 2 * params.records) * where.reach
        relative = mass / mass.sum()
    diagonal = np.append(own, features * relative)
    return replace(params, totals=totals, squares=squares, diagonal=diagonal, rarer=rarer)

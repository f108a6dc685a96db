"""The refined variant: noisy preconditioned gradient descent with a Laplace posterior.

This is no longer variational Bayes. With full batches, T releases of noise σ are as informative as one of
σ/√T, so training takes many cheap gradient steps. Constant steps leave noise in the iterates, but their
average has only the noise of the average gradient. One exact Newton step at the optimum would have the same
noise, but would need a curvature of d² noisy cells. Noise also limits the total length of the steps. With
prior variance τ², curvature λ and noise variance V of the average gradient, the signal over noise is
s = λτ/√(V + λ), and the steps add up to s²/(1+s) Newton steps: a Wiener filter for small s, a ridge of 1/s
for large s.

1. The first releases are moments; they fix `coordinates`. (None if they would be mostly noise.)
2. Gradient steps. With m = min(p, 1−p), a record's contribution to a release is (y−p)·(κ, vwz) and
   m·(SQUARES·w|z|min(1, |z|/a), TOTALS, TOTALS·w²‖z‖²). Here w = min(1, √(1−κ²)/‖z‖): long records weigh
   less. And v = √(1−(0.9m)²)/(1−m): a residual is at most 1−m, so where both labels are likely a record can
   weigh almost twice as much within the same bound. Both weights depend on x alone, so Σ vw(y−p)z = 0 keeps
   the coefficients of the model. The level weighs all records alike, so predictions are right on average.
   The rest of the norm measures the curvature's diagonal, Σ vw·p(1−p)z² ≈ Σ wmz².
3. If d × d cells are visible in the noise, Σ 4w²p(1−p)zzᵀ is released too: late, for honest intervals, and if
   it is clear of noise also early, to guide steps.
4. Curvature that correlated columns share is also learned from changes of the gradient (`curvature`).
5. In averages over steps (of points, gradients and curvature measurements), the k-th step weighs √k where
   noise is large, and up to k where it is small. The estimate is the average point plus the rest of a Newton
   step at the average gradient.
6. The last releases measure how far the level and the slope of log odds are off (`calibration`).

| symbol | code            | shape                                       |
|--------|-----------------|---------------------------------------------|
| θ, g   | `point`, `gradient` | (d+1,), in coordinates, the level first |
| λ      | `Directions`    | curvature along the axes and shared directions |
| V      | `noise_std`² over the number of steps | scalar                |
| τ      | `prior_log_odds`, `prior_level` of `Constants` | scalars         |

These did not help: one release at θ = 0 with ⟨ξ⟩ = ¼ (class imbalance hides the signal), the majoriser ⟨ξ⟩xxᵀ
as the curvature of Newton steps, rescaling long rows instead of weighting them, a choice of regimes by N, d
and μ (no threshold suits all tables), and a prior variance of slopes learned from them (MacKay).
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from vips_core.kernels import Array
from vips_core.kernels.symmetric import symmetrised
from vips_core.models.base import Block, Released, most_efficient
from vips_core.models.logistic import coordinates, curvature, kernels, posterior, sums
from vips_core.models.logistic.calibration import Calibration
from vips_core.models.logistic.constants import Constants
from vips_core.models.logistic.coordinates import nonnegative_shrinkage
from vips_core.models.logistic.curvature import Directions, LowRankCurvature
from vips_core.models.logistic.paper import NoiseFree, PolyaGammaPosterior
from vips_core.models.logistic.posterior import OptimiserState, Pace, Posterior, Schedule
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

if TYPE_CHECKING:
    from vips_core.models.logistic.model import BayesianLogistic

MOMENTS, GRADIENT, CURVATURE = "moments", "gradient and curvature's diagonal", "curvature"
CALIBRATION = "calibration"
DEFAULT = Constants()
LEAST = 1e-9  # least eigenvalue over the average: noise may make it negative


def expected_signal(plan: PrivacyPlan, features: int) -> float:
    """Return the signal over noise of an average coefficient, for balanced classes, from public quantities.

    This is s of the module's docstring. Below 1, noise hides most coefficients.

    Examples
    --------
    >>> plan = PrivacyPlan(records=400, expected_batch=400, steps=16, noise_multiplier=60.0, delta=1e-6)
    >>> round(expected_signal(plan, 32), 1)
    0.5
    """
    slope = plan.records * DEFAULT.minority_mean / 2 / (features + 1)
    return float(slope * DEFAULT.prior_log_odds / math.sqrt(plan.signal_to_noise**-2 + slope))


class Refined:
    """The refined variant's algorithm; see `vips_core.models.base.Algorithm`."""

    def __init__(self, model: "BayesianLogistic", constants: Constants = DEFAULT) -> None:
        self.model, self.d, self.constants = model, len(model.features), constants
        self.noise_free = NoiseFree(model)

    # --- Plan and schedule ---------------------------------------------------------------------------------

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return at most 16 full batches, which lose nothing to subsampling."""
        epochs = min(epochs, self.constants.most_steps)
        return most_efficient(records=records, epsilon=epsilon, delta=delta, epochs=epochs)

    def schedule(self, plan: PrivacyPlan) -> Schedule:
        """Return the release of each step; moments and matrices only if they are visible in the noise."""
        c = self.constants
        each = max(1, round(plan.steps / c.release_every))
        long = plan.steps >= c.moments_from
        share = math.sqrt(each / plan.steps)  # of the signal to noise, for the moments
        error = self._moment_block.bound / (plan.records * plan.signal_to_noise * share)  # of a column's mean
        moments = each if long and error < c.mean_std else 0
        visibility = plan.records * plan.signal_to_noise / (self.d + 1) ** 1.5
        early, late = moments + c.warm_steps, round(plan.steps * c.matrix_late)
        matrix = each if visibility >= c.visible_matrix and early + each < late else 0
        if visibility < c.clear_matrix:
            early = late
        matrices = matrix * (1 if early == late else 2)
        calibration = each if long and c.slope_std else 0
        gradients = plan.steps - moments - matrices - calibration
        signal = expected_signal(plan, self.d)
        averaging = c.averaging * (1 + min(signal**2 / (1 + signal) / gradients, 1.0))
        return Schedule(moments, matrix, early, late, calibration, gradients, averaging)

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the step's block: moments, gradients with curvature matrices in between, calibration."""
        if plan.noise_multiplier == 0:
            return self.noise_free.blocks(plan, step)
        schedule = self.schedule(plan)
        if step < schedule.moments:
            return {MOMENTS: self._moment_block}
        if step >= plan.steps - schedule.calibration:
            return {CALIBRATION: Block(1.0, shape=(5,))}
        if schedule.matrix_number(step) is not None:
            return {CURVATURE: Block(1.0, shape=(self.d + 1, self.d + 1))}
        return {GRADIENT: Block(1.0, shape=(2 * self.d + 3,))}

    @property
    def _missing(self) -> NDArray[np.int64]:
        return np.array(self.model.missing_pairs or (), np.int64).reshape(-1, 2)

    @property
    def _moment_block(self) -> Block:
        radius = self.model.radius or self.model.norm_bound * self.constants.moment_radius
        return sums.moment_block(self.model.norm_bound, radius, self.d)

    # --- E-step --------------------------------------------------------------------------------------------

    def sums(
        self, params: Posterior | PolyaGammaPosterior, batch: Table, blocks: Mapping[str, Block]
    ) -> dict[str, Array]:
        """Return the sums of the step's block."""
        if isinstance(params, PolyaGammaPosterior):
            return self.noise_free.sums(params, batch, blocks)
        ((name, block),) = blocks.items()
        if name == MOMENTS:
            return {name: sums.moments(batch, self.model.norm_bound, block)}
        if name == CALIBRATION:
            return {name: sums.calibration(batch, params.coordinates, params.calibration, block)}
        measured = sums.gradient_and_diagonal if name == GRADIENT else sums.curvature
        return {name: measured(batch, params.coordinates, params.state.point, block)}

    # --- M-step --------------------------------------------------------------------------------------------

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> Posterior | PolyaGammaPosterior:
        """Return the prior, in raw columns."""
        if plan.noise_multiplier == 0:
            return self.noise_free.init(plan, rng)
        d, c, schedule = self.d, self.constants, self.schedule(plan)
        found = coordinates.unmeasured(self.model.norm_bound, d, self._missing, c)
        matrix = np.zeros((d + 1, d + 1) if schedule.matrix else (0, 0))
        prior, zeros = (c.prior_log_odds * found.scale) ** 2, np.zeros(d + 1)
        state = OptimiserState(
            schedule=schedule,
            records=plan.records,
            moments=np.zeros(2 * d + 2),
            positive=0.5,
            point=zeros,
            last_point=zeros,
            last_gradient=zeros,
            mean_point=zeros,
            mean_gradient=zeros,
            mean_measured=np.zeros(d + 2),
            mean_spread=0.0,
            diagonal=np.ones(d + 1),
            matrix=matrix,
            released=curvature.no_directions(d + 1),
            learned=curvature.no_directions(d + 1),
            minority=0.5,
        )
        return Posterior(
            mean=np.zeros(d),
            coefficient_variance=prior,
            privacy_variance=prior,
            slopes=np.zeros(d),
            level=0.0,
            covariance=np.diag(prior) if schedule.matrix else prior,
            level_variance=c.prior_level**2,
            widening=1.0,
            usual_variance=0.0,
            coordinates=found,
            calibration=Calibration(zeros[1:], np.array([0.0, 1.0]), None, 1.0, 0.0),
            state=state,
        )

    def update(
        self, params: Posterior | PolyaGammaPosterior, released: Released, step: int
    ) -> Posterior | PolyaGammaPosterior:
        """Use a release of moments, a matrix or a gradient; after a gradient, compute the posterior."""
        if isinstance(params, PolyaGammaPosterior):
            return self.noise_free.update(params, released, step)
        (name,) = released.sums
        total, noise_std, state = released.total(name), released.total_std(name), params.state
        if name == MOMENTS:
            return self._with_moments(params, total, noise_std, step)
        if name == CALIBRATION:
            return posterior.calibrated(params, total, noise_std, self.constants)
        number = state.schedule.matrix_number(step)
        if number is not None:
            return replace(params, state=self._with_matrix(state, total, noise_std, number + 1))
        return self._after_gradient(params, total, noise_std, state.schedule.gradients_before(step))

    def _with_moments(self, params: Posterior, total: Array, noise_std: float, step: int) -> Posterior:
        """Choose coordinates, and start at the level given by the labels."""
        state = params.state
        moments = state.moments + (total - state.moments) / (step + 1)
        std = noise_std / math.sqrt(step + 1)
        found = coordinates.from_moments(
            moments,
            std,
            self.model.norm_bound,
            self._moment_block.bound,
            state.records,
            self._missing,
            self.constants,
        )
        positive = coordinates.positive_share(moments, std)
        error = std / self._moment_block.bound / (state.records * positive * (1 - positive))
        level = logit(positive) / (1 + (error / self.constants.prior_level) ** 2)
        point = np.append(level / found.constant, np.zeros(self.d))
        state = replace(state, moments=moments, positive=positive, point=point)
        return replace(params, coordinates=found, state=state)

    def _with_matrix(
        self, state: OptimiserState, total: Array, noise_std: float, releases: int
    ) -> OptimiserState:
        """Average a released matrix, and shrink the eigenvalues of its difference from the diagonal.

        A Wigner matrix of standard deviation ν has eigenvalues up to e = 2ν√d. An eigenvalue v above that
        edge is shrunk to √(v² − e²), optimal in Frobenius norm for a few large values; others become 0.
        """
        scale = 4 * (1 - state.minority)  # from 4p(1−p) to m
        matrix, average = state.matrix + (total / scale - state.matrix) / releases, state.diagonal[1:].mean()
        noise = noise_std / scale / math.sqrt(2 * releases)
        values, vectors = np.linalg.eigh(symmetrised(matrix) - np.diag(state.diagonal))
        edge = 4 * noise**2 * len(values)
        left = np.sign(values) * np.sqrt(np.maximum(values**2 - edge, 0.0))
        shrunk = np.diag(state.diagonal) + (vectors * left) @ vectors.T
        values, vectors = np.linalg.eigh(shrunk)
        return replace(state, matrix=matrix, released=LowRankCurvature(vectors, values / average))

    def _after_gradient(self, params: Posterior, total: Array, noise_std: float, taken: int) -> Posterior:
        """Take one gradient step, then compute the posterior from the averages so far."""
        constant, weights = params.coordinates.constant, params.state.schedule.step_weights(taken)
        gradient, measured = total[: self.d + 1], total[self.d + 1 :]
        state = self._with_diagonal(params, measured, noise_std, weights)
        known = state.released.values.size > 0
        guided = known and state.schedule.early < state.schedule.late
        if taken:
            state = self._with_learned_direction(state, gradient, noise_std, guided)
        # The step: in each direction, a part of a Newton step.
        directions = self._directions(state, guided)
        pace = self._pace(state, constant, directions, noise_std)
        move = directions.apply(pace.step / directions.curvature, gradient)
        spread = posterior.over_records(state, constant, directions, state.point)[1]
        rate = weights[-1]
        state = replace(
            state,
            last_point=state.point,
            last_gradient=gradient,
            point=state.point + move,
            mean_point=state.mean_point + (state.point - state.mean_point) * rate,
            mean_gradient=state.mean_gradient + (gradient - state.mean_gradient) * rate,
            mean_spread=state.mean_spread + (spread - state.mean_spread) * rate,
        )
        # The estimate: the average point plus the rest of a Newton step at the average gradient.
        newton = pace.total_step / (2 + pace.total_step) / directions.curvature
        estimate = state.mean_point + directions.apply(newton, state.mean_gradient)
        # The posterior uses all known curvature, even if it does not guide steps.
        directions = self._directions(state, known)
        pace = self._pace(state, constant, directions, noise_std)
        variance = noise_std**2 * float(weights @ weights)  # of the average gradient
        params = replace(params, state=state)
        return posterior.laplace(params, estimate, directions, pace, variance, self.constants)

    def _with_diagonal(
        self, params: Posterior, measured: Array, noise_std: float, weights: Array
    ) -> OptimiserState:
        """Average the measured curvature, and divide the slopes' total among columns by their squares."""
        state, found = params.state, params.coordinates
        mean = state.mean_measured + (measured - state.mean_measured) * weights[-1]
        noise = (noise_std / kernels.TOTALS) ** 2 * (weights @ weights)
        rarer_label = state.records * min(state.positive, 1 - state.positive)
        prior = self.constants.minority_mean * rarer_label
        spread = (self.constants.minority_std * rarer_label) ** 2
        totals = (mean[-2:] / kernels.TOTALS * spread + prior * noise) / (spread + noise)
        least = math.sqrt(spread * noise / (spread + noise))  # a total below its own error is unknown
        level_total, slope_total = np.clip(totals, least, state.records / 2)  # m ≤ ½
        minority = float(level_total / state.records)
        of_level = level_total * (1 - minority) * found.constant**2  # p(1−p) = m(1−m)
        slope_total *= math.sqrt(1 - (kernels.CURVATURE_NORM * minority) ** 2)
        std = noise_std * float(np.linalg.norm(weights))
        squares = nonnegative_shrinkage(mean[:-2], std, kernels.SQUARES / 2 * state.records) * found.reach
        diagonal = np.append(of_level, slope_total * squares / squares.sum())
        return replace(state, mean_measured=mean, diagonal=diagonal, minority=minority)

    def _with_learned_direction(
        self, state: OptimiserState, gradient: Array, noise_std: float, guided: bool
    ) -> OptimiserState:
        """Learn a direction from the change of the gradient since the last step."""
        c, directions = self.constants, self._directions(state, guided)
        move, change = state.point - state.last_point, state.last_gradient - gradient
        known = directions.apply(directions.curvature, move)
        found = curvature.rank_one_update(known, move, change, noise_std, c.min_z_direction)
        if found is None:
            return state
        direction, excess = found
        excess = min(excess / state.diagonal[1:].sum(), 1.0)  # no curvature exceeds the diagonal's sum
        if guided:
            more = curvature.add_direction(state.released, direction, excess * self.d, self.d + 1)
            return replace(state, released=more)
        more = curvature.add_direction(state.learned, direction, excess, c.most_directions)
        return replace(state, learned=more)

    def _directions(self, state: OptimiserState, with_matrix: bool) -> Directions:
        """Return the known curvature: of the released matrix, or of the diagonal and learned directions."""
        diagonal, (released, learned) = state.diagonal, (state.released, state.learned)
        if with_matrix:
            values = np.maximum(released.values, LEAST) * diagonal[1:].mean()
            return Directions(np.append(diagonal, values), released.vectors)
        values = diagonal @ learned.vectors**2 + learned.values * diagonal[1:].sum()
        return Directions(np.append(diagonal, values), learned.vectors)

    def _pace(self, state: OptimiserState, constant: float, directions: Directions, noise_std: float) -> Pace:
        """Return the length of steps along directions, given the noise's standard deviation in a gradient."""
        c, steps, values = self.constants, state.schedule.gradients, directions.curvature
        axes = np.append((c.prior_level / constant) ** 2, np.full(self.d, c.prior_log_odds**2))
        prior = directions.along(axes)
        # Variance of the weighted residuals, Σ v²p(1−p)z²; this formula for Σm²/Σm is exact for m = ½ and for
        # uniform m.
        sampling = values / (1 - state.minority * (5 - 4 * state.minority) / 3)
        signal = values * np.sqrt(prior / (noise_std**2 / steps + sampling))
        total_step = signal**2 / (1 + signal)
        return Pace(prior, sampling, total_step, np.minimum(c.largest_step, total_step / steps))

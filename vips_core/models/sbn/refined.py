"""The refined sigmoid belief network: private second moments of the pixels, and a network fitted to them.

symbol       code           shape
-----------  -------------  -----------------------------------------------------------------------------
m            pixel_centre   (J,): the mean image, released in the first step
r̃ = [u, y−m] residuals      (n, J+1), u a public constant; row u measures total weight and the error of m
Σ r̃r̃ᵀ        second         (J+1)(J+2)/2 upper triangle, averaged over steps
cov(y)       covariance     (J, J)
W, c, b      weights,       (J, K), (J,), (K,)
             pixel_bias,
             hidden_logit

This is no longer variational Bayes: the network is fitted to Gaussian moments. With ⟨ξ⟩ fixed at its bound ¼,
the hidden units of an image depend on Wᵀy alone, which is nearly Gaussian for many pixels. So training needs
only the mean and covariance of the pixels: the network is fitted to Gaussian images with these moments, in
any number of rounds, and no record is read again. `METHOD.md` explains the method.

These did not help on patches, MNIST, generated digits, MNIST of 8 × 8 pixels and its outlines: eigenvalues
cut at the noise's edge (.912 instead of .949 for 1,500 images of MNIST at ε = 0.5), prior variances
proportional to the eigenvalues of the prior (.8726 instead of .8773 for outlines, whose neighbouring pixels
differ), half of the budget for a later release of the records' hidden units, more rounds, and more Gaussian
images. A tenth of the prior added to the covariance helps patches (.812 instead of .804 without noise) and
hurts 8 × 8 pixels (.8755 instead of .8782).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, lowered, right_factor, row_sums, square_step
from vips_core.kernels.pool import grouped_sums
from vips_core.kernels.symmetric import from_triangles, symmetrised, triangles
from vips_core.models.base import Block, Released
from vips_core.models.sbn.kernels import centred_pixel_sums, settle_shared, weighted_products
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Images

if TYPE_CHECKING:
    from vips_core.models.sbn.model import SBN

MAX_PIXELS = 10_000  # training holds about ten J × J matrices of 8 bytes: 8 GB here, and 14 GB with 8 threads
CHUNK = 512  # images at a time
CURVATURE = 0.25  # ⟨ξ⟩ of PG(1, 0), its largest possible value
# Two limits that matter only where noise drowns a release.
MEAN_RANGE = (0.002, 0.998)  # least and largest pixel of the mean image
WEIGHT_FLOOR = 0.1  # least total weight of the records, as a share of N


@dataclass(frozen=True)
class Constants:
    """Tunable constants of the refined variant.

    "Tuned" means chosen by held-out pixel accuracy on MNIST, generated digits and patches of photographs.
    `tests/benchmarks/utility/ablation_sbn.py` measures the scores without each mechanism.

    Attributes
    ----------
    steps
        Releases of a recommended plan: the mean image, then moments. Tuned; with 1 there is no mean image.
    residual_clip
        Bound on ‖y − m‖, in units of √pixels. Derived: the root mean square residual of binary images around
        their mean.
    total_row
        u, the constant beside the residuals, in units of their bound. Its row of the moments measures the
        total weight of the records and the error of the mean image. Tuned.
    neighbour_range
        Distance of two pixels, in shorter sides of an image, at which their expected covariance falls by a
        factor of exp(−½). Tuned; a value near 0 treats pixels as unordered.
    groups
        Number of groups of eigenvectors; a group shares its prior variance. Tuned; 1 for a single prior.
    rounds
        Rounds of fitting the network to the moments. Tuned; 3 are nearly as good.
    simulated
        Gaussian images in each round; at least four per hidden unit are drawn. Tuned for time: more do not
        change scores.
    forgetting
        κ: round t enters the average over rounds with weight t^−κ. Tuned; 0 takes the newest round alone.
    start_scale
        Standard deviation of the initial weights. Any small number works.
    logit_gain
        Factor on the logits when an image is decoded, because a tangent at 0 flattens them. Tuned for the
        likelihood of held-out digits, where 2.5 to 3.5 work equally well; pixel accuracy does not depend on
        it.
    sweeps, tolerance
        Largest number of mean-field sweeps over an image, and the change in ⟨z⟩ below which they stop.
    """

    steps: int = 4
    residual_clip: float = 0.32
    total_row: float = 0.5
    neighbour_range: float = 1 / 16
    groups: int = 16
    rounds: int = 6
    simulated: int = 2000
    forgetting: float = 0.7
    start_scale: float = 0.2
    logit_gain: float = 3.0
    sweeps: int = 20
    tolerance: float = 0.01


CONSTANTS = Constants()


@dataclass(frozen=True)
class RefinedParams:
    """Parameters, the averaged noisy moments behind them, and their noise: all of it may be published."""

    weights: Array
    pixel_bias: Array
    hidden_logit: Array
    pixel_centre: Array
    second: Array
    centre_std: float
    second_std: float
    records: int
    steps: int
    logit_gain: float = CONSTANTS.logit_gain


class Refined:
    """The refined algorithm; see `vips_core.models.base.Algorithm`."""

    def __init__(self, model: "SBN", constants: Constants = CONSTANTS) -> None:
        self.pixels, self.hidden, self.constants = model.pixels, model.hidden, constants
        self.image_shape = model.image_shape

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> RefinedParams:
        """Return a random dictionary, smoothed over neighbouring pixels if the image shape is known."""
        smoothing = self.constants.start_scale * self._agreement(root=True)
        return RefinedParams(
            weights=smoothing @ rng.standard_normal((self.pixels, self.hidden)),
            pixel_bias=np.zeros(self.pixels),
            hidden_logit=np.zeros(self.hidden),
            pixel_centre=np.full(self.pixels, 0.5),
            second=np.zeros((self.pixels + 1) * (self.pixels + 2) // 2),
            centre_std=0.0,
            second_std=0.0,
            records=plan.records,
            steps=plan.steps,
            logit_gain=self.constants.logit_gain,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the mean image in the first of several steps (‖y − ½‖ = √J/2), then the second moments.

        A plan of one step has no mean image: its residuals are y − ½.
        """
        if step == 0 and plan.steps > 1:
            return {"pixels": Block(float(np.sqrt(self.pixels) / 2), shape=(self.pixels,))}
        return {"second": Block(self._bound(plan.steps), shape=(self.pixels + 1, self.pixels + 1))}

    def sums(self, params: RefinedParams, batch: Images, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return Σ(y − ½) for the mean image, or the sum of clipped second moments, over the batch."""
        if "pixels" in blocks:
            return {"pixels": centred_pixel_sums(batch, blocks["pixels"])}
        block, row_weights, unit = blocks["second"], batch.row_weights, self._unit(params.steps)
        bound = lowered(block.bound, cells=self.pixels + 1)

        def chunk_sums(start: int, stop: int) -> tuple[Array]:
            residuals = np.full((stop - start, self.pixels + 1), unit)
            residuals[:, 1:] = batch.unpack(np.float64, slice(start, stop)) - params.pixel_centre
            within = np.minimum(1, bound / row_sums(residuals**2))
            residuals *= np.sqrt(row_weights[start:stop] * within)[:, None]
            roots = cut(residuals, square_step(block.grid))
            return (roots.T @ roots,)

        (second,) = grouped_sums(chunk_sums, lambda: (np.zeros(block.shape),), batch.row_count, CHUNK)
        return {"second": second}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Take the mean image, or average the moments; fit the network in steps 1, 3, 7 … and the last."""
        if "pixels" in released.sums:
            mean = 0.5 + np.asarray(released.total("pixels"), np.float64) / params.records
            deviation = released.total_std("pixels") / params.records
            params = replace(params, pixel_centre=np.clip(mean, *MEAN_RANGE), centre_std=deviation)
            half = np.full(self.hidden, 0.5)
            return _with_biases(params, params.pixel_centre, params.weights, half)
        seen = max(step, 1)
        new = triangles(symmetrised(released.total("second")))
        params = replace(
            params,
            second=params.second + (new - params.second) / seen,
            second_std=float(np.hypot((seen - 1) * params.second_std, released.total_std("second")) / seen),
        )
        # Gaps between fits double, because a fit may take longer than a step.
        if step + 1 == params.steps or step & (step + 1) == 0:
            return self._fit_network(params)
        return params

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return a plan of `steps` steps (4), with batches as large as the compute allows."""
        steps = self.constants.steps
        batch = min(records, max(1, int(records * epochs / steps)))
        plan = PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta)
        return plan.calibrate(epsilon)

    def latents(self, params: RefinedParams, images: Array) -> Array:
        """Return ⟨z⟩ of each image, from ⟨z⟩ = ½ under ⟨ξ⟩ = ¼; it does not depend on other images.

        The product with images is exact. Terms that all images share are summed in a fixed order, because
        BLAS may round differently from one call to the next.
        """
        weights = right_factor(params.weights, 0)
        gram = weighted_products(weights, np.full(self.pixels, CURVATURE), weights)
        shift = 0.5 + CURVATURE * params.pixel_bias
        centre = weighted_products(weights, shift, np.ones((self.pixels, 1)))[:, 0]
        mu = np.full((len(images), self.hidden), 0.5)
        field = images @ weights + (params.hidden_logit - centre)
        settle_shared(field, gram, mu, self.constants.sweeps, self.constants.tolerance)
        return mu

    def _bound(self, steps: int) -> float:
        clip = self.constants.residual_clip if steps > 1 else 0.5
        return float(clip**2 * self.pixels * (1 + self.constants.total_row**2))

    def _unit(self, steps: int) -> float:
        return self.constants.total_row * float(
            np.sqrt(self._bound(steps) / (1 + self.constants.total_row**2))
        )

    def _fit_network(self, params: RefinedParams) -> RefinedParams:
        """Fit the network to the moments."""
        constants = self.constants
        mean, covariance, noise_std = self._moments(params)
        if noise_std > 0:
            deviation = np.sqrt(mean * (1 - mean))
            axes = np.linalg.eigh(deviation[:, None] * self._agreement() * deviation)[1]
            covariance = denoised(covariance, axes, noise_std, constants.groups)
        draws = _draws(max(constants.simulated, 4 * self.hidden), self.hidden)
        params = _with_biases(params, mean, params.weights, np.full(self.hidden, 0.5))
        averages: tuple[Array, ...] = ()
        for step in range(1, constants.rounds + 1):
            rate = step**-constants.forgetting
            new = _simulated_moments(params, mean, covariance, draws, constants)
            averages = tuple(
                (1 - rate) * old + rate * one for old, one in zip(averages or new, new, strict=True)
            )
            units, cross, second = averages
            spread, axes = np.linalg.eigh(second - np.outer(units, units))
            weights = cross @ axes / (CURVATURE * spread) @ axes.T
            params = _with_biases(params, mean, weights, units)
        return params

    def _moments(self, params: RefinedParams) -> tuple[Array, Array, float]:
        """Return mean and covariance of the pixels, and the standard deviation of the covariance's noise.

        The row of u measures the error of the released mean image; the two are combined by their known noise.
        """
        second, unit = from_triangles(params.second, self.pixels + 1), self._unit(params.steps)
        # Limited because noise may drown the total weight.
        weight = float(np.clip(second[0, 0] / unit**2, WEIGHT_FLOOR * params.records, params.records))
        noise_std = params.second_std / weight / np.sqrt(2)
        off = second[1:, 0] / (unit * weight)
        if params.centre_std > 0:
            off *= params.centre_std**2 / (params.centre_std**2 + (noise_std / unit) ** 2)
        covariance = second[1:, 1:] / weight - np.outer(off, off)
        return np.clip(params.pixel_centre + off, *MEAN_RANGE), covariance, float(noise_std)

    def _agreement(self, root: bool = False) -> Array:
        """Return G or its square root: the expected agreement of two pixels, exp(−distance²/2ℓ²)."""
        if self.image_shape is None:
            return np.eye(self.pixels)
        length, sides = min(self.image_shape) * self.constants.neighbour_range, []
        for size in self.image_shape:
            places = np.arange(size)
            side = np.exp(-((places[:, None] - places) ** 2) / (2 * length**2))
            if root:
                values, vectors = np.linalg.eigh(side)
                side = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
            sides.append(side)
        return np.asarray(np.kron(*sides), np.float64)


def denoised(covariance: Array, axes: Array, noise_std: float, groups: int) -> Array:
    """Return the posterior mean of a covariance matrix with symmetric noise, without negative eigenvalues.

    The prior's eigenvectors vᵢ form groups of similar eigenvalues. For i ≠ j, cov(vᵢᵀy, vⱼᵀy) is N(0, s) with
    one s for each pair of groups, and the variances within a group are normal around their mean. Moments
    estimate all of these.

    Parameters
    ----------
    covariance
        (J, J) noisy covariance; on the diagonal the noise has twice the variance.
    axes
        (J, J) eigenvectors of the prior in the order of their eigenvalues.
    noise_std
        Standard deviation of the noise off the diagonal, above 0.
    groups
        Number of groups of eigenvectors.
    """
    size = len(covariance)
    along = axes.T @ covariance @ axes
    variances, noise = np.diag(along).copy(), noise_std**2
    group = np.arange(size) * min(groups, size) // size
    member = np.asarray(group[:, None] == np.arange(group[-1] + 1), np.float64)
    count = member.sum(axis=0)
    typical = np.maximum(member.T @ variances / count, 0)[group]
    spread = np.maximum(member.T @ (variances - typical) ** 2 / count - 2 * noise, 0)[group]
    squares = along**2 - noise
    np.fill_diagonal(squares, 0)
    pairs = np.maximum(np.outer(count, count) - np.diag(count), 1)
    signal = np.maximum(member.T @ squares @ member / pairs, 0)
    del squares  # frees a J × J matrix before the next ones are made
    along *= (signal / (signal + noise))[np.ix_(group, group)]
    np.fill_diagonal(along, typical + (variances - typical) * spread / (spread + 2 * noise))
    values, vectors = np.linalg.eigh(along)
    root = (axes @ vectors) * np.sqrt(np.maximum(values, 0))
    return np.asarray(root @ root.T)


def _simulated_moments(
    params: RefinedParams, mean: Array, covariance: Array, draws: Array, constants: Constants
) -> tuple[Array, Array, Array]:
    """Return ⟨z⟩, cov(y, z) and ⟨zzᵀ⟩ over Gaussian images y: Wᵀy is drawn, and y regressed on it."""
    weights = params.weights
    image_field = covariance @ weights
    spread, axes = np.linalg.eigh(weights.T @ image_field)
    spread = np.maximum(spread, 1e-9 * max(spread[-1], 1e-9))
    centre = (mean - 0.5 - CURVATURE * params.pixel_bias) @ weights + params.hidden_logit
    field = draws @ (axes * np.sqrt(spread)).T + centre
    mu = np.full_like(field, 0.5)
    settle_shared(field, CURVATURE * weights.T @ weights, mu, constants.sweeps, constants.tolerance)
    units, count = mu.mean(axis=0), len(mu)
    cross = image_field @ (axes / np.sqrt(spread)) @ (draws.T @ (mu - units) / count)
    second = mu.T @ mu / count
    second[np.diag_indices(len(second))] += (mu * (1 - mu)).mean(axis=0)
    return units, cross, second


def _draws(count: int, hidden: int) -> Array:
    """Return fixed standard normal draws, adjusted to sample mean 0 and sample covariance I."""
    draws = np.random.default_rng(0).standard_normal((count, hidden))
    draws -= draws.mean(axis=0)
    return np.asarray(np.linalg.qr(draws)[0] * np.sqrt(count))


def _with_biases(params: RefinedParams, mean: Array, weights: Array, units: Array) -> RefinedParams:
    """Set the biases so that average hidden units give the average image: the regression's intercept."""
    return replace(
        params,
        weights=weights,
        pixel_bias=(mean - 0.5) / CURVATURE - weights @ units,
        hidden_logit=np.log(units / (1 - units)),
    )

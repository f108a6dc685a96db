"""The refined sigmoid belief network: private second moments of the images, and a network fitted to them.

symbol          code           shape
--------------  -------------  --------------------------------------------------------------------------
m               pixel_centre   (J,): the mean image, released in the first step
B               basis          (J, r): smooth images in which moments are released, r ≤ 400
r̃ = [u, Bᵀ(y−m)] residuals     (n, r+1), u a public constant; row u measures total weight and the error of m
Σ r̃r̃ᵀ           second         (r+1)(r+2)/2 upper triangle, averaged over steps
cov(Bᵀy)        covariance     (r, r)
W, c, b         weights,       (J, K), (J,), (K,)
                pixel_bias,
                hidden_logit
R               readout        (J, K): the regression of images on ⟨z⟩
g               logit_gain     ½/√(the mean variance of a pixel that ⟨z⟩ does not explain)

This is no longer variational Bayes: the network is fitted to Gaussian moments. With ⟨ξ⟩ fixed at its bound ¼,
the hidden units of an image depend on Wᵀy alone, which is nearly Gaussian for many pixels. So training needs
only the mean and covariance of images: the network is fitted to Gaussian images with these moments, in any
number of rounds, and no record is read again. W lies in the span of B, so all of this is done in r
coordinates, and time and memory are linear in pixels. `METHOD.md` explains the method.
"""

import math
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
from vips_core.models.sbn.smooth import Smooth, group_means, posterior
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Images

if TYPE_CHECKING:
    from vips_core.models.sbn.model import SBN

MAX_PIXELS = 65_536  # training holds a few J × r matrices of 8 bytes: about 2.5 GB here
MAX_UNORDERED = 10_000  # without an image shape, r = J: about ten J × J matrices, 8 GB here
CHUNK = 512  # images at a time
CURVATURE = 0.25  # ⟨ξ⟩ of PG(1, 0), its largest possible value
START_SCALE = 0.2  # standard deviation of the initial weights; any small number works
SWEEPS, TOLERANCE = 20, 0.01  # most mean-field sweeps over an image, and the change in ⟨z⟩ that ends them
# Two limits that matter only where noise drowns a release.
MEAN_RANGE = (0.002, 0.998)  # least and largest pixel of the mean image
WEIGHT_FLOOR = 0.1  # least total weight of the records, as a share of N


@dataclass(frozen=True)
class Constants:
    """Tunable constants of the refined variant.

    "Tuned" means chosen by held-out pixel accuracy on MNIST, glyphs and patches of photographs.
    `tests/benchmarks/utility/ablation_sbn.py` measures the scores without each mechanism.

    Attributes
    ----------
    steps
        Releases of a recommended plan: the mean image, then moments. Tuned, 3 to 6 are equally good; with 1
        there is no mean image.
    residual_clip
        Bound on ‖Bᵀ(y − m)‖, in units of the root mean square of ‖y − m‖, which follows from the mean image.
        Tuned; 0.7 to 1 are equally good.
    total_row
        u, the constant beside the residuals, in units of their bound. Its row of the moments measures the
        total weight of the records and the error of the mean image. Tuned.
    rank
        r, the largest number of smooth images in the basis. Tuned for time: 256 to 768 score alike.
    neighbour_range
        Distance of two pixels, in shorter sides of an image, at which their expected covariance falls by a
        factor of exp(−½). Tuned; a value near 0 treats pixels as unordered.
    rounds
        Rounds of fitting the network to the moments. Tuned; 3 are equally good.
    simulated
        Gaussian images in each round; at least four per hidden unit are drawn. Tuned for time: more do not
        change scores.
    """

    steps: int = 4
    residual_clip: float = 0.85
    total_row: float = 0.5
    rank: int = 400
    neighbour_range: float = 1 / 16
    rounds: int = 2
    simulated: int = 2000


CONSTANTS = Constants()


@dataclass(frozen=True)
class RefinedParams:
    """Parameters, the averaged noisy moments behind them, and their noise: all of it may be published."""

    weights: Array
    pixel_bias: Array
    hidden_logit: Array
    readout: Array
    pixel_centre: Array
    basis: Array
    second: Array
    centre_std: float
    second_std: float
    records: int
    steps: int
    logit_gain: float = 1.0


class Refined:
    """The refined algorithm; see `vips_core.models.base.Algorithm`."""

    def __init__(self, model: "SBN", constants: Constants = CONSTANTS) -> None:
        self.pixels, self.hidden, self.constants = model.pixels, model.hidden, constants
        self.smooth = Smooth(model.image_shape, constants.neighbour_range) if model.image_shape else None
        self.rank = min(self.pixels, constants.rank) if self.smooth else self.pixels

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> RefinedParams:
        """Return a random dictionary of smooth images if the image shape is known."""
        centre = np.full(self.pixels, 0.5)
        basis = self._basis(centre)
        return RefinedParams(
            weights=START_SCALE * basis @ rng.standard_normal((self.rank, self.hidden)),
            pixel_bias=np.zeros(self.pixels),
            hidden_logit=np.zeros(self.hidden),
            readout=np.zeros((self.pixels, self.hidden)),
            pixel_centre=centre,
            basis=basis,
            second=np.zeros((self.rank + 1) * (self.rank + 2) // 2),
            centre_std=0.0,
            second_std=0.0,
            records=plan.records,
            steps=plan.steps,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the mean image in the first of several steps (‖y − ½‖ = √J/2), then the second moments.

        A plan of one step has no mean image: its residuals are y − ½. Moments are in units of `_bound`.
        """
        if step == 0 and plan.steps > 1:
            return {"pixels": Block(float(np.sqrt(self.pixels) / 2), shape=(self.pixels,))}
        return {"second": Block(1.0, shape=(self.rank + 1, self.rank + 1))}

    def sums(self, params: RefinedParams, batch: Images, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return Σ(y − ½) for the mean image, or the sum of clipped second moments, over the batch.

        The product of an image with the basis is exact, so it does not depend on other images.
        """
        if "pixels" in blocks:
            return {"pixels": centred_pixel_sums(batch, blocks["pixels"])}
        block, row_weights = blocks["second"], batch.row_weights
        scale = 1 / np.sqrt(self._bound(params))
        factors = right_factor(params.basis * scale, 0)
        centre = weighted_products(factors, params.pixel_centre, np.ones((self.pixels, 1)))[:, 0]
        unit, limit = scale * self._unit(params), lowered(block.bound, cells=self.rank + 1)

        def chunk_sums(start: int, stop: int) -> tuple[Array]:
            residuals = np.full((stop - start, self.rank + 1), unit)
            residuals[:, 1:] = batch.unpack(np.float64, slice(start, stop)) @ factors - centre
            within = np.minimum(1, limit / row_sums(residuals**2))
            residuals *= np.sqrt(row_weights[start:stop] * within)[:, None]
            roots = cut(residuals, square_step(block.grid))
            return (roots.T @ roots,)

        (second,) = grouped_sums(chunk_sums, lambda: (np.zeros(block.shape),), batch.row_count, CHUNK)
        return {"second": second}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Take the mean image, or average the moments; fit the network in steps 1, 3, 7 … and the last."""
        if "pixels" in released.sums:
            return self._with_mean(params, released)
        seen, unit = max(step, 1), self._bound(params)
        new = unit * triangles(symmetrised(released.total("second")))
        noise_std = unit * released.total_std("second")
        params = replace(
            params,
            second=params.second + (new - params.second) / seen,
            second_std=float(np.hypot((seen - 1) * params.second_std, noise_std) / seen),
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
        settle_shared(field, gram, mu, SWEEPS, TOLERANCE)
        return mu

    def _bound(self, params: RefinedParams) -> float:
        """Return the bound on ‖r̃‖². For binary images, the mean of ‖y − m‖² is Σ m(1 − m)."""
        constants, centre = self.constants, params.pixel_centre
        mean_square = float((centre * (1 - centre)).sum())
        return constants.residual_clip**2 * mean_square * (1 + constants.total_row**2)

    def _unit(self, params: RefinedParams) -> float:
        u = self.constants.total_row
        return u * float(np.sqrt(self._bound(params) / (1 + u**2)))

    def _basis(self, centre: Array) -> Array:
        """Return the leading eigenvectors of DGD, D the pixels' standard deviations, G their agreement."""
        deviation = np.sqrt(centre * (1 - centre))
        if self.smooth is None:
            return np.eye(self.pixels)[:, np.argsort(-deviation, kind="stable")]
        vectors, _, _ = np.linalg.svd(deviation[:, None] * self.smooth.roots(self.rank), full_matrices=False)
        return np.asarray(vectors, np.float64)

    def _with_mean(self, params: RefinedParams, released: Released) -> RefinedParams:
        """Take the released mean image: its posterior mean, and the basis that follows from it."""
        mean: Array = 0.5 + released.total("pixels") / params.records
        noise_std = released.total_std("pixels") / params.records
        if noise_std > 0 and self.smooth is not None:
            along = self.smooth.coordinates(mean - 0.5)
            signal = np.maximum(group_means(along**2) - noise_std**2, 0)
            share = signal / (signal + noise_std**2)
            mean = 0.5 + self.smooth.image(share * along)
            noise_std *= float(np.sqrt(share[: self.rank].mean()))
        mean = np.asarray(np.clip(mean, *MEAN_RANGE), np.float64)
        params = replace(params, pixel_centre=mean, basis=self._basis(mean), centre_std=noise_std)
        return _with_biases(params, mean, params.weights, np.full(self.hidden, 0.5))

    def _fit_network(self, params: RefinedParams) -> RefinedParams:
        """Fit the network to the moments, in coordinates of the basis."""
        mean, covariance = self.denoised_moments(params)
        draws = _draws(max(self.constants.simulated, 4 * self.hidden), self.hidden)
        weights: Array = params.basis.T @ params.weights
        units: Array = np.full(self.hidden, 0.5)
        for _ in range(self.constants.rounds):
            mu, cross = _simulated(weights, covariance, units, draws)
            units = mu.mean(axis=0)
            of_means = mu.T @ mu / len(mu) - np.outer(units, units)
            of_means[np.diag_indices(self.hidden)] += TOLERANCE**2  # ⟨z⟩ is settled up to this
            of_units = of_means + np.diag((mu * (1 - mu)).mean(axis=0))
            weights = np.asarray(np.linalg.solve(CURVATURE * of_units, cross.T).T, np.float64)
        readout = np.linalg.solve(CURVATURE * of_means, cross.T).T
        unexplained = (mean * (1 - mean)).mean() - CURVATURE * (readout * cross).sum() / self.pixels
        gain = 0.5 / math.sqrt(max(float(unexplained), MEAN_RANGE[0]))
        params = replace(params, readout=params.basis @ readout, logit_gain=gain)
        return _with_biases(params, mean, params.basis @ weights, units)

    def denoised_moments(self, params: RefinedParams) -> tuple[Array, Array]:
        """Return the estimates of the mean image and of cov(Bᵀy)."""
        mean, covariance, noise_std = self._moments(params)
        if noise_std > 0:
            shape = self.smooth.shape if self.smooth else None
            covariance = posterior(covariance, noise_std, params.basis, np.sqrt(mean * (1 - mean)), shape)
        return mean, covariance

    def _moments(self, params: RefinedParams) -> tuple[Array, Array, float]:
        """Return the mean image, cov(Bᵀy), and the standard deviation of the covariance's noise.

        The row of u measures the error of the released mean image; the two are combined by their known noise.
        """
        second, unit = from_triangles(params.second, self.rank + 1), self._unit(params)
        # Limited because noise may drown the total weight.
        weight = float(np.clip(second[0, 0] / unit**2, WEIGHT_FLOOR * params.records, params.records))
        noise_std = params.second_std / weight / np.sqrt(2)
        off = second[1:, 0] / (unit * weight)
        if params.steps > 1:
            error, noise = params.centre_std**2, (noise_std / unit) ** 2
            off *= error / (error + noise) if error > 0 else 0.0
        covariance = np.asarray(second[1:, 1:] / weight - np.outer(off, off), np.float64)
        return np.clip(params.pixel_centre + params.basis @ off, *MEAN_RANGE), covariance, float(noise_std)


def _simulated(weights: Array, covariance: Array, units: Array, draws: Array) -> tuple[Array, Array]:
    """Return ⟨z⟩ of Gaussian images and cov(Bᵀy, z): Wᵀy is drawn, and Bᵀy regressed on it.

    The biases of pixels and units are those of a network whose average units are `units`.
    """
    image_field = covariance @ weights
    spread, axes = np.linalg.eigh(weights.T @ image_field)
    spread = np.maximum(spread, 1e-9 * max(spread[-1], 1e-9))
    gram = CURVATURE * weights.T @ weights
    field = draws @ (axes * np.sqrt(spread)).T + gram @ units + np.log(units / (1 - units))
    mu = np.full_like(field, 0.5)
    settle_shared(field, gram, mu, SWEEPS, TOLERANCE)
    cross = image_field @ (axes / np.sqrt(spread)) @ (draws.T @ (mu - mu.mean(axis=0)) / len(mu))
    return mu, cross


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

"""The refined sigmoid belief network of large images: two statistics, centred, clipped and denoised.

Images of up to 1,024 pixels are trained by `moments`; this file also holds what both share.

symbol            code             shape
----------------  ---------------  -----------------------------------------------------------------------
W, c, b           weights,         (J, K), (J,), (K,)
                  pixel_bias,
                  hidden_logit
⟨z⟩               mu               (n, K)
m, p              pixel_centre,    (J,), (K,): private means of pixels and hidden units from the last step
                  hidden_centre
z̃ = [1, z − p]    units            (n, K+1)
Σ(y − m)z̃ᵀ        cross            (J, K+1), averaged over steps
Σ⟨z̃z̃ᵀ⟩            second           (K+1, K+1), averaged over steps

With ⟨ξ⟩ fixed at its bound ¼, the lower bound of log p(y|z) is quadratic with the same curvature for every
pixel. Two blocks are then all that the M-step needs: W = 4·cov(y, z)·cov(z)⁻¹. Four things make them
precise:

- Centring at private means halves ‖y − m‖·‖z̃‖, and so the noise.
- Each record has one weight min(1, bound/norm) for both blocks, so clipping gives a weighted regression
  instead of a biased one.
- The first dictionary is smooth, because neighbouring pixels are expected to agree (public knowledge).
- A Wiener filter removes noise from cov(y, z); cov(z) gets a ridge of half the noise's spectral norm.

Tried without gain: tangent points that move with the private parameters (mean field then ends in poor optima:
non-private pixel accuracy fell from .963 to .93), a grid of blobs as the first dictionary, a Wiener filter in
the DCT basis, no mean image (.957 instead of .963), more than 12 steps.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, lowered, right_factor, row_sums, square_step
from vips_core.kernels.pool import grouped_sums
from vips_core.kernels.symmetric import symmetrised
from vips_core.models.base import Block, Released
from vips_core.models.sbn.kernels import centred_pixel_sums, settle_shared, weighted_products
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Images

if TYPE_CHECKING:
    from vips_core.models.sbn.model import SBN

CHUNK = 512
CURVATURE = 0.25  # ⟨ξ⟩ of PG(1, 0), the largest value it can have
# Guards for releases that noise drowns; they change nothing elsewhere.
MEAN_RANGE = (0.002, 0.998)  # of the mean image
HIDDEN_RANGE = (0.02, 0.98)  # of the mean of a hidden unit, so that its logit is finite
SPREAD_FLOOR = 1e-3  # smallest eigenvalue of cov(z) that is inverted; a variance is at most ¼
WEIGHT_FLOOR = 0.1  # smallest total weight of the records, as a share of N
CENTRE_STEP = 2.0**-10  # grid of the mean image, so that residuals are exact numbers of few bits
_LAPACK_BLOCK = 32  # columns at a time


@dataclass(frozen=True)
class Constants:
    """Tunable constants of the refined variant.

    "Tuned" means chosen by held-out pixel accuracy on MNIST, generated digits and patches of photographs.
    What each mechanism is worth is measured by `tests/benchmarks/utility/ablation_sbn.py` and told in
    `METHOD.md`.

    Attributes
    ----------
    steps
        Releases of a recommended plan: the mean image, then moments. Tuned; with 1 there is no mean image.
    residual_clip
        Bound of ‖y − m‖ in √pixels. Derived: root mean square residual of binary images around their mean.
    total_row
        u, the constant beside the residuals, in units of their bound: its row of the moments holds the total
        weight of the records and a correction of the mean image. Tuned.
    neighbour_range
        Distance, in shorter sides of an image, at which the expected covariance of two pixels has fallen to
        exp(−½) of its size. Tuned; next to 0, pixels are unordered.
    groups
        Groups of eigenvectors that share a prior variance when noise is removed. Tuned; 1 for one prior.
    rounds
        Rounds of fitting the network to the moments. Tuned: 3 are nearly as good.
    simulated
        Gaussian images of one round, and at least four per hidden unit. Tuned for time: more change nothing.
    forgetting
        κ: the statistics of round or step t weigh t^−κ. Tuned; 0 takes the newest alone.
    start_scale
        Standard deviation of the first weights. Any small number does.
    logit_gain
        Factor of the logits when an image is decoded: a tangent at 0 flattens them. Tuned for the likelihood
        of held-out digits, where 2.5 to 3.5 do equally well; pixel accuracy does not depend on it.
    sweeps, tolerance
        Largest number of mean-field sweeps over an image, and the change in ⟨z⟩ below which they stop.
    large_steps
        `steps` for images of more than 1,024 pixels. Tuned on MNIST at ε = 0.5 and 1.3, where one pass in 12
        steps was better than in 3, 6 or 24; at ε = 0.1, 6 were better (.956 against .954).
    hidden_clip
        Of large images, bound of ‖z − p‖² in hidden units: a little below ¼, the variance of a fair coin.
    second_share
        Of large images, share w of Σ⟨z̃z̃ᵀ⟩ in the budget (w² = .16). Tuned.
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
    large_steps: int = 12
    hidden_clip: float = 0.2
    second_share: float = 0.4


CONSTANTS = Constants()


@dataclass(frozen=True)
class RefinedParams:
    """Parameters and the averaged noisy statistics behind them. All of it is private already."""

    weights: Array
    pixel_bias: Array
    hidden_logit: Array
    pixel_centre: Array
    hidden_centre: Array
    cross: Array
    second: Array
    cross_std: float
    second_std: float
    records: int
    logit_gain: float = CONSTANTS.logit_gain


class Refined:
    """Two statistics of pixels and hidden units; see `vips_core.models.base.Algorithm`."""

    def __init__(self, model: "SBN", constants: Constants = CONSTANTS) -> None:
        self.pixels, self.hidden, self.constants = model.pixels, model.hidden, constants
        self.agreement, self.smoothing = smoothing(model.pixels, model.image_shape, constants.neighbour_range)

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> RefinedParams:
        """Return a random dictionary, smooth where the image shape is known."""
        weights = (
            self.constants.start_scale * self.smoothing @ rng.standard_normal((self.pixels, self.hidden))
        )
        start = RefinedParams(
            weights=weights,
            pixel_bias=np.zeros(self.pixels),
            hidden_logit=np.zeros(self.hidden),
            pixel_centre=np.full(self.pixels, 0.5),
            hidden_centre=np.full(self.hidden, 0.5),
            cross=np.zeros((self.pixels, self.hidden + 1)),
            second=np.zeros((self.hidden + 1, self.hidden + 1)),
            cross_std=0.0,
            second_std=0.0,
            records=plan.records,
            logit_gain=self.constants.logit_gain,
        )
        return _biased(start)

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the mean image in the first of several steps (‖y − ½‖ = √J/2), then both clipped blocks.

        A plan of one step has no mean image: its residuals are y − ½.
        """
        if step == 0 and plan.steps > 1:
            return {"pixels": Block(float(np.sqrt(self.pixels) / 2), shape=(self.pixels,))}
        constants = self.constants
        units = 1 + constants.hidden_clip * self.hidden
        residual = (0.5 if step == 0 else constants.residual_clip) * np.sqrt(self.pixels)
        bound, share = float(residual * np.sqrt(units)), float(np.sqrt(1 - constants.second_share**2))
        return {
            "cross": Block(bound, share, (self.pixels, self.hidden + 1)),
            "second": Block(units, constants.second_share, (self.hidden + 1, self.hidden + 1)),
        }

    def sums(self, params: RefinedParams, batch: Images, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return the sums over the batch of the mean image, or of both clipped blocks."""
        if "pixels" in blocks:
            return {"pixels": centred_pixel_sums(batch, blocks["pixels"])}
        row_weights, hidden_units = batch.row_weights, _hidden_units(params, self.constants)

        def chunk_sums(start: int, stop: int) -> tuple[Array, Array]:
            images, weights = batch.unpack(np.float64, slice(start, stop)), row_weights[start:stop]
            mu = hidden_units(images)
            return _clipped_sums(params, images, mu, weights, blocks["cross"], blocks["second"])

        def zeros() -> tuple[Array, Array]:
            return np.zeros_like(params.cross), np.zeros_like(params.second)

        cross, second = grouped_sums(chunk_sums, zeros, batch.row_count, CHUNK)
        return {"cross": cross, "second": second}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Average the raw noisy statistics over steps, and regress pixels on hidden units."""
        if "pixels" in released.sums:
            mean = 0.5 + released.total("pixels") / params.records
            return _biased(replace(params, pixel_centre=_pixel_centre(mean)))
        rate = max(step, 1) ** -self.constants.forgetting
        noise = {name: released.total_std(name) for name in ("cross", "second")}
        second = symmetrised(released.total("second"))
        params = replace(
            params,
            cross=(1 - rate) * params.cross + rate * released.total("cross"),
            second=(1 - rate) * params.second + rate * second,
            cross_std=float(np.hypot((1 - rate) * params.cross_std, rate * noise["cross"])),
            second_std=float(np.hypot((1 - rate) * params.second_std, rate * noise["second"])),
        )
        return self._regress(_recentred(params))

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Take 12 steps on batches as large as the compute allows.

        On MNIST at ε = 0.5 and 1.3, one pass in 12 steps was better than in 3, 6 or 24; at ε = 0.1, 6 were
        (.956 against .954).
        """
        steps = self.constants.large_steps
        batch = min(records, max(1, math.floor(records * epochs / steps)))
        plan = PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta)
        return plan.calibrate(epsilon)

    def _regress(self, params: RefinedParams) -> RefinedParams:
        """W = cov(y, z)/¼ · cov(z)⁻¹ from the centred statistics, both denoised by their known noise."""
        weight = _total_weight(params)
        spread, axes = np.linalg.eigh(params.second[1:, 1:] / weight)
        ridge = 0.5 * params.second_std / weight * np.sqrt(self.hidden)
        spread = np.maximum(spread, SPREAD_FLOOR) + ridge
        covariance = self._denoised(params.cross[:, 1:] / weight @ axes, params.cross_std / weight, params)
        return _biased(replace(params, weights=covariance / (CURVATURE * spread) @ axes.T))

    def _denoised(self, covariance: Array, noise_std: float, params: RefinedParams) -> Array:
        """Wiener filter: column k is N(0, a_k·DGD) plus white noise, D the private deviations of pixels."""
        if noise_std == 0:
            return covariance
        deviation = np.sqrt(params.pixel_centre * (1 - params.pixel_centre))
        return filtered(covariance, deviation[:, None] * self.agreement * deviation, noise_std)

    @staticmethod
    def latents(params: RefinedParams, images: Array) -> Array:
        """⟨z⟩ of each image, from ½, under ⟨ξ⟩ = ¼: the Gram matrix is the same for every image."""
        return _hidden_units(params, CONSTANTS)(images)


def _hidden_units(params: RefinedParams, constants: Constants) -> Callable[[Array], Array]:
    """Return a function of images to ⟨z⟩; an image's hidden units do not depend on its neighbours.

    The product with images is exact. The same numbers for all images are computed once, and not by BLAS,
    which may round otherwise when it is asked again.
    """
    weights, hidden = right_factor(params.weights, 0), params.weights.shape[1]
    quarters = np.full(len(weights), CURVATURE)
    gram = weighted_products(weights, quarters, weights)
    centre = weighted_products(weights, 0.5 + CURVATURE * params.pixel_bias, np.ones((len(weights), 1)))[:, 0]

    def hidden_units(images: Array) -> Array:
        mu = np.full((len(images), hidden), 0.5)
        field = images @ weights + (params.hidden_logit - centre)
        settle_shared(field, gram, mu, constants.sweeps, constants.tolerance)
        return mu

    return hidden_units


def _clipped_sums(
    params: RefinedParams, images: Array, mu: Array, row_weights: Array, cross: Block, second: Block
) -> tuple[Array, Array]:
    """Exact sums of both blocks over a chunk, each image weighted so that neither block exceeds its bound.

    Residuals are multiples of CENTRE_STEP, as the centre is; hidden units are cut so that products are on
    the grid.
    """
    residual = images - params.pixel_centre
    units = np.column_stack([np.ones(len(mu)), mu - params.hidden_centre])
    variance = mu * (1 - mu)
    square = row_sums(units**2)
    cross_norm = np.sqrt(row_sums(residual**2) * square)
    # ‖z̃z̃ᵀ + diag(0, v)‖² with v the variances
    second_norm = np.sqrt(square**2 + row_sums(variance * (2 * units[:, 1:] ** 2 + variance)))
    bounds = [lowered(block.bound, cells=images.shape[1] + units.shape[1]) for block in (cross, second)]
    within = np.minimum(1, np.minimum(bounds[0] / cross_norm, bounds[1] / second_norm))
    weight = row_weights * within
    weighted = cut(units * weight[:, None], cross.grid / CENTRE_STEP)
    roots = cut(units * np.sqrt(weight)[:, None], square_step(second.grid))
    squares = roots.T @ roots
    variances = cut(variance * weight[:, None], second.grid).sum(axis=0)
    squares[np.diag_indices(len(squares))] += np.concatenate([[0.0], variances])
    return residual.T @ weighted, squares


def _biased(params: RefinedParams) -> RefinedParams:
    """Biases under which average hidden units give the average image: the regression's intercept."""
    p = params.hidden_centre
    return replace(
        params,
        pixel_bias=(params.pixel_centre - 0.5) / CURVATURE - params.weights @ p,
        hidden_logit=np.log(p / (1 - p)),
    )


def _recentred(params: RefinedParams) -> RefinedParams:
    """Move the centres to the means in the statistics, and the statistics to the new centres; exact."""
    weight = _total_weight(params)
    hidden = np.clip(params.hidden_centre + params.second[1:, 0] / weight, *HIDDEN_RANGE)
    pixel = _pixel_centre(params.pixel_centre + params.cross[:, 0] / weight)
    shift = np.eye(len(hidden) + 1)
    shift[1:, 0] = params.hidden_centre - hidden
    cross = params.cross - np.outer(pixel - params.pixel_centre, params.second[0])
    return replace(
        params,
        pixel_centre=pixel,
        hidden_centre=hidden,
        cross=cross @ shift.T,
        second=shift @ params.second @ shift.T,
    )


def _pixel_centre(mean: Array) -> Array:
    """Return the mean image on a coarse grid, so that residuals are exact numbers of few bits."""
    return np.asarray(np.rint(np.clip(mean, *MEAN_RANGE) / CENTRE_STEP) * CENTRE_STEP, np.float64)


def _total_weight(params: RefinedParams) -> float:
    """Sum of the records' weights; noise may make it useless, so it is kept within a factor 10 of N."""
    return float(np.clip(params.second[0, 0], WEIGHT_FLOOR * params.records, params.records))


def _agreement(size: int, length: float) -> Array:
    """How pixels on one axis agree, a public guess: exp(−distance²/2ℓ²)."""
    places = np.arange(size)
    return np.asarray(np.exp(-((places[:, None] - places) ** 2) / (2 * length**2)))


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def smoothing(
    pixels: int, image_shape: tuple[int, int] | None, neighbour_range: float
) -> tuple[Array, Array]:
    """Return G, the expected agreement of pixels over both axes, and its square root.

    `neighbour_range` is ℓ in shorter sides of the image.
    """
    if image_shape is None:
        return np.eye(pixels), np.eye(pixels)
    rows, columns = (_agreement(size, min(image_shape) * neighbour_range) for size in image_shape)
    whole, root = np.kron(rows, columns), np.kron(_root(rows), _root(columns))
    return np.asarray(whole, np.float64), np.asarray(root, np.float64)


def filtered(columns: Array, prior: Array, noise_std: float) -> Array:
    """Return E[signal | column], where column k is N(0, a_k·prior) plus white noise of a known size.

    a_k is estimated by moments: E[xᵀ·prior·x] = a_k·‖prior‖² + noise²·tr(prior). The filter
    x − noise²·(a_k·prior + noise²)⁻¹x is a tridiagonal system for each column, once the prior is brought to
    that form, which takes a third of the time of its eigenvectors.

    Parameters
    ----------
    columns
        (J, K).
    prior
        (J, J) covariance of a column's signal, up to its size.
    noise_std
        Above 0.
    """
    noise = noise_std**2
    along_prior = (columns * (prior @ columns)).sum(axis=0) - noise * np.trace(prior)
    scale = np.maximum(along_prior / (prior**2).sum(), 0)
    if len(prior) == 1:
        return np.asarray(columns * (scale * prior / (scale * prior + noise)))
    reflectors, diagonal, beside, factors, _ = lapack.dsytrd(prior, lower=1, lwork=_LAPACK_BLOCK * len(prior))

    def rotated(values: Array, transposed: str) -> Array:
        result = np.array(values, order="F")
        work = _LAPACK_BLOCK * values.shape[1]
        result[1:] = lapack.dormqr("L", transposed, reflectors[1:, :-1], factors, result[1:], lwork=work)[0]
        return result

    along = rotated(columns, "T")
    for k, size in enumerate(scale):
        along[:, k] -= noise * lapack.dptsv(size * diagonal + noise, size * beside, along[:, k])[2]
    return rotated(along, "N")

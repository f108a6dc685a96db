"""The refined private sigmoid belief network: two small statistics, centred, clipped, averaged and denoised.

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

With ⟨ξ⟩ fixed at its bound ¼ the lower bound of log p(y|z) is quadratic with the same curvature for every
pixel, and two blocks are all that the M-step needs: W = 4·cov(y, z)·cov(z)⁻¹. What makes them precise:

- Centring at private means shrinks ‖y − m‖·‖z̃‖, and so the noise, by about half.
- A record's weight min(1, bound/norm) is the same in both blocks, so that clipping gives a weighted
  regression instead of a biased one.
- A dictionary that starts smooth (neighbouring pixels agree: public knowledge about images) needs few steps.
- Wiener filter of cov(y, z) with the known noise; ridge of half the noise's spectral norm on cov(z).

Tried without gain: tangent points that move with the private parameters (sharper weights trap mean field in
poor optima: non-private pixel accuracy fell from .963 to .93), a grid of blobs as the first dictionary, a
Wiener filter in the DCT basis, doing without the mean image (.957 instead of .963), more than 12 steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vips_core.data import BinaryRows
from vips_core.kernels.pool import Array, grouped_sums
from vips_core.kernels.sbn import settle_shared
from vips_core.models.base import Block, FloatArray, Released
from vips_core.models.symmetric import pack, unpack

CHUNK = 512
CURVATURE = 0.25  # ⟨ξ⟩ of PG(1, 0), the largest value it can have
SWEEPS = 20
TOLERANCE = 0.01
RESIDUAL_CLIP = 0.32  # of ‖y − m‖, in √J: the root mean square residual of binary images around their mean
HIDDEN_CLIP = 0.2  # of ‖z − p‖², in K: a little below the variance ¼ of a fair coin
SECOND_SHARE = 0.4
FORGETTING = 0.7  # κ: the newest statistics weigh t^−κ
MEAN_RANGE = (0.002, 0.998)
START_SCALE = 0.2
LOGIT_GAIN = 3.0  # a tangent at 0 flattens logits; 2.5 to 3.5 fit held-out digits about equally well


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
    logit_gain: float = LOGIT_GAIN


class Refined:
    """The variant's answers to the loop; see `vips_core.models.base.Model`."""

    def __init__(self, pixels: int, hidden: int, image_shape: tuple[int, int] | None) -> None:
        self.pixels, self.hidden = pixels, hidden
        self.smoothing = _smoothing(pixels, image_shape)

    def init(self, records: int, rng: np.random.Generator) -> RefinedParams:
        """Return a random dictionary, smooth where the image shape is known."""
        weights = START_SCALE * self.smoothing @ rng.standard_normal((self.pixels, self.hidden))
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
            records=records,
        )
        return _biased(start)

    def blocks(self, steps: int, step: int) -> dict[str, Block]:
        """Return the mean image in the first of several steps (‖y − ½‖ = √J/2), then both clipped blocks.

        A single step has to do without the mean image: its residuals are y − ½.
        """
        if step == 0 and steps > 1:
            return {"pixels": Block(float(np.sqrt(self.pixels) / 2))}
        units = 1 + HIDDEN_CLIP * self.hidden
        residual = (0.5 if step == 0 else RESIDUAL_CLIP) * np.sqrt(self.pixels)
        return {
            "cross": Block(float(residual * np.sqrt(units)), float(np.sqrt(1 - SECOND_SHARE**2))),
            "second": Block(units, SECOND_SHARE),
        }

    def sums(
        self, params: RefinedParams, batch: BinaryRows, blocks: Mapping[str, Block]
    ) -> dict[str, FloatArray]:
        """Return the sums over the batch of the mean image, or of both clipped blocks."""
        if "pixels" in blocks:
            counts = grouped_sums(
                lambda start, stop: ((unpacked(batch, start, stop) - 0.5).sum(axis=0),),
                lambda: (np.zeros(self.pixels),),
                len(batch),
                CHUNK,
            )
            return {"pixels": counts[0]}

        def chunk_sums(start: int, stop: int) -> tuple[Array, Array]:
            images = unpacked(batch, start, stop)
            return _clipped_sums(params, images, blocks["cross"].bound, blocks["second"].bound)

        def zeros() -> tuple[Array, Array]:
            return np.zeros_like(params.cross), np.zeros_like(params.second)

        cross, second = grouped_sums(chunk_sums, zeros, len(batch), CHUNK)
        return {"cross": cross, "second": pack(second)}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Average the raw noisy statistics over steps, and regress pixels on hidden units."""
        if "pixels" in released.sums:
            mean = np.clip(0.5 + released.total("pixels") / params.records, *MEAN_RANGE)
            return _biased(replace(params, pixel_centre=mean))
        rate = max(step, 1) ** -FORGETTING
        noise = {name: released.total_std(name) for name in ("cross", "second")}
        second = unpack(released.total("second"), self.hidden + 1)
        params = replace(
            params,
            cross=(1 - rate) * params.cross + rate * released.total("cross"),
            second=(1 - rate) * params.second + rate * second,
            cross_std=float(np.hypot((1 - rate) * params.cross_std, rate * noise["cross"])),
            second_std=float(np.hypot((1 - rate) * params.second_std, rate * noise["second"])),
        )
        return self._regress(_recentred(params))

    def _regress(self, params: RefinedParams) -> RefinedParams:
        """W = cov(y, z)/¼ · cov(z)⁻¹ from the centred statistics, both denoised by their known noise."""
        weight = _total_weight(params)
        spread, axes = np.linalg.eigh(params.second[1:, 1:] / weight)
        ridge = 0.5 * params.second_std / weight * np.sqrt(self.hidden)
        spread = np.maximum(spread, 1e-3) + ridge
        covariance = self._denoised(params.cross[:, 1:] / weight @ axes, params.cross_std / weight, params)
        return _biased(replace(params, weights=covariance / (CURVATURE * spread) @ axes.T))

    def _denoised(self, covariance: Array, noise_std: float, params: RefinedParams) -> Array:
        """Wiener filter: column k is N(0, a_k·DGD) plus white noise, D the private deviations of pixels.

        a_k is estimated by moments: E[vᵢᵀx]² = a_k·λᵢ + noise² along each eigenvector vᵢ of DGD.
        """
        if noise_std == 0:
            return covariance
        deviation = np.sqrt(params.pixel_centre * (1 - params.pixel_centre))
        spread = deviation[:, None] * self.smoothing
        values, vectors = np.linalg.eigh(spread @ spread.T)
        values = np.maximum(values, 0)[:, None]
        along = vectors.T @ covariance
        scale = np.maximum((values * (along**2 - noise_std**2)).sum(axis=0) / (values**2).sum(), 0)
        signal = scale * values
        return np.asarray(vectors @ (along * signal / (signal + noise_std**2)))

    def latents(self, params: RefinedParams, images: Array) -> Array:
        """Return ⟨z⟩ of each image."""
        return _latents(params, images)


def _latents(params: RefinedParams, images: Array) -> Array:
    """⟨z⟩ of each image, from ½, under ⟨ξ⟩ = ¼: the Gram matrix is the same for every image."""
    weights = params.weights
    field = (images - 0.5 - CURVATURE * params.pixel_bias) @ weights + params.hidden_logit
    mu = np.full((len(images), weights.shape[1]), 0.5)
    settle_shared(field, CURVATURE * weights.T @ weights, mu, SWEEPS, TOLERANCE)
    return mu


def _clipped_sums(
    params: RefinedParams, images: Array, cross_bound: float, second_bound: float
) -> tuple[Array, Array]:
    """Sums of both blocks over a chunk, each record weighted so that neither block exceeds its bound."""
    mu = _latents(params, images)
    residual = images - params.pixel_centre
    units = np.column_stack([np.ones(len(mu)), mu - params.hidden_centre])
    variance = mu * (1 - mu)
    square = (units**2).sum(axis=1)
    cross_norm = np.sqrt((residual**2).sum(axis=1) * square)
    # ‖z̃z̃ᵀ + diag(0, v)‖² with v the variances
    second_norm = np.sqrt(square**2 + (variance * (2 * units[:, 1:] ** 2 + variance)).sum(axis=1))
    weight = np.minimum(1, np.minimum(cross_bound / cross_norm, second_bound / second_norm))
    weighted = units * weight[:, None]
    second = weighted.T @ units
    second[np.diag_indices(len(second))] += np.concatenate([[0.0], weight @ variance])
    return residual.T @ weighted, second


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
    hidden = np.clip(params.hidden_centre + params.second[1:, 0] / weight, 0.02, 0.98)
    pixel = np.clip(params.pixel_centre + params.cross[:, 0] / weight, *MEAN_RANGE)
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


def _total_weight(params: RefinedParams) -> float:
    """Sum of the records' weights; noise may make it useless, so it is kept within a factor 10 of N."""
    return float(np.clip(params.second[0, 0], 0.1 * params.records, params.records))


def _smoothing(pixels: int, image_shape: tuple[int, int] | None) -> Array:
    """Square root of G, a public guess how pixels agree: exp(−distance²/2ℓ²), ℓ a sixteenth of the side."""
    if image_shape is None:
        return np.eye(pixels)
    length = min(image_shape) / 16

    def along_one_axis(size: int) -> Array:
        places = np.arange(size)
        agreement = np.exp(-((places[:, None] - places) ** 2) / (2 * length**2))
        values, vectors = np.linalg.eigh(agreement)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)

    return np.asarray(np.kron(along_one_axis(image_shape[0]), along_one_axis(image_shape[1])), np.float64)


def unpacked(batch: BinaryRows, start: int, stop: int) -> Array:
    """Pixels of some consecutive images: only a chunk is ever held unpacked."""
    mask = np.zeros(len(batch), bool)
    mask[start:stop] = True
    return batch[mask].unpack(np.float64)

"""The sigmoid belief network as the paper trains it (§7, Appendices B and C), with sound bounds.

symbol               code            shape
-------------------  --------------  ----------------------------------------------------------------
⟨W⟩, ⟨w_j w_jᵀ⟩      weights,        (J, K), (J, K(K+1)/2) upper triangles by rows
                     weight_pairs
⟨c⟩, ⟨c²⟩            pixel_bias,     (J,), (J,)
                     bias_square
⟨b⟩, ⟨b²⟩            hidden_logit,   (K,), (K,)
                     logit_square
⟨ξ⁰⟩                 xi              (n, J)
⟨zzᵀ⟩                pairs           (n, K(K+1)/2) upper triangles by rows; the diagonal is ⟨z⟩
A, C, D, F, G        hidden, pixels, (K,), (J,), (J,), (J, K), (J, K(K+1)/2): Appendix B, as means
                     xi, cross, gram over records

E = ⟨ξ⁰⟩⟨z⟩ᵀ is the diagonal of G and is not released separately; B = ⟨ξ¹⟩ is a function of b alone. Nothing
is clipped: bounds are worst cases. The noise on G then exceeds its signal in every step. This is the weakness
of the paper's variant and the reason for the refined one.

An image's contribution does not depend on other images: its products are exact (`vips_core.kernels.exact`),
with factors rounded once per step, and everything else is computed image by image.
"""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import k0e, k1e

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, factor_steps, left_bits, left_factor, lowered, right_factor
from vips_core.kernels.pool import concatenated, grouped_sums
from vips_core.kernels.special import pg_means
from vips_core.kernels.symmetric import from_triangles, packed_size, triangle_scale, triangles
from vips_core.models.base import Block, Released
from vips_core.models.sbn.kernels import centred_pixel_sums, second_moments, settle_each, settle_shared
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Images

if TYPE_CHECKING:
    from vips_core.models.sbn.model import SBN

BATCH = 1600  # images in a batch of a recommended plan, as in the paper
CHUNK = 256  # images at a time
PIXEL_CHUNK = 32  # pixels, each with a K × K matrix, at a time
EIGENVALUE_FLOOR = 1e-3  # least eigenvalue of a noisy G_j, as a mean over records
ROUNDS = 2  # rounds of updating ⟨ξ⁰⟩ and ⟨z⟩ of an image
SWEEPS = 10  # most mean-field sweeps over an image's hidden units in a round
TOLERANCE = 0.01  # change of ⟨z⟩ below which sweeps stop
START_SCALE = 0.1  # standard deviation of the initial parameters
DELAY, FORGETTING = 1024, 0.7  # τ₀ and κ of the step size ρ_t = (τ₀ + t)^−κ, which is 1 in the first step
Statistics = dict[str, Any]  # arrays by the names of the five sums, which `PaperParams` has too


class Statistic(NamedTuple):
    """One of the five sums: shape, bound for one image, and range of its mean over records."""

    shape: tuple[int, ...]
    bound: float
    low: float
    high: float


@dataclass(frozen=True)
class TPBN:
    """Means of the hyper-posteriors of the three-parameter beta normal prior (Appendix C).

    symbol     code             shape   posterior
    ---------  ---------------  ------  ----------------------------------------
    ⟨1/ζ⟩      inverse_scale    (J, K)  ζ_jk: GIG(0, 2⟨ξ_jk⟩, ⟨w_jk²⟩)
    ⟨ξ⟩        scale_rate       (J, K)  ξ_jk: Gamma(1, ⟨ζ_jk⟩ + ⟨φ_k⟩)
    ⟨φ⟩        unit_rate        (K,)    φ_k: Gamma(½ + J/2, ⟨ω⟩ + Σ_j⟨ξ_jk⟩)
    ⟨ω⟩        global_rate      scalar  ω: Gamma(½ + K/2, 1 + Σ_k⟨φ_k⟩)

    The paper's q(ξ_jk) lacks ⟨φ_k⟩, which follows from ξ_jk ~ Gamma(½, φ_k). This ξ is not the Pólya–Gamma
    variable.
    """

    inverse_scale: Array
    scale_rate: Array
    unit_rate: Array
    global_rate: float

    @classmethod
    def start(cls, pixels: int, hidden: int) -> "TPBN":
        """Return the initial values of the paper's experiments."""
        return cls(np.ones((pixels, hidden)), np.full((pixels, hidden), 0.5), np.ones(hidden), 0.5)

    def updated(self, weight_square: Array) -> "TPBN":
        """Return the hyper-posteriors given ⟨w²⟩, each from the newest values of the others."""
        pixels, hidden = weight_square.shape
        root = np.sqrt(2 * self.scale_rate * weight_square)
        ratio = k1e(root) / k0e(root)  # Bessel functions of order 1 and 0: the mean of a GIG(0, ·, ·)
        scale = np.sqrt(weight_square / (2 * self.scale_rate)) * ratio
        inverse_scale = np.sqrt(2 * self.scale_rate / weight_square) * ratio
        scale_rate = 1 / (scale + self.unit_rate)
        unit_rate = 0.5 * (pixels + 1) / (self.global_rate + scale_rate.sum(axis=0))
        global_rate = 0.5 * (hidden + 1) / (1 + float(unit_rate.sum()))
        return TPBN(inverse_scale, scale_rate, unit_rate, global_rate)


@dataclass(frozen=True)
class PaperParams:
    """Posteriors of W, b and c, hyper-posteriors, and the averaged statistics behind them."""

    weights: Array
    weight_pairs: Array
    pixel_bias: Array
    bias_square: Array
    hidden_logit: Array
    logit_square: Array
    shrinkage: TPBN
    hidden: Array
    pixels: Array
    xi: Array
    cross: Array
    gram: Array
    records: int
    logit_gain: float = 1.0

    @functools.cached_property
    def image_factors(self) -> Array:
        """Factors of y − ½ in d of `kernels`: ⟨W⟩."""
        return right_factor(self.weights, 0)

    @functools.cached_property
    def square_factors(self) -> Array:
        """Factors of ⟨zzᵀ⟩ in ⟨(wᵀz + c)²⟩: pairs off the diagonal twice; 2⟨c⟩⟨w⟩ joins ⟨w²⟩ (z² = z)."""
        hidden = self.weights.shape[1]
        factors = self.weight_pairs * triangle_scale(hidden) ** 2
        factors[:, _diagonal(hidden)] += 2 * self.pixel_bias[:, None] * self.weights
        return right_factor(factors.T, left_bits(packed_size(hidden)))

    @functools.cached_property
    def xi_factors(self) -> tuple[Array, Array]:
        """Factors of ⟨ξ⁰⟩ in d and in its Gram matrix: ⟨c⟩⟨W⟩ and `weight_pairs`."""
        bits = left_bits(len(self.weights))
        biased = self.pixel_bias[:, None] * self.weights
        return right_factor(biased, bits), right_factor(self.weight_pairs, bits)

    @functools.cached_property
    def first_round(self) -> tuple[Array, Array]:
        """Contribution of ⟨ξ⁰⟩ to d and its Gram matrix at ⟨z⟩ = ½, where all images start."""
        hidden = self.weights.shape[1]
        biased, gram = _of_xi(self, _xi(self, second_moments(np.full((1, hidden), 0.5))))
        return biased, from_triangles(gram[0], hidden)


class Paper:
    """The paper's statistics and updates; see `vips_core.models.base.Algorithm`."""

    def __init__(self, model: "SBN") -> None:
        self.pixels, self.hidden, self.prior = model.pixels, model.hidden, model.prior
        pixels, hidden = math.sqrt(self.pixels), math.sqrt(self.hidden)
        self.statistics = {
            "hidden": Statistic((self.hidden,), hidden / 2, -0.5, 0.5),
            "pixels": Statistic((self.pixels,), pixels / 2, -0.5, 0.5),
            "xi": Statistic((self.pixels,), pixels / 4, 0.0, 0.25),
            "cross": Statistic((self.pixels, self.hidden), pixels * hidden / 2, -0.5, 0.5),
            "gram": Statistic((self.pixels, packed_size(self.hidden)), pixels * hidden**2 / 4, 0.0, 0.25),
        }

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> PaperParams:
        """Return small random parameters with zero variance."""
        weights = START_SCALE * rng.standard_normal((self.pixels, self.hidden))
        logit = START_SCALE * rng.standard_normal(self.hidden)
        bias = START_SCALE * rng.standard_normal(self.pixels)
        rows, columns = np.triu_indices(self.hidden)
        nothing: Statistics = {name: np.zeros(one.shape) for name, one in self.statistics.items()}
        return PaperParams(
            weights=weights,
            weight_pairs=weights[:, rows] * weights[:, columns],
            pixel_bias=bias,
            bias_square=bias**2,
            hidden_logit=logit,
            logit_square=logit**2,
            shrinkage=TPBN.start(self.pixels, self.hidden),
            records=plan.records,
            **nothing,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the five sums with worst-case bounds for one image and equal shares."""
        share = len(self.statistics) ** -0.5
        return {name: Block(one.bound, share, one.shape) for name, one in self.statistics.items()}

    def sums(self, params: PaperParams, batch: Images, blocks: Mapping[str, Block]) -> Statistics:
        """Return the sums of Appendix B over the batch, exact on their grids; G as scaled upper triangles."""
        grid = {name: block.grid for name, block in blocks.items()}
        xi_step, pair_step = factor_steps(grid["gram"], 0.25, 1.0)
        scale = triangle_scale(self.hidden)
        row_weights = lowered(1.0, cells=0) * batch.row_weights[:, None]

        def chunk_sums(start: int, stop: int) -> tuple[Array, ...]:
            images, weights = batch.unpack(np.float64, slice(start, stop)), row_weights[start:stop]
            mu = self.latents(params, images)
            pairs = second_moments(mu)
            xi = _xi(params, pairs)
            return (
                cut(weights * (mu - 0.5), grid["hidden"]).sum(axis=0),
                cut(weights * xi, grid["xi"]).sum(axis=0),
                (images - 0.5).T @ cut(weights * mu, 2 * grid["cross"]),
                cut(weights * xi, xi_step).T @ cut(pairs * scale, pair_step),
            )

        def zeros() -> tuple[Array, ...]:
            return tuple(np.zeros(one.shape) for name, one in self.statistics.items() if name != "pixels")

        hidden, xi, cross, gram = grouped_sums(chunk_sums, zeros, batch.row_count, CHUNK)
        pixels = centred_pixel_sums(batch, blocks["pixels"])
        return {"hidden": hidden, "pixels": pixels, "xi": xi, "cross": cross, "gram": gram}

    def update(self, params: PaperParams, released: Released, step: int) -> PaperParams:
        """Clamp the noisy means to their ranges, average them over steps, and update all posteriors."""
        scale = {"gram": triangle_scale(self.hidden)}
        new: Statistics = {
            name: np.clip(released.total(name) / params.records / scale.get(name, 1.0), one.low, one.high)
            for name, one in self.statistics.items()
        }
        noisy = any(released.noise_std.values())
        # Noise-free full batches need no average: each step is one sweep of coordinate ascent.
        exact = released.sampling_rate == 1 and not noisy
        rate = 1.0 if step == 0 or exact else float((DELAY + step) ** -FORGETTING)
        if noisy:
            new["gram"] = floored(new["gram"], self.hidden)
        averaged = {name: (1 - rate) * getattr(params, name) + rate * mean for name, mean in new.items()}
        return self._posteriors(params, averaged)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return a plan with the paper's batch size."""
        batch = min(BATCH, records)
        plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
        return plan.calibrate(epsilon)

    def _posteriors(self, params: PaperParams, statistics: Statistics) -> PaperParams:
        """Update W, then c, then b, then the hyper-posteriors (Appendix C)."""
        scaled = {name: params.records * value for name, value in statistics.items()}
        diagonal = _diagonal(self.hidden)
        xi_hidden = scaled["gram"][:, diagonal]  # E, since z² = z
        target = scaled["cross"] - params.pixel_bias[:, None] * xi_hidden
        weights, pairs, explained = weight_posteriors(
            scaled["gram"], params.shrinkage.inverse_scale, target, xi_hidden
        )
        # Exact statistics satisfy D_j ≥ E_jᵀG_j⁻¹E_j. Noisy ones may not, and c and W would then diverge.
        bias_variance = 1 / (1 + np.maximum(scaled["xi"], explained))
        bias = bias_variance * (scaled["pixels"] - (xi_hidden * weights).sum(axis=1))
        xi_logit = pg_means(np.sqrt(params.logit_square))
        logit_variance = 1 / (1 + params.records * xi_logit)
        logit = logit_variance * scaled["hidden"]
        tpbn = self.prior == "tpbn"
        shrinkage = params.shrinkage.updated(pairs[:, diagonal]) if tpbn else params.shrinkage
        return PaperParams(
            weights=weights,
            weight_pairs=pairs,
            pixel_bias=bias,
            bias_square=bias**2 + bias_variance,
            hidden_logit=logit,
            logit_square=logit**2 + logit_variance,
            shrinkage=shrinkage,
            records=params.records,
            **statistics,
        )

    def latents(self, params: PaperParams, images: Array) -> Array:
        """Return ⟨z⟩ of each image, by rounds of updating ⟨ξ⁰⟩ and ⟨z⟩ from ⟨z⟩ = ½."""
        mu = np.full((len(images), self.hidden), 0.5)
        field = (images - 0.5) @ params.image_factors + params.hidden_logit  # as in `kernels`, without ξ⁰
        biased, gram = params.first_round
        settle_shared(field - biased, gram, mu, SWEEPS, TOLERANCE)
        for _ in range(1, ROUNDS):
            biased, grams = _of_xi(params, _xi(params, second_moments(mu)))
            settle_each(field - biased, grams, mu, SWEEPS, TOLERANCE)
        return mu


def _xi(params: PaperParams, pairs: Array) -> Array:
    """Return ⟨ξ⁰⟩ of each image given ⟨zzᵀ⟩."""
    square = left_factor(pairs, 1.0, left_bits(pairs.shape[1])) @ params.square_factors + params.bias_square
    return pg_means(np.sqrt(np.maximum(square, 0)))


def _of_xi(params: PaperParams, xi: Array) -> tuple[Array, Array]:
    """Return the part of d that ⟨ξ⁰⟩ subtracts, and the Gram matrix as an upper triangle, for each image."""
    biased, pairs = params.xi_factors
    rounded = left_factor(xi, 0.25, left_bits(xi.shape[1]))
    return rounded @ biased, rounded @ pairs


def _diagonal(hidden: int) -> npt.NDArray[np.bool_]:
    """Return which cells of an upper triangle are on the diagonal."""
    return np.asarray(np.equal(*np.triu_indices(hidden)))


def weight_posteriors(
    gram: Array, inverse_scale: Array, target: Array, xi_hidden: Array
) -> tuple[Array, Array, Array]:
    """Return ⟨W⟩, ⟨w_j w_jᵀ⟩ and E_jᵀΣ_jE_j, with Σ_j = [gram_j + diag⟨1/ζ_j⟩]⁻¹, ⟨w_j⟩ = Σ_j·target_j."""
    pixels, hidden = target.shape

    def pixel_rows(start: int, stop: int) -> tuple[Array, Array, Array]:
        precision = from_triangles(gram[start:stop], hidden)
        precision[:, np.arange(hidden), np.arange(hidden)] += inverse_scale[start:stop]
        covariance = np.linalg.inv(precision)
        mean = (covariance @ target[start:stop, :, None])[..., 0]
        second = triangles(covariance + mean[:, :, None] * mean[:, None, :])
        explained = np.einsum("jk,jkl,jl->j", xi_hidden[start:stop], covariance, xi_hidden[start:stop])
        return mean, second, explained

    mean, pairs, explained = concatenated(pixel_rows, pixels, PIXEL_CHUNK)
    return mean, pairs, explained


def floored(gram: Array, hidden: int) -> Array:
    """Return noisy G_j with eigenvalues of at least the floor."""

    def pixel_rows(start: int, stop: int) -> tuple[Array]:
        values, vectors = np.linalg.eigh(from_triangles(gram[start:stop], hidden))
        kept = (vectors * np.maximum(values, EIGENVALUE_FLOOR)[:, None, :]) @ vectors.swapaxes(1, 2)
        return (triangles(kept),)

    return concatenated(pixel_rows, len(gram), PIXEL_CHUNK)[0]

"""Private sigmoid belief networks: binary images from binary hidden units (the paper's §7).

symbol  code                 shape
------  -------------------  --------------------------------------------------
J, K    pixels, hidden
y       images, rows         (n, J), Images
z, ⟨z⟩  hidden units         (n, K)
W       params.weights       (J, K)
c       params.pixel_bias    (J,)
b       params.hidden_logit  (K,)

p(z_k = 1) = σ(b_k) and p(y_j = 1 | z) = σ(g·(w_jᵀz + c_j)). The gain g is 1 in the variant "paper". The
variant "refined" is no longer variational Bayes, but a network fitted to Gaussian moments; its bound touches
the likelihood at logit 0 and flattens logits, so images are decoded with a gain, which follows from the same
moments.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from vips_core import validate
from vips_core.kernels import Array
from vips_core.kernels.pool import concatenated
from vips_core.models.base import Variant, VariantModel
from vips_core.models.sbn.paper import Paper, PaperParams
from vips_core.models.sbn.refined import MAX_PIXELS, MAX_UNORDERED, Refined, RefinedParams
from vips_core.records import Images

Prior = Literal["tpbn", "isotropic"]
Params = RefinedParams | PaperParams
CHUNK = 256  # images at a time
VARIANTS: dict[str, Any] = {"refined": Refined, "paper": Paper}


@dataclass(frozen=True)
class SBN(VariantModel[Params, Images]):
    """A sigmoid belief network with one hidden layer.

    Parameters
    ----------
    pixels, hidden
        J and K.
    image_shape
        (height, width) of an image. It shapes the dictionary, and the refined variant uses it to find
        neighbouring pixels. None treats pixels as unordered.
    variant
        "refined" (default): a network fitted to private second moments of images of at most 65,536 pixels
        (10,000 without a shape), which is no longer variational Bayes. "paper": the statistics of Appendix B.
    prior
        Prior of the weights in the variant "paper": "tpbn" (shrinkage) or "isotropic". The refined variant
        denoises its statistics instead.

    Examples
    --------
    >>> import vips_core as vips
    >>> images = np.random.default_rng(0).random((100, 2, 3)) < [[0.9, 0.1, 0.5]]
    >>> rows = vips.Images.from_images(images, threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=100, expected_batch=100, steps=4, noise_multiplier=1.0, delta=1e-4)
    >>> fit = vips.fit(vips.SBN(6, 2, (2, 3)), rows, plan, seed=0)
    >>> fit.params.weights.shape, fit.model.sample(fit.params, 5, np.random.default_rng(1)).shape
    ((6, 2), (2, 3))
    """

    VARIANTS = VARIANTS
    pixels: int
    hidden: int
    image_shape: tuple[int, int] | None = None
    variant: Variant = "refined"
    prior: Prior = "tpbn"

    def __post_init__(self) -> None:
        pixels = validate.whole("pixels", self.pixels, low=1)
        hidden = validate.whole("hidden", self.hidden, low=1)
        shape = None if self.image_shape is None else tuple(self.image_shape)
        if shape is not None and shape[0] * shape[1] != pixels:
            raise ValueError(f"image_shape must have {pixels} pixels, got {shape}")
        validate.one_of("variant", self.variant, VARIANTS)
        limit, without = (MAX_PIXELS, "") if shape else (MAX_UNORDERED, " without image_shape")
        if self.variant == "refined" and pixels > limit:
            sentence = f"pixels must be at most {limit:,} in the refined variant{without}, got {pixels:,}"
            raise ValueError(sentence)
        validate.one_of("prior", self.prior, get_args(Prior))
        vars(self).update(pixels=pixels, hidden=hidden, image_shape=shape)

    def check(self, data: Images) -> None:
        """Refuse images whose number of pixels differs from the model's."""
        if data.shape[0] * data.shape[1] != self.pixels:
            raise ValueError(f"the model has {self.pixels} pixels, but the images have shape {data.shape}")

    def latents(self, params: Params, rows: Images) -> Array:
        """Return the hidden units ⟨z⟩ of images. Never publish them for private records.

        Parameters
        ----------
        params
            Fitted parameters of this model.
        rows
            Images of the model's size.

        Returns
        -------
        array
            (n, K) probabilities.
        """
        self.check(rows)
        if not rows.row_count:
            return np.empty((0, self.hidden))
        algorithm: Any = self.algorithm

        def chunk_latents(start: int, stop: int) -> tuple[Array]:
            return (algorithm.latents(params, rows.unpack(np.float64, slice(start, stop))),)

        return concatenated(chunk_latents, rows.row_count, CHUNK)[0]

    def decode(self, params: Params, hidden: npt.NDArray[np.floating]) -> Array:
        """Return p(y = 1 | z) of every pixel.

        Parameters
        ----------
        params
            Fitted parameters of this model.
        hidden
            (n, K) hidden units z.

        Returns
        -------
        array
            (n, J) probabilities.
        """
        return _probabilities(params.logit_gain * (hidden @ params.weights.T + params.pixel_bias))

    def expected(self, params: Params, means: npt.NDArray[np.floating]) -> Array:
        """Return p(y = 1) of every pixel given an image's means ⟨z⟩.

        Means near ½ say more about an image than draws from them would. So the refined variant regresses
        images on ⟨z⟩; the paper's variant decodes ⟨z⟩ as if it were z.

        Parameters
        ----------
        params
            Fitted parameters of this model.
        means
            (n, K) means ⟨z⟩ of the hidden units, from `latents`.

        Returns
        -------
        array
            (n, J) probabilities.
        """
        if not isinstance(params, RefinedParams):
            return self.decode(params, means)
        units = expit(params.hidden_logit)
        average = params.weights @ units + params.pixel_bias
        return _probabilities(params.logit_gain * ((means - units) @ params.readout.T + average))

    def dictionary(self, params: Params) -> Array:
        """Return each hidden unit's weights as an image.

        Parameters
        ----------
        params
            Fitted parameters of this model.

        Returns
        -------
        array
            (K, height, width); without a shape, (K, 1, J).
        """
        height, width = self.image_shape or (1, self.pixels)
        return params.weights.T.reshape(self.hidden, height, width)

    def sample(self, params: Params, count: int, rng: np.random.Generator) -> Images:
        """Draw images from the model by ancestral sampling: hidden units first, then pixels.

        Parameters
        ----------
        params
            Fitted parameters of this model.
        count
            Number of images.
        rng
            Source of the draws.

        Returns
        -------
        Images
            `count` images.
        """
        count = validate.whole("count", count, low=1)
        hidden = rng.random((count, self.hidden)) < expit(params.hidden_logit)
        images = rng.random((count, self.pixels)) < self.decode(params, hidden.astype(np.float64))
        return Images(np.packbits(images, axis=1), self.image_shape or (1, self.pixels))


def _probabilities(logits: Array) -> Array:
    small = np.exp(-np.abs(logits))  # several times faster than expit
    return np.asarray(np.where(logits >= 0, 1.0, small) / (1 + small))

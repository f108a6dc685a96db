"""Private sigmoid belief networks: binary images from binary hidden units (the paper's §7).

symbol  code                 shape
------  -------------------  --------------------------------------------------
J, K    pixels, hidden
y       images, rows         (n, J), BinaryRows
z, ⟨z⟩  hidden units         (n, K)
W       params.weights       (J, K)
c       params.pixel_bias    (J,)
b       params.hidden_logit  (K,)

p(z_k = 1) = σ(b_k) and p(y_j = 1 | z) = σ(g·(w_jᵀz + c_j)). The gain g is 1 in the variant "paper"; the
variant "refined" learns flat logits, because its bound touches the likelihood at 0, and decodes them with a
public g.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from vips_core.data import BinaryRows
from vips_core.kernels.pool import Array, one_blas_thread
from vips_core.kernels.sbn import concatenated
from vips_core.models.base import Block, Raw, Released
from vips_core.models.sbn_paper import Paper, PaperParams
from vips_core.models.sbn_refined import Refined, RefinedParams, unpacked

if TYPE_CHECKING:
    from vips_core.privacy.plan import PrivacyPlan

Method = Literal["refined", "paper"]
Prior = Literal["tpbn", "isotropic"]
Params = RefinedParams | PaperParams
REFINED_STEPS = 12
PAPER_BATCH = 1600
CHUNK = 256


class SBN:
    """A sigmoid belief network with one hidden layer.

    Parameters
    ----------
    pixels, hidden
        J and K.
    image_shape
        (height, width) of an image, to draw the dictionary and, in the refined variant, to know which pixels
        are neighbours. None treats pixels as unordered.
    method
        "refined" (default): two clipped statistics, see `sbn_refined`. "paper": the statistics of Appendix B.
    prior
        Of the weights in the variant "paper": "tpbn" (shrinkage) or "isotropic". The refined variant has a
        Wiener filter in its place.
    """

    def __init__(
        self,
        pixels: int,
        hidden: int,
        image_shape: tuple[int, int] | None = None,
        method: Method = "refined",
        prior: Prior = "tpbn",
    ) -> None:
        self.pixels, self.hidden = _whole("pixels", pixels), _whole("hidden", hidden)
        if image_shape is not None and image_shape[0] * image_shape[1] != pixels:
            raise ValueError(f"image_shape must have {pixels} pixels, got {image_shape}")
        if method not in get_args(Method):
            raise ValueError(f"method must be 'refined' or 'paper', got {method!r}")
        if prior not in get_args(Prior):
            raise ValueError(f"prior must be 'tpbn' or 'isotropic', got {prior!r}")
        self.image_shape, self.method, self.prior = image_shape, method, prior
        self._variant: Any = (
            Refined(self.pixels, self.hidden, image_shape)
            if method == "refined"
            else Paper(self.pixels, self.hidden, prior)
        )

    def init(self, plan: "PrivacyPlan", rng: np.random.Generator) -> Params:
        """Return random parameters; smooth ones where the image shape is known (refined)."""
        params: Params = self._variant.init(plan.records, rng)
        return params

    def blocks(self, plan: "PrivacyPlan", step: int) -> Mapping[str, Block]:
        """Return the variant's blocks; they depend on J, K, T and whether this is the first step."""
        blocks: dict[str, Block] = self._variant.blocks(plan.steps, step)
        return blocks

    def e_step(self, params: Params, batch: BinaryRows, blocks: Mapping[str, Block]) -> Raw:
        """Return the variant's sums over the batch."""
        return Raw(self._variant.sums(params, self._checked(batch), blocks))

    def m_step(self, params: Params, released: Released, step: int) -> Params:
        """Return the parameters after one release."""
        with one_blas_thread():
            updated: Params = self._variant.update(params, released, step)
        return updated

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> "PrivacyPlan":
        """Return the plan to use within `epochs`; the variant "paper" keeps the paper's batch size.

        The refined variant takes 12 steps on batches as large as the compute allows. On MNIST at ε = 0.5
        and 1.3, one pass in 12 steps was better than in 3, 6 or 24; at ε = 0.1, 6 were (.956 against .954).
        """
        from vips_core.privacy.plan import PrivacyPlan

        if not (math.isfinite(epochs) and epochs > 0):
            raise ValueError(f"epochs must be a finite number above 0, got {epochs}")
        if self.method == "refined":
            batch = min(records, max(1, math.floor(records * epochs / REFINED_STEPS)))
            plan = PrivacyPlan(records=records, expected_batch=batch, steps=REFINED_STEPS, delta=delta)
        else:
            batch = min(PAPER_BATCH, records)
            plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
        return plan.calibrate(epsilon)

    def latents(self, params: Params, rows: BinaryRows) -> Array:
        """Return ⟨z⟩ for each image, (n, K). Never publish it for private records."""
        rows = self._checked(rows)
        if not len(rows):
            return np.empty((0, self.hidden))
        return concatenated(
            lambda start, stop: (self._variant.latents(params, unpacked(rows, start, stop)),),
            len(rows),
            CHUNK,
        )[0]

    def decode(self, params: Params, hidden: npt.NDArray[np.floating]) -> Array:
        """Return p(y = 1) for hidden units z or ⟨z⟩: (n, K) to (n, J)."""
        logits = hidden @ params.weights.T + params.pixel_bias
        return np.asarray(expit(params.logit_gain * logits))

    def dictionary(self, params: Params) -> Array:
        """Return each hidden unit's weights as an image, (K, height, width); without a shape, (K, 1, J)."""
        height, width = self.image_shape or (1, self.pixels)
        return params.weights.T.reshape(self.hidden, height, width)

    def sample(self, params: Params, count: int, rng: np.random.Generator) -> BinaryRows:
        """Draw images from the model by ancestral sampling: hidden units first, then pixels."""
        count = _whole("count", count)
        hidden = rng.random((count, self.hidden)) < expit(params.hidden_logit)
        images = rng.random((count, self.pixels)) < self.decode(params, hidden.astype(np.float64))
        return BinaryRows(np.packbits(images, axis=1), self.image_shape or (1, self.pixels))

    def _checked(self, rows: BinaryRows) -> BinaryRows:
        if rows.shape[0] * rows.shape[1] != self.pixels:
            raise ValueError(f"the model has {self.pixels} pixels, but the images have shape {rows.shape}")
        return rows


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)

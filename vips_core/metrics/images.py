"""How well a sigmoid belief network describes images that it was not trained on."""

import numpy as np
import numpy.typing as npt

from vips_core.data import BinaryRows
from vips_core.kernels.pool import map_chunks
from vips_core.models.sbn.model import SBN, Params

CHUNK = 256


def reconstruct(model: SBN, params: Params, rows: BinaryRows) -> npt.NDArray[np.float64]:
    """Return p(y = 1) of every pixel given the image's own hidden units; in binary, ½ and more is a 1.

    Parameters
    ----------
    model, params
        A fitted `vips_core.SBN`.
    rows
        Images that were not trained on.

    Returns
    -------
    array
        Images × pixels.

    Examples
    --------
    >>> import vips_core as vips
    >>> model, rows = vips.SBN(4, 2, (2, 2)), vips.BinaryRows.from_images(np.eye(4), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=4, expected_batch=4, steps=1, noise_multiplier=0, delta=0.1)
    >>> params = model.init(plan, np.random.default_rng(0))
    >>> reconstruct(model, params, rows).shape
    (4, 4)
    """
    return model.decode(params, model.latents(params, rows))


def scores(model: SBN, params: Params, rows: BinaryRows) -> tuple[float, float]:
    """Return `vips_core.pixel_accuracy` and `reconstruction_log_likelihood`, which share most of the work.

    A pixel is right where the binary reconstruction has it (the paper's Figure 7); the other is the mean over
    images of Σ_j log p(y_j | ⟨z⟩), in nats per image. It is not log p(y).
    """
    if not rows.row_count:
        raise ValueError("held-out images must be at least one, got none")
    hidden = model.latents(params, rows)

    def chunk_sums(start: int, stop: int) -> tuple[int, float]:
        probability, ink = model.decode(params, hidden[start:stop]), rows.unpack(np.bool_, slice(start, stop))
        of_truth = np.where(ink, probability, 1 - probability)
        likelihood = np.log(np.maximum(of_truth, np.finfo(np.float64).tiny)).sum()
        return int(((probability >= 0.5) == ink).sum()), float(likelihood)

    sums = map_chunks(chunk_sums, rows.row_count, CHUNK)
    right, likelihood = (sum(column) for column in zip(*sums, strict=True))
    return right / (rows.row_count * model.pixels), likelihood / rows.row_count

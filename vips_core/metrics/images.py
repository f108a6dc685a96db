"""How well a sigmoid belief network describes images that it was not trained on."""

import numpy as np
import numpy.typing as npt

from vips_core.data import BinaryRows
from vips_core.models.sbn import SBN, Params


def reconstruct(model: SBN, params: Params, rows: BinaryRows) -> npt.NDArray[np.float64]:
    """Return p(y = 1) of every pixel given the image's own hidden units; in binary, ½ and more is a 1."""
    return model.decode(params, model.latents(params, rows))


def pixel_accuracy(model: SBN, params: Params, rows: BinaryRows) -> float:
    """Share of pixels that the binary reconstruction of held-out images gets right (the paper's Figure 7)."""
    return float(((reconstruct(model, params, rows) >= 0.5) == rows.unpack(np.bool_)).mean())


def reconstruction_log_likelihood(model: SBN, params: Params, rows: BinaryRows) -> float:
    """Mean over held-out images of Σ_j log p(y_j | ⟨z⟩), in nats per image. It is not log p(y)."""
    probability = reconstruct(model, params, rows)
    of_truth = np.where(rows.unpack(np.bool_), probability, 1 - probability)
    return float(np.log(np.maximum(of_truth, np.finfo(np.float64).tiny)).sum(axis=1).mean())

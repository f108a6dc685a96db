"""Scores of a sigmoid belief network on held-out images."""

from typing import Any

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks
from vips_core.models.base import Fitted
from vips_core.models.sbn.model import SBN, Params
from vips_core.records import Images

CHUNK = 256


def reconstruct(model: SBN, params: Params, rows: Images) -> Array:
    """Return p(y = 1) of every pixel given the image's own hidden units; threshold at ½ for a binary image.

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
    >>> model, rows = vips.SBN(4, 2, (2, 2)), vips.Images.from_images(np.eye(4), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=4, expected_batch=4, steps=1, noise_multiplier=0, delta=0.1)
    >>> params = model.init(plan, np.random.default_rng(0))
    >>> reconstruct(model, params, rows).shape
    (4, 4)
    """
    return model.expected(params, model.latents(params, rows))


def scores(model: SBN, params: Params, rows: Images) -> tuple[float, float]:
    """Return `vips_core.pixel_accuracy` and `reconstruction_log_likelihood`, which share most of the work.

    The first is the share of pixels that the binary reconstruction gets right (the paper's Figure 7). The
    second is the mean over images of Σ_j log p(y_j | ⟨z⟩) in nats, which differs from log p(y).
    """
    if not rows.row_count:
        raise ValueError("held-out images must be at least one, got none")
    hidden = model.latents(params, rows)

    def chunk_sums(start: int, stop: int) -> tuple[int, float]:
        probability, ink = (
            model.expected(params, hidden[start:stop]),
            rows.unpack(np.bool_, slice(start, stop)),
        )
        of_truth = np.where(ink, probability, 1 - probability)
        likelihood = np.log(np.maximum(of_truth, np.finfo(np.float64).tiny)).sum()
        return int(((probability >= 0.5) == ink).sum()), float(likelihood)

    sums = map_chunks(chunk_sums, rows.row_count, CHUNK)
    right, likelihood = (sum(column) for column in zip(*sums, strict=True))
    return right / (rows.row_count * model.pixels), likelihood / rows.row_count


def pixel_accuracy(fit: Fitted[Any], rows: Images) -> float:
    """Return the share of pixels that a fitted image model reconstructs correctly.

    Parameters
    ----------
    fit
        A fitted `vips_core.SBN`.
    rows
        Images that were not trained on.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rows = vips.Images.from_images(np.eye(4), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=4, expected_batch=4, steps=2, noise_multiplier=0, delta=0.1)
    >>> fit = vips.fit(vips.SBN(4, 2, (2, 2)), rows, plan, seed=0)
    >>> 0 <= pixel_accuracy(fit, rows) <= 1
    True
    """
    return scores(fit.model, fit.params, rows)[0]


def reconstruction_log_likelihood(fit: Fitted[Any], rows: Images) -> float:
    """Return the log likelihood of held-out images given their own hidden units.

    Parameters
    ----------
    fit
        A fitted `vips_core.SBN`.
    rows
        Images that were not trained on.

    Returns
    -------
    float
        In nats per image, at most 0.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rows = vips.Images.from_images(np.eye(4), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=4, expected_batch=4, steps=2, noise_multiplier=0, delta=0.1)
    >>> fit = vips.fit(vips.SBN(4, 2, (2, 2)), rows, plan, seed=0)
    >>> reconstruction_log_likelihood(fit, rows) <= 0
    True
    """
    return scores(fit.model, fit.params, rows)[1]

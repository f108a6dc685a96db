"""The M-step of the refined variant of LDA: free post-processing of noisy sums whose noise is known.

symbol    code                    shape
--------  ----------------------  --------------------------------------------------------------------
          params.word_average     (V,) mean of the released word counts over params.word_steps
p_v       params.word_shares      (V,) the words' shares, from them
w_v       params.weights          (V,) cells are measured as w_v·s_kv, so their noise is noise_std / w_v
s̄         params.average          (K, V) slow average of the measured sums, negative cells and all
          params.average_weight   sum of squared weights in that average: its noise over a step's noise
          params.mixture          (GROUPS, GRID) prior of s_kv / (mass_k p_v), for groups of words

What did not help: linear shrinkage with a projection on the simplex (completion 75 worse on Wikipedia, mixed
on SOTU), sharpened assignments in early steps (590 worse), forgetting early steps much faster or slower.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vips_core.kernels.shrink import shrink

if TYPE_CHECKING:
    from vips_core.models.lda import TopicParams

Float64 = npt.NDArray[np.float64]

GROUPS = 8
FORGETTING = 0.6  # step t enters the average with weight t^-0.6
WEIGHT_POWER = 0.2
LARGEST_WEIGHT = 8.0
SMALLEST_MASS = 0.1  # of a topic, as a share of the average topic's
TOPIC_GRID = np.geomspace(0.02, 50, 18)
WORD_GRID = np.geomspace(0.01, 500, 24)
FLAT = 10  # EM iterations from a flat mixture, and from the last step's
WARM = 2


def after_words(params: "TopicParams", total: Float64, std: float) -> "TopicParams":
    """Parameters after a release of the words' counts: shares, weights, and topics moved to those shares."""
    words, steps = len(total), params.word_steps + 1
    average = params.word_average + (total - params.word_average) / steps
    total, std = average, std / math.sqrt(steps)
    level = max(total.sum(), std * math.sqrt(words)) / words
    estimate, _ = shrink(
        total[None],
        np.full((1, words), level),
        np.full(words, std),
        np.zeros(words, np.int64),
        np.full((1, len(WORD_GRID)), 1 / len(WORD_GRID)),
        WORD_GRID,
        50,
    )
    shares = np.maximum(estimate[0], WORD_GRID[0] * level)
    shares /= shares.sum()
    return replace(
        params,
        lam=params.lam * (shares / params.word_shares),
        word_average=average,
        word_steps=steps,
        word_shares=shares,
        weights=np.minimum((shares * words) ** -WEIGHT_POWER, LARGEST_WEIGHT),
    )


def after_topics(params: "TopicParams", total: Float64, std: float, eta: float) -> "TopicParams":
    """Parameters after a release of the weighted topic–word sums."""
    topics, words = total.shape
    rate = float(params.topic_steps + 1) ** -FORGETTING
    average = (1 - rate) * params.average + rate * total
    weight = (1 - rate) ** 2 * params.average_weight + rate**2
    counts = average / params.weights
    noise = std * math.sqrt(weight) / params.weights
    noise_of_sum = math.sqrt(topics * float(noise @ noise))
    # Clipping scales documents, so the sums are brought back to the public number of words.
    scale = params.corpus_words / max(counts.sum(), noise_of_sum, 1e-9)
    counts, noise = counts * scale, noise * scale
    mass = np.maximum(counts.sum(axis=1), SMALLEST_MASS * params.corpus_words / topics)
    estimate, mixture = shrink(
        counts,
        mass[:, None] * params.word_shares,
        noise,
        _frequency_groups(params.word_shares),
        params.mixture,
        TOPIC_GRID,
        WARM if params.topic_steps else FLAT,
    )
    return replace(
        params,
        lam=eta + estimate,
        average=average,
        average_weight=weight,
        topic_steps=params.topic_steps + 1,
        mixture=mixture,
    )


def _frequency_groups(shares: Float64) -> npt.NDArray[np.int64]:
    """Return words in GROUPS equal groups from rare to frequent."""
    rank = np.argsort(np.argsort(shares, kind="stable"), kind="stable")
    return rank * GROUPS // len(shares)

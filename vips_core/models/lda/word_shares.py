"""The words' shares in the corpus, from noisy counts and what is publicly known of the words.

A word's count is shrunk towards those of the words like it, whose prior is learned from their noisy counts.
Which words are alike is public: a vocabulary may be sorted by frequency, so that neighbours are alike; and a
word that is frequent in English may be frequent here. The released counts are likelier by one of the two
orders, and that one is taken: the choice is made after the noise and costs nothing.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vips_core.data.english import english_words
from vips_core.kernels.pool import Array
from vips_core.models.lda.priors import GROUPS, WORD_GRID, word_prior
from vips_core.models.lda.shrink import shrink

FEWEST_WORDS = 100  # of a group
TRIAL_ITERATIONS, ITERATIONS = 10, 40  # of EM for the prior: to compare orders, and from there on

Groups = npt.NDArray[np.int64]


def shares(average: Array, average_std: float, orders: Sequence[Groups]) -> tuple[Array, float]:
    """Return the words' shares, and the noise of a share, by the likeliest of some `orders`.

    Parameters
    ----------
    average, average_std
        The words' counts, and their noise.
    orders
        Each word's group, one array for each order; see `public_orders`.
    """
    words = len(average)
    level = max(float(average.sum()), average_std * math.sqrt(words)) / words
    counts = average[None], np.full((1, words), level), np.full(words, average_std)
    tried = [
        (groups, *shrink(*counts, groups, word_prior(), WORD_GRID, TRIAL_ITERATIONS)) for groups in orders
    ]
    groups, _, prior, _ = max(tried, key=lambda order: order[-1])
    estimate, _, _ = shrink(*counts, groups, prior, WORD_GRID, ITERATIONS)
    positive = np.maximum(estimate[0], WORD_GRID[0] * level)
    return positive / positive.sum(), average_std / (level * words)


def public_orders(vocabulary: Sequence[str]) -> list[Groups]:
    """Return the groups of neighbours in the vocabulary, and those by frequency in English where they differ.

    Examples
    --------
    >>> [groups.tolist() for groups in public_orders(("zinc", "people"))]
    [[0, 0]]
    """
    words = len(vocabulary)
    rank = {word: place for place, word in enumerate(english_words())}
    ranks = [rank.get(word, len(rank)) for word in vocabulary]  # unknown words stay in their order
    neighbours = np.arange(words) * GROUPS // max(words, GROUPS * FEWEST_WORDS)
    by_frequency = np.empty_like(neighbours)
    by_frequency[np.argsort(ranks, kind="stable")] = neighbours
    return [neighbours] if np.array_equal(neighbours, by_frequency) else [neighbours, by_frequency]

"""The words' shares in the corpus, from noisy counts and what is publicly known of the words.

What is known is how frequent a word is in English, its place in the vocabulary, which may be sorted by
frequency, and what it means: `leaning` finds from the noisy counts how much each of these says here. A count
is then shrunk towards what is expected of it, by a prior that words of like expectations share. All of it is
made of released counts and public knowledge, and costs no privacy.
"""

import functools
import math

import numpy as np

from vips_core.kernels import Array
from vips_core.models.lda.leaning import learned, no_leaning, word_features
from vips_core.models.lda.priors import WORD_GRID, frequency_groups, word_prior
from vips_core.models.lda.shrink import shrink
from vips_core.records.english import english_words

FIRST_RANK = 10  # the logarithm of rank + 10 is what a word's place says: Zipf's law, flatter at its head
LEANING_ITERATIONS, PRIOR_ITERATIONS = 25, 50
NO_WORDS = 1e-9  # in all documents together: without noise, shares are then alike


def shares(counts: Array, noise: float, vocabulary: tuple[str, ...]) -> tuple[Array, float]:
    """Return the words' shares, and the noise of a share.

    Parameters
    ----------
    counts, noise
        The words' counts, and their noise.
    vocabulary
        The public words.
    """
    words = len(counts)
    level = max(float(counts.sum()), noise * math.sqrt(words), NO_WORDS) / words
    expected = np.full(words, level)
    estimate = counts
    if noise > 0:
        features = _features(vocabulary)
        cells = counts[None] / level, np.full((1, words), noise / level)
        leaning = learned(no_leaning(1, features), *cells, features, LEANING_ITERATIONS)
        (ratios,) = leaning.ratios(features)
        expected = level * ratios / ratios.mean()
        known = counts[None], expected[None], np.full(words, noise)
        groups = frequency_groups(expected)
        ((estimate,), _) = shrink(*known, groups, word_prior(), WORD_GRID, PRIOR_ITERATIONS)
    positive = np.maximum(estimate, WORD_GRID[0] * np.minimum(expected, level))
    return positive / positive.sum(), noise / (level * words)


@functools.lru_cache(maxsize=4)
def _features(vocabulary: tuple[str, ...]) -> Array:
    """Return the features of words and their places, in the vocabulary and in English."""
    rank = {word: place for place, word in enumerate(english_words())}
    places = np.arange(len(vocabulary)), np.array([rank.get(word.lower(), len(rank)) for word in vocabulary])
    columns = [np.log(place + FIRST_RANK) for place in places]
    spread = [(column - column.mean()) / max(column.std(), 1e-9) for column in columns]
    return np.column_stack([word_features(vocabulary), *spread])

"""What refined topics measure of a word in a document: how its topics differ from those expected of it.

symbol  code      shape
------  --------  ---------------------------------------------------------------------------------
w_kv    weights   (M, V) w_kv n_v (φ_vk - e_kv) is measured, so a cell's noise is noise_std / w_kv
e_kv    expected  (M, V) a part of the shares that word v has in the topics by λ

A document is scaled to its bound, so the smaller its statistics are, the more of them is left. A word's
shares in the topics by λ are known, and so is its count; only the difference is worth measuring. The nearer
e_kv is to these shares, the smaller the differences, but the more of the counts' noise comes back with
e_kv · count: a word is expected as far as its count is known. Cells that hold much are measured with less
weight than those that hold little, as words are: their noise then is nearer to what they hold.
"""

import math
from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array
from vips_core.models.lda.block_kernels import Float32

EXPECTED = 0.9  # of a word's shares, where its count is exact
COUNT_NOISE = 10.0  # times the squared relative noise of a count, plus 1, divides what is expected of it
CELL_POWER = 0.1  # 0.25: perplexity .4 % better on average, but topics of rarer words, less coherent
SMALLEST_SHARE, LARGEST_WEIGHT = 1e-3, 8.0  # of a cell, over the average topic's


@dataclass(frozen=True)
class Measure:
    """Weights and expectations of one step, topics × words."""

    weights: Array
    expected: Array

    def of_rows(self, rows: Float32) -> tuple[Float32, Float32]:
        """Return w_kv exp<ln β> and w_kv e_kv, shaped as the `rows` exp<ln β>."""
        topics = len(self.weights)
        weights = np.zeros_like(rows)
        weights[:, :topics] = self.weights.T
        expected = np.zeros_like(rows)
        expected[:, :topics] = (self.weights * self.expected).T
        return weights * rows, expected

    def in_words(self, total: Array, std: float, shares: Array, words: float) -> tuple[Array, Array, float]:
        """Return measured sums and their noise as counts of `words` words, and words per unit of the sums.

        Clipping scales documents, by how much is seen from what the sums have of the words' shares.
        """
        counts, noise = total / self.weights, std / self.weights
        if std > 0:
            left = shares * (1 - self.expected.sum(axis=0))
            precision = left / (noise * noise).sum(axis=0)
            information = float(precision @ left)
            size = max(float(precision @ counts.sum(axis=0)) / information, 1 / math.sqrt(information))
        else:
            size = max(float(counts.sum()), 1e-9)
        scale = words / size
        return counts * scale + self.expected * (shares * words), noise * scale, scale


def of_counts(word_weights: Array, topics: int) -> Measure:
    """Return what is measured before anything is expected: counts, weighted by their words."""
    weights = np.tile(word_weights, (topics, 1))
    return Measure(weights, np.zeros_like(weights))


def of_residuals(word_weights: Array, lam: Array, shares: Array, share_std: float) -> Measure:
    """Return what is measured where words have known shares in the topics and counts of known noise."""
    cells = lam / lam.sum(axis=0)
    weights = np.maximum(cells * len(lam), SMALLEST_SHARE) ** -CELL_POWER
    known = EXPECTED / (1 + COUNT_NOISE * (share_std / shares) ** 2)
    return Measure(word_weights * np.minimum(weights, LARGEST_WEIGHT), cells * known)

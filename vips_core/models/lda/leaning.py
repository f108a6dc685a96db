"""Which words a topic leans to, from what the words mean: thousands of noisy cells tell a few slopes well.

symbol  code                  shape
------  --------------------  ------------------------------------------------------------------------------
f_v     features              (V, D) 1, the word's public vector, and whether it has none
u_k     slopes                (M, D)
r_kv    ratios                (M, V) exp(u_k·f_v): cells are expected to be mass_k p_v r_kv
τ²      slope_variance        prior variance of slopes, but for that of the 1
ω²      cell_variance         of what a cell is over what is expected of it

Words that occur in the same public texts have vectors that are alike, and belong to the same topics. How much
of a word is in a topic is taken for an exponential of the two vectors' product, which is what word vectors
are made for (GloVe: J. Pennington, R. Socher and C. D. Manning, 2014). Slopes are found by Newton's steps for
the squared distances of noisy cells, each over its known noise and ω² r²; τ² and ω² are learned with them, so
that where words' meaning says nothing, slopes go to 0 and nothing is expected. All of it is made of released
sums and public vectors, and costs no privacy.
"""

import functools
from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks
from vips_core.records.english import word_vectors

LARGEST_LOG = 6.0  # of a ratio
LONGEST_STEP = 1.0  # of the logarithm of a ratio
FREE = 1e-6  # precision of the slope of 1, which has no prior
LEAST_CELL_VARIANCE, LARGEST_CELL_VARIANCE = 0.1, 10.0


@dataclass(frozen=True)
class Leaning:
    """Slopes of topics, and the variances that are learned with them."""

    slopes: Array
    slope_variance: float = 1.0
    cell_variance: float = 1.0

    def ratios(self, features: Array) -> Array:
        """Return r_kv of words with these features."""
        return _ratios(self.slopes, features)


def no_leaning(topics: int, features: Array) -> Leaning:
    """Return the leaning of topics of which nothing is known."""
    return Leaning(np.zeros((topics, features.shape[1])))


@functools.lru_cache(maxsize=4)
def word_features(vocabulary: tuple[str, ...]) -> Array:
    """Return the features of words: 1, and where vectors are known, these and whether a word has none."""
    vectors = word_vectors(vocabulary)
    unknown = (vectors == 0).all(axis=1, keepdims=True)
    columns = np.concatenate([vectors, unknown], axis=1)
    features = np.concatenate(
        [np.ones((len(vocabulary), 1)), columns[:, np.ptp(columns, axis=0) > 0]], axis=1
    )
    features.flags.writeable = False
    return features


def learned(leaning: Leaning, cells: Array, noise: Array, features: Array, iterations: int) -> Leaning:
    """Return the leaning after some Newton steps towards noisy `cells`.

    Parameters
    ----------
    leaning
        To start from.
    cells, noise
        Topics × words: cells over what they would be without any leaning, and their noise.
    features
        Words × features.
    iterations
        Newton steps, after each of which the two variances are learned anew.
    """
    for _ in range(iterations):
        leaning = _improved(leaning, cells, noise, features)
    return leaning


def _improved(leaning: Leaning, cells: Array, noise: Array, features: Array) -> Leaning:
    """Return the leaning after one Newton step of every topic, and the variances by EM and by moments."""
    topics, length = leaning.slopes.shape
    precision = np.full(length, 1 / leaning.slope_variance)
    precision[0] = FREE

    def newton(topic: int, _: int) -> tuple[Array, float, float, float]:
        slopes, own_noise = leaning.slopes[topic], noise[topic]
        return _newton(slopes, cells[topic], own_noise, features, precision, leaning.cell_variance)

    slopes, squares, excess, scale = zip(*map_chunks(newton, topics, 1), strict=True)
    slope_variance = sum(squares) / (topics * (length - 1)) if length > 1 else leaning.slope_variance
    cell_variance = min(max(sum(excess) / sum(scale), LEAST_CELL_VARIANCE), LARGEST_CELL_VARIANCE)
    return Leaning(np.stack(slopes), slope_variance, cell_variance)


def _newton(
    slopes: Array, cells: Array, noise: Array, features: Array, precision: Array, cell_variance: float
) -> tuple[Array, float, float, float]:
    """Return a topic's slopes after a step, their expected squares, and what tells the variance of cells."""
    ratios, variance = _ratios(slopes, features), noise * noise
    weights = 1 / (variance + cell_variance * ratios * ratios)
    curvature = features.T @ (features * (weights * ratios * ratios)[:, None]) + np.diag(precision)
    covariance = np.linalg.inv(curvature)
    step = covariance @ (features.T @ (weights * ratios * (cells - ratios)) - precision * slopes)
    slopes = slopes + step / max(1.0, float(np.abs(features @ step).max()) / LONGEST_STEP)
    squares = float(slopes[1:] @ slopes[1:] + np.trace(covariance[1:, 1:]))
    # Cells that are clear of noise tell how far cells are from what is expected of them.
    clear = (ratios / (variance + ratios * ratios)) ** 2
    excess = float(clear @ ((cells - ratios) ** 2 - variance))
    return slopes, squares, excess, float(clear @ (ratios * ratios))


def _ratios(slopes: Array, features: Array) -> Array:
    return np.exp(np.clip(slopes @ features.T, -LARGEST_LOG, LARGEST_LOG))

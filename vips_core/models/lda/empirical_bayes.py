"""Estimate topics from noisy counts, by four layers of empirical Bayes.

Each layer learns a prior from the released sums, and its predictions are the expectations of the next layer.
The layers use only released sums, their known noise and public knowledge of English words, so they cost no
privacy.

1. **Word shares** (`word_shares`). A log-linear regression on a word's rank in the vocabulary, its rank in
   English and its word vector predicts its count; the noisy count is then shrunk towards that prediction.
2. **Residuals** (`Measurement`). Word shares and topics so far predict most of a document. Only the
   difference is measured, so less of it is clipped away.
3. **Semantic prior** (`SemanticPrior`). Words of similar meaning belong to the same topics. For each topic, a
   log-linear regression on word vectors predicts its cells.
4. **Mixture prior** (`shrink`). The ratio of a cell to that prediction has, for each topic, a
   mixture of narrow bumps at public grid points as its prior, so heavy tails and sparsity are learned, not
   assumed.

Layers 1 and 3 are fitted by Newton's method, 4 by EM.

symbol  code                  shape
------  --------------------  ----------------------------------------------------------------------
p_v     shares                (V,) share of each word in the corpus
w_kv    weights               (M, V) w_kv n_v (φ_vk - e_kv) is measured: a cell's noise is noise_std / w_kv
e_kv    expected              (M, V) share of a word's count that is expected in topic k
f_v     features              (V, D) 1, the word's public vector, and an indicator of a missing vector
u_k     slopes                (M, D)
r_kv    ratios                (M, V) exp(u_k·f_v): the expectation of a cell is mass_k p_v r_kv
τ²      slope_variance        prior variance of slopes, except the intercept
ω²      cell_variance         variance of a cell over its expectation
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks
from vips_core.models.lda.constants import Constants
from vips_core.models.lda.shrink_kernels import LANES, shrink_columns
from vips_core.models.lda.sweep_kernels import Float32
from vips_core.records.english import english_words, word_vectors

INTERCEPT_PRECISION = 1e-6  # prior precision of the intercept: nearly flat, keeps the system regular
CHUNK = 512  # columns that a thread shrinks at a time
LARGEST = 1e15  # largest |cell| and noise, in units of the cell's expectation: their squares fit float32
TINY_COUNT = 1e-9  # words; keeps divisions defined for a corpus without words


# 1. Word shares


def word_shares(
    counts: Array, noise: float, vocabulary: tuple[str, ...], constants: Constants
) -> tuple[Array, float]:
    """Return the words' shares of the corpus, and the standard deviation of the noise on a share.

    Parameters
    ----------
    counts, noise
        Noisy word counts, and the standard deviation of their noise.
    vocabulary
        The public words.
    constants
        The model's constants.
    """
    words = len(counts)
    level = max(float(counts.sum()), noise * math.sqrt(words), TINY_COUNT) / words
    expected = np.full(words, level)
    estimate = counts
    if noise > 0:
        features = _word_features(vocabulary, constants)
        cells = counts[None] / level, np.full((1, words), noise / level)
        semantic = SemanticPrior.flat(1, features).fit(
            *cells, features, constants.word_slope_steps, constants
        )
        (ratios,) = semantic.ratios(features, constants)
        expected = level * ratios / ratios.mean()
        known = counts[None], expected[None], np.full(words, noise), mixture_prior(1, constants)
        ((estimate,), _) = shrink(*known, constants.word_em_steps, constants)
    positive = np.maximum(estimate, constants.grid[0] * np.minimum(expected, level))
    return positive / positive.sum(), noise / (level * words)


@functools.lru_cache(maxsize=4)
def _word_features(vocabulary: tuple[str, ...], constants: Constants) -> Array:
    """Return each word's semantic features, and its log ranks in the vocabulary and in English."""
    rank = {word: place for place, word in enumerate(english_words())}
    ranks = np.arange(len(vocabulary)), np.array([rank.get(word.lower(), len(rank)) for word in vocabulary])
    logs = [np.log(place + constants.rank_offset) for place in ranks]
    standardised = [(column - column.mean()) / max(column.std(), 1e-9) for column in logs]
    return np.column_stack([semantic_features(vocabulary), *standardised])


# 2. Residuals


@dataclass(frozen=True)
class Measurement:
    """Weights and expectations of one step, topics × words.

    A document's statistics are scaled down to its bound, so less is lost of smaller statistics. Residuals are
    smaller the nearer `expected` is to the true shares of topics in a word. But the expected part is added
    back times the word's noisy count, so expectations are reduced for words whose counts are noisy.
    """

    weights: Array
    expected: Array

    @classmethod
    def of_counts(cls, topics: int, words: int) -> "Measurement":
        """Return the measurement of plain counts, without expectations."""
        return cls(np.ones((topics, words)), np.zeros((topics, words)))

    @classmethod
    def of_residuals(cls, lam: Array, shares: Array, share_std: float, constants: Constants) -> "Measurement":
        """Return the measurement of residuals, given topics λ and word shares of known noise.

        Large cells weigh less than small ones, which brings their noise nearer in proportion to their size.
        """
        cells = lam / lam.sum(axis=0)
        relative = np.maximum(cells * len(lam), constants.smallest_cell_share)
        known = constants.expected / (1 + constants.count_noise * (share_std / shares) ** 2)
        return cls(relative**-constants.cell_weight_power, cells * known)

    def of_rows(self, rows: Float32) -> tuple[Float32, Float32]:
        """Return w_kv exp<ln β> and w_kv e_kv, in the shape of the `rows` exp<ln β>."""
        topics = len(self.weights)
        weights = np.zeros_like(rows)
        weights[:, :topics] = self.weights.T
        expected = np.zeros_like(rows)
        expected[:, :topics] = (self.weights * self.expected).T
        return weights * rows, expected

    def to_word_counts(
        self, total: Array, std: float, shares: Array, words: float
    ) -> tuple[Array, Array, float]:
        """Return sums and noise as counts that total `words`, and the number of words per unit of a sum.

        Clipping scales documents down by an unknown factor. It is estimated from the sums' total for each
        word, because the proportions of these totals are known.
        """
        counts, noise = total / self.weights, std / self.weights
        if std > 0:
            residual = shares * (1 - self.expected.sum(axis=0))
            precision = residual / (noise * noise).sum(axis=0)
            information = float(precision @ residual)
            size = max(float(precision @ counts.sum(axis=0)) / information, 1 / math.sqrt(information))
        else:
            size = max(float(counts.sum()), TINY_COUNT)
        scale = words / size
        return counts * scale + self.expected * (shares * words), noise * scale, scale


# 3. Semantic prior


@dataclass(frozen=True)
class SemanticPrior:
    """A log-linear regression of each topic's cells on public features of the words.

    Words that occur in the same public texts have similar vectors. A word's weight in a topic is modelled as
    the exponential of a product of two vectors, the form that word vectors are learned in (GloVe: J.
    Pennington, R. Socher and C. D. Manning, 2014). Newton's method minimises the squared residuals of noisy
    cells, each divided by its noise variance plus ω² r². τ² and ω² are learned too, so slopes shrink to 0
    where meaning predicts nothing.
    """

    slopes: Array
    slope_variance: float = 1.0
    cell_variance: float = 1.0

    @classmethod
    def flat(cls, topics: int, features: Array) -> "SemanticPrior":
        """Return the prior before any topic has been measured."""
        return cls(np.zeros((topics, features.shape[1])))

    def ratios(self, features: Array, constants: Constants) -> Array:
        """Return r_kv of words with these features."""
        return _ratios(self.slopes, features, constants)

    def fit(
        self, cells: Array, noise: Array, features: Array, steps: int, constants: Constants
    ) -> "SemanticPrior":
        """Return the prior fitted to noisy cells by Newton steps, each followed by new variances.

        Parameters
        ----------
        cells, noise
            Topics × words: cells over their expectation under a flat prior, and the noise of these ratios.
        features
            Words × features.
        steps
            Number of Newton steps.
        constants
            The model's constants.
        """
        prior, (topics, length) = self, self.slopes.shape
        low, high = constants.cell_variance
        for _ in range(steps):
            newton = functools.partial(prior._newton, cells, noise, features, constants)
            slopes, squares, excess, scale = zip(*map_chunks(newton, topics, 1), strict=True)
            slope_variance = sum(squares) / (topics * (length - 1)) if length > 1 else prior.slope_variance
            cell_variance = min(max(sum(excess) / sum(scale), low), high)
            prior = SemanticPrior(np.stack(slopes), slope_variance, cell_variance)
        return prior

    def _newton(
        self, all_cells: Array, all_noise: Array, features: Array, constants: Constants, topic: int, _: int
    ) -> tuple[Array, float, float, float]:
        """Return one topic's slopes after a step, their expected squares, and its two sums for ω²."""
        cells, noise = all_cells[topic], all_noise[topic]
        slopes, precision = self.slopes[topic], np.full(features.shape[1], 1 / self.slope_variance)
        precision[0] = INTERCEPT_PRECISION
        ratios, variance = _ratios(slopes, features, constants), noise * noise
        weights = 1 / (variance + self.cell_variance * ratios * ratios)
        curvature = features.T @ (features * (weights * ratios * ratios)[:, None]) + np.diag(precision)
        covariance = np.linalg.inv(curvature)
        step = covariance @ (features.T @ (weights * ratios * (cells - ratios)) - precision * slopes)
        slopes = slopes + step / max(1.0, float(np.abs(features @ step).max()) / constants.longest_step)
        squares = float(slopes[1:] @ slopes[1:] + np.trace(covariance[1:, 1:]))
        # ω² by the method of moments; cells weigh more the clearer they are of the noise.
        clear = (ratios / (variance + ratios * ratios)) ** 2
        excess = float(clear @ ((cells - ratios) ** 2 - variance))
        return slopes, squares, excess, float(clear @ (ratios * ratios))


@functools.lru_cache(maxsize=4)
def semantic_features(vocabulary: tuple[str, ...]) -> Array:
    """Return the words' features: 1, and those of their vectors and missing-vector indicator that vary."""
    vectors = word_vectors(vocabulary)
    unknown = (vectors == 0).all(axis=1, keepdims=True)
    columns = np.concatenate([vectors, unknown], axis=1)
    features = np.concatenate(
        [np.ones((len(vocabulary), 1)), columns[:, np.ptp(columns, axis=0) > 0]], axis=1
    )
    features.flags.writeable = False
    return features


def _ratios(slopes: Array, features: Array, constants: Constants) -> Array:
    return np.exp(np.clip(slopes @ features.T, -constants.largest_log, constants.largest_log))


# 4. Mixture prior


def mixture_prior(rows: int, constants: Constants) -> Array:
    """Return EM's initial mixtures, rows × bumps: exponential densities of mean 1.

    The exponential distribution has maximal entropy for a mean of 1, so a cell that is all noise shrinks to
    its expectation.
    """
    weights = constants.bumps * np.exp(-constants.bumps)  # on a geometric grid
    return np.tile(weights / weights.sum(), (rows, 1))


def shrink(
    noisy: Array, mean: Array, noise_std: Array, mixture: Array, steps: int, constants: Constants
) -> tuple[Array, Array]:
    """Return the cells' posterior means, rows × columns, and the mixtures after `steps` steps of EM.

    The model of a cell is noisy = mean·x + noise, with x ≥ 0 from its row's mixture. A bump's standard
    deviation is half the gap below its centre. The estimate is in single precision.

    Parameters
    ----------
    noisy, mean
        Rows × columns; means are positive.
    noise_std
        Standard deviation of the noise on each cell, or each column.
    mixture
        Initial weights of the bumps, rows × grid points.
    steps
        EM steps, at least 1.
    constants
        The model's constants.
    """
    (rows, columns), grid = noisy.shape, constants.bumps
    if mixture.shape != (rows, len(grid)):  # the kernel does not check its bounds
        raise ValueError(f"mixtures must have the shape {(rows, len(grid))}, got {mixture.shape}")
    variances = _padded((noise_std / mean) ** 2, high=LARGEST**2, rest=-1)
    cells, bump_variances = _padded(noisy / mean, high=LARGEST), (np.diff(grid, prepend=0) / 2) ** 2
    bumps = grid.astype(np.float32), bump_variances.astype(np.float32)
    estimate = np.empty_like(cells)
    for _ in range(steps):
        weights = mixture.astype(np.float32)

        def shrink_chunk(start: int, stop: int, weights: Float32 = weights) -> Float32:
            bump_cells = np.zeros_like(weights)
            shrink_columns(cells, variances, weights, *bumps, start, stop, estimate, bump_cells)
            return bump_cells

        counts = np.full(mixture.shape, constants.bump_cells)
        for bump_cells in map_chunks(shrink_chunk, cells.shape[1], CHUNK):
            counts += bump_cells
        mixture = counts / counts.sum(axis=1, keepdims=True)
    return mean * estimate[:, :columns], mixture


def _padded(numbers: Array, high: float, rest: float = 0) -> Float32:
    """Return numbers clipped to ±`high`, with columns of `rest` up to a multiple of the kernel's lanes."""
    rows, columns = numbers.shape
    padded = np.full((rows, -(-columns // LANES) * LANES), rest, np.float32)
    np.clip(numbers, -high, high, out=padded[:, :columns], casting="same_kind")
    return padded

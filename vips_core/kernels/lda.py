"""The E-step of latent Dirichlet allocation over documents, in threads.

Documents are split into a number of groups that depends on their number only, each with its own float64 sum,
and the groups are added in their order: the result has the same bits for any number of threads, and memory
does not grow with documents. `lda_documents` has what happens to one document, `lda_sweeps` its inner loops.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from vips_core.data import Corpus
from vips_core.kernels.lda_documents import add_counts, add_documents, infer_documents
from vips_core.kernels.lda_sweeps import Float32, Float64
from vips_core.kernels.pool import map_chunks
from vips_core.kernels.simd import WIDTH

MOST_GROUPS = 8
GROUP = 512  # documents that are worth a sum of their own
LOG_FLOOR = -60.0
SLACK = 1 - 1e-5  # float32 rounding of a norm must not lift a record above its bound


def expected_rows(lam: npt.NDArray[np.floating]) -> Float32:
    """exp<ln β> of topics × words `lam`, as words × padded topics with the largest entry of each word 1."""
    topics, words = lam.shape
    logs = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    rows = np.zeros((words, -(-topics // WIDTH) * WIDTH), np.float32)
    rows[:, :topics] = np.exp(np.maximum(logs - logs.max(axis=0), LOG_FLOOR)).T
    return rows


def topic_word_sums(
    corpus: Corpus,
    rows: Float32,
    topics: int,
    alpha: float,
    *,
    weights: Float32,
    words: int,
    resampled: bool,
    seed: int,
    bound: float,
    sweeps: int,
    tolerance: float,
) -> Float64:
    """Sum over documents of weights[v] n_v φ_vk, each clipped to `bound` in Frobenius norm: topics × words.

    `resampled` draws exactly `words` words with replacement from each document; otherwise longer documents
    are scaled down to `words` words and shorter ones stay as they are. An empty document adds nothing.
    """

    def part(start: int, stop: int) -> Float64:
        sums = np.zeros(rows.shape)
        add_documents(
            corpus.indptr[start : stop + 1],
            corpus.indices,
            corpus.counts,
            rows,
            _steps(rows),
            weights,
            alpha,
            words,
            resampled,
            seed,
            bound * SLACK,
            sweeps,
            tolerance,
            sums,
        )
        return sums

    return np.ascontiguousarray(_added(part, len(corpus), rows.shape)[:, :topics].T)


def word_sums(corpus: Corpus, *, words: int, bound: float) -> Float64:
    """Sum over documents of their counts, longer ones scaled to `words` words, each clipped to `bound`."""

    def part(start: int, stop: int) -> Float64:
        sums = np.zeros(len(corpus.vocabulary))
        add_counts(corpus.indptr[start : stop + 1], corpus.indices, corpus.counts, words, bound * SLACK, sums)
        return sums

    return _added(part, len(corpus), (len(corpus.vocabulary),))


def infer_gammas(
    corpus: Corpus, rows: Float32, topics: int, alpha: float, sweeps: int = 100, tolerance: float = 1e-3
) -> Float64:
    """γ of each document with all its words, documents × topics; an empty document keeps its prior."""
    gammas = np.empty((len(corpus), topics), np.float32)

    def part(start: int, stop: int) -> None:
        infer_documents(
            corpus.indptr[start : stop + 1],
            corpus.indices,
            corpus.counts,
            rows,
            _steps(rows),
            alpha,
            sweeps,
            tolerance,
            gammas[start:stop],
        )

    map_chunks(part, len(corpus), 256)
    return gammas.astype(np.float64)


def _steps(rows: Float32) -> tuple[int, ...]:
    return (0,) * int(rows.shape[1] // WIDTH)


def _added(part: Callable[[int, int], Float64], documents: int, shape: tuple[int, ...]) -> Float64:
    """Sum the parts of fixed groups of documents, in their order."""
    groups = min(MOST_GROUPS, max(1, -(-documents // GROUP)))
    total = np.zeros(shape)
    for sums in map_chunks(part, documents, max(1, -(-documents // groups))):
        total += sums
    return total

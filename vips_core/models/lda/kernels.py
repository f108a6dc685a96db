"""The E-step of latent Dirichlet allocation over documents, in threads.

Each document's contribution is cut to whole steps of a grid, so sums are exact: they have the same bits for
any order of documents, number of threads and split into shards. `document_kernels` adds the contributions of
documents; `sweep_kernels` iterates over one document.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from vips_core.kernels import Array
from vips_core.kernels.pool import map_chunks, thread_count
from vips_core.kernels.simd import WIDTH
from vips_core.models.lda.completion_kernels import Corpus, add_completions
from vips_core.models.lda.document_kernels import (
    GROUP,
    Counts,
    Limits,
    add_documents,
    add_residuals,
    aligned,
    infer_documents,
)
from vips_core.models.lda.sweep_kernels import SMALL_GAIN, Float32, Inference, Topics, row_sums
from vips_core.privacy.blocks import Block
from vips_core.records import Documents

if TYPE_CHECKING:
    from vips_core.models.lda.model import LDA

LOG_FLOOR = -60.0  # least log of exp<ln β> over the word's maximum: e^-60 is far below float32's precision
SLACK = 1 - 1e-5  # factor on bounds, so that float32 rounding of a norm lifts no record above its bound


def expected_rows(lam: npt.NDArray[np.floating]) -> Float32:
    """Return exp<ln β> of `lam` (topics × words) as words × padded topics, each word scaled to maximum 1."""
    topics, words = lam.shape
    logs = np.asarray(digamma(lam))
    logs -= digamma(lam.sum(axis=1, keepdims=True))
    logs -= logs.max(axis=0)
    padded = -(-topics // WIDTH) * WIDTH
    rows = aligned(words * padded).reshape(words, padded)
    rows[:, :topics] = np.exp(np.maximum(logs, LOG_FLOOR, out=logs), out=logs).T
    return rows


def inference_of(
    alpha: float | npt.NDArray[np.floating], topics: int, sweeps: int, tolerance: float
) -> Inference:
    """Return the E-step's settings for a prior α, of each topic or the same for all."""
    priors = np.ascontiguousarray(np.broadcast_to(alpha, topics), np.float64)
    small = np.maximum(SMALL_GAIN * priors * np.minimum(priors, 1), 1e-30)
    theta = np.exp(digamma(priors))
    gains = float((theta / small).max())
    twice = np.exp(digamma(2 * priors))
    alpha, theta, twice = (part.astype(np.float32) for part in (priors, theta, twice))
    return Inference(alpha, theta, twice, gains, sweeps, tolerance)


def topic_word_sums(
    model: "LDA",
    corpus: Documents,
    rows: Float32,
    block: Block,
    *,
    resampled: bool = False,
    residuals: tuple[Float32, Float32] | None = None,
) -> Array:
    """Return Σ n_v φ_vk over documents (topics × words), each within the block's bound and on its grid.

    Documents longer than the model's number of words are scaled down to it, and shorter ones are not changed;
    `resampled` draws exactly that many words with replacement from each. An empty document adds nothing.
    With `residuals`, which are w_kv exp<ln β> and w_kv e_kv in the shape of `rows`, the sum is Σ w_kv n_v
    (φ_vk - e_kv).
    """
    topics = Topics(rows, row_sums(rows), block.shape[0])
    inference = inference_of(model.alpha, topics.number, model.sweeps, model.tolerance)
    limits = Limits(model.words_per_document, resampled, model.seed, block.bound * SLACK, block.grid)

    def add(documents: Counts, sums: Array) -> None:
        if residuals is None:
            add_documents(documents, topics, inference, limits, sums)
        else:
            add_residuals(documents, topics, inference, limits, *residuals, sums)

    steps = _sum_documents(add, corpus, rows.shape)[:, : topics.number].T
    return np.multiply(steps, block.grid, order="C")


def completion_sums(
    model: "LDA",
    corpus: Documents,
    rows: Float32,
    lam: npt.NDArray[np.floating],
    own: float,
    sampled: float,
    concentrations: tuple[float, ...],
    block: Block,
) -> Array:
    """Return Σ over documents of the gain in log probability per word of N, for each concentration α₀.

    A document's topics are inferred from a random half of its words. The gain is that of the other half over
    the topics' average, each topic by its share of all words, which is the limit of α₀ → ∞. `own` is the
    number of words that a document's word adds to λ. Documents outside of a public share `sampled`, drawn by
    a hash, add nothing.
    """
    topics, mass = Topics(rows, row_sums(rows), len(lam)), lam.sum(axis=1)
    inference = inference_of(model.alpha, topics.number, model.sweeps, model.tolerance)
    priors = tuple(
        inference_of(concentration * mass / mass.sum(), topics.number, model.sweeps, model.tolerance)
        for concentration in concentrations
    )
    counted = np.ascontiguousarray(lam.T, np.float32)
    whole = Corpus(counted, np.asarray(mass.sum() / mass, np.float32), own, counted.min(), sampled)
    limits = Limits(model.words_per_document, False, model.seed, block.bound * SLACK, block.grid)

    def add(documents: Counts, sums: Array) -> None:
        add_completions(documents, topics, inference, priors, whole, limits, sums)

    return _sum_documents(add, corpus, block.shape) * block.grid


def word_sums(corpus: Documents, *, words: int, block: Block) -> Array:
    """Return word counts over documents, each of at most `words` words and within the block's bound."""

    def add(documents: Counts, sums: Array) -> None:
        indptr, indices, counts = documents
        entries = slice(indptr[0], indptr[-1])
        own, lengths = counts[entries].astype(np.float64), np.diff(indptr)
        document = np.repeat(np.arange(len(lengths)), lengths)
        factor = np.minimum(1, words / np.maximum(np.bincount(document, own, len(lengths)), 1))
        norm = factor * np.sqrt(np.maximum(np.bincount(document, own**2, len(lengths)), 1))
        factor *= np.minimum(1, block.bound * SLACK / norm) / block.grid  # clip, in units of grid steps
        sums += np.bincount(indices[entries], np.trunc(factor[document] * own), len(sums))

    return _sum_documents(add, corpus, (len(corpus.vocabulary),)) * block.grid


def infer_gammas(
    corpus: Documents,
    rows: Float32,
    topics: int,
    alpha: float | npt.NDArray[np.floating],
    sweeps: int = 100,
    tolerance: float = 1e-3,
) -> Array:
    """Return γ of each document from all its words, documents × topics; an empty document keeps the prior."""
    gammas = np.empty((len(corpus), topics), np.float32)
    known = Topics(rows, row_sums(rows), topics), inference_of(alpha, topics, sweeps, tolerance)

    def infer_chunk(start: int, stop: int) -> None:
        infer_documents(_counts(corpus, start, stop), *known, gammas[start:stop])

    map_chunks(infer_chunk, len(corpus), 256)
    return gammas.astype(np.float64)


def _counts(corpus: Documents, start: int, stop: int) -> Counts:
    return Counts(corpus.indptr[start : stop + 1], corpus.indices, corpus.counts)


def _sum_documents(add: Callable[[Counts, Array], None], corpus: Documents, shape: tuple[int, ...]) -> Array:
    """Add up all documents in threads, each with its own sums, which are exact in any order."""
    starts = iter(range(0, len(corpus), GROUP))  # shared by the threads: each takes the next group when free

    def thread_sums(*_: int) -> Array:
        sums = aligned(2 * math.prod(shape)).view(np.float64).reshape(shape)
        for start in starts:
            add(_counts(corpus, start, min(start + GROUP, len(corpus))), sums)
        return sums

    threads = max(1, min(thread_count(), -(-len(corpus) // GROUP)))
    total, *others = map_chunks(thread_sums, threads, 1)
    for sums in others:
        total += sums
    return total

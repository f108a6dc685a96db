"""Completions of documents: how well half of a document predicts the other half, for several priors α.

Symbols are those of `sweep_kernels`; β and p are the topics and their average, as known from other documents:

symbol  code       shape
------  ---------  -------------------------------------------------------------------------------
λ       counted    (V, K) float32, of all documents
        remaining  (U, P) float32 exp<ln β> of a document's words, without the document's own part
β/p     lift       (U, P) float32 of a document's words, without the document's own part
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from vips_core.kernels import Array
from vips_core.models.lda.document_kernels import (
    GOLDEN,
    LARGEST,
    UNDERFLOW,
    Counts,
    Limits,
    aligned,
    mix,
    read,
    workspace,
)
from vips_core.models.lda.sweep_kernels import (
    FAST,
    ONE,
    TINY,
    ZERO,
    Float32,
    Inference,
    Int32,
    Topics,
    gather,
    infer,
    spread,
)


class Corpus(NamedTuple):
    """What topics count of all documents, and the part that a document's own words have in it."""

    counted: Float32  # λ, words × topics
    scale: Float32  # Σ_kv λ_kv over each topic's Σ_v λ_kv
    own: float  # words of λ for a word of a document
    floor: np.float32  # least λ_kv without a document
    sampled: float  # share of documents, drawn by a hash, whose gains are measured


@nb.njit(nogil=True, cache=True, error_model="numpy")
def halve(words: Int32, counts: Int32, seed: int, first: Int32) -> float:
    """Write how many of each word's tokens are in the first half of a document; return a number in [0, 1).

    Each token is in either half with probability 1/2, by a hash of the document and `seed`; of a count above
    64, exactly half are. The number is a further hash.
    """
    state = mix(np.uint64(seed))
    for u in range(words.size):
        state = mix(state ^ (np.uint64(words[u]) << np.uint64(32) | np.uint64(counts[u]))) + GOLDEN
        first[u] = counts[u] // 2
        if counts[u] <= 64:
            bits, first[u] = mix(state), 0
            for token in range(counts[u]):
                first[u] += np.int32(bits >> np.uint64(token) & np.uint64(1))
    return float(mix(state) >> np.uint64(11)) * 2.0**-53


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_completions(
    documents: Counts,
    topics: Topics,
    inference: Inference,
    priors: tuple[Inference, ...],
    corpus: Corpus,
    limits: Limits,
    sums: Array,
) -> None:
    """Add each document's clipped gains to `sums`, one for each prior, in grid steps.

    A gain is Σ_v n_v ln (Σ_k ⟨θ_k⟩ β_kv / p_v) / N over the second half of the document's tokens. θ is
    inferred from the first half. β and p are those of the other documents: the document's own part, by
    `inference` from all its words, is removed. Gains are clipped together to the bound and cut to whole steps
    towards 0.
    """
    indptr, width, number = documents.indptr, topics.rows.shape[1], topics.number
    longest, work, gains = np.diff(indptr).max(), workspace(documents.indptr, width), np.zeros(len(priors))
    first, lift = np.zeros(longest, np.int32), aligned(longest * width).reshape(longest, width)
    rows, totals = aligned(longest * width).reshape(longest, width), np.zeros(longest, np.float32)
    weights, found = aligned(width), aligned(width)
    for d in range(indptr.size - 1):
        own = slice(indptr[d], indptr[d + 1])
        words, counts = documents.indices[own], documents.counts[own]
        drawn = halve(words, counts, limits.seed, first)
        if drawn >= corpus.sampled or read(documents, d, limits, work) == 0:
            continue
        weights[:] = 0
        active = infer(topics, inference, gather(topics, words.size, work), work)
        spread(work.theta, work.topic, active, ONE, weights)
        factor = work.counts[0] / np.float32(counts[0])
        for u in range(words.size):
            row, counted, normaliser = topics.rows[words[u]], corpus.counted[words[u]], TINY
            chance, totals[u] = ZERO, TINY
            for k in range(number):
                normaliser += weights[k] * row[k]
            removed = np.float32(corpus.own) * factor * np.float32(counts[u]) / normaliser
            for k in range(number):
                left = max(counted[k] - removed * weights[k] * row[k], corpus.floor)
                chance += left
                lift[u, k] = left * corpus.scale[k]
                rows[u, k] = row[k] * left / counted[k]
                totals[u] += rows[u, k]
            for k in range(number):
                lift[u, k] /= chance
        used, seen, square = 0, ZERO, 0.0
        for u in range(words.size):
            if first[u] > 0:
                work.word[used], work.counts[used] = u, factor * first[u]
                seen += work.counts[used]
                used += 1
        if used == 0:
            continue
        remaining = Topics(rows, totals, number)
        for p in range(len(priors)):
            active = infer(remaining, priors[p], gather(remaining, used, work), work)
            found[:number] = priors[p].alpha
            whole, gains[p] = seen + found.sum(), 0.0
            spread(work.gain, work.topic, active, ONE, found)
            for u in range(words.size):
                if counts[u] > first[u]:
                    likely = ZERO
                    for k in range(number):
                        likely += found[k] * lift[u, k]
                    gains[p] += (counts[u] - first[u]) * math.log(likely / whole)
            gains[p] *= factor / limits.length
            square += gains[p] * gains[p]
        if not square < LARGEST:
            continue  # NaN would corrupt the sum over all documents
        scale = min(1.0, limits.bound / max(math.sqrt(square), UNDERFLOW)) / limits.grid
        for p in range(len(priors)):
            sums[p] += np.trunc(gains[p] * scale)

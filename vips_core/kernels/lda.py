"""The E-step of latent Dirichlet allocation: all sweeps, the clip and the sum of one document in one pass.

symbol       code       shape
-----------  ---------  ----------------------------------------------------------------------------------
exp<ln β>    rows       (V, P) float32, each word's row over its largest entry; P = K padded to 4s
             local      (P, U) float32, the same for the words of one document
exp<ln θ>    theta      (P,) float32, over its largest entry
γ            gamma      (P,) float32
n_v          count      (U,) float32
             weights    (V,) float32: the statistics are measured as weights[v] n_v φ_vk

Only ratios within a word and within a document enter φ, and both scales keep them inside float32. Loops run
along the words of a document, because there are more of them than topics, four topics at a time.
Documents are split into a fixed number of groups, each with its own float64 sum, and the groups are added in
their order: the result has the same bits for any number of threads, and memory does not grow with documents.
"""

import math

import numba as nb
import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from vips_core.data import Corpus
from vips_core.kernels.pool import map_chunks
from vips_core.kernels.special import exp_digamma

GROUPS = 8
LANES = 4
LOG_FLOOR = -60.0
TINY = np.float32(1e-37)
SLACK = 1 - 1e-5  # float32 rounding of a norm must not lift a record above its bound
FAST = {"contract", "reassoc", "nsz", "arcp"}  # infinities and NaN keep their meaning
GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


def expected_rows(lam: npt.NDArray[np.floating]) -> Float32:
    """exp<ln β> of topics × words `lam`, as words × padded topics with the largest entry of each word 1."""
    topics, words = lam.shape
    logs = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    rows = np.zeros((words, -(-topics // LANES) * LANES), np.float32)
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

    total = np.zeros(rows.shape)
    for sums in map_chunks(part, len(corpus), max(1, -(-len(corpus) // GROUPS))):
        total += sums
    return np.ascontiguousarray(total[:, :topics].T)


def word_sums(corpus: Corpus, *, words: int, bound: float) -> Float64:
    """Sum over documents of their counts, longer ones scaled to `words` words, each clipped to `bound`."""

    def part(start: int, stop: int) -> Float64:
        sums = np.zeros(len(corpus.vocabulary))
        add_counts(corpus.indptr[start : stop + 1], corpus.indices, corpus.counts, words, bound * SLACK, sums)
        return sums

    total = np.zeros(len(corpus.vocabulary))
    for sums in map_chunks(part, len(corpus), max(1, -(-len(corpus) // GROUPS))):
        total += sums
    return total


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
            alpha,
            sweeps,
            tolerance,
            gammas[start:stop],
        )

    map_chunks(part, len(corpus), 256)
    return gammas.astype(np.float64)


@nb.njit(nogil=True, cache=True, inline="always")
def mix(x: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: a bijection of 64 bits in which every input bit moves every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def resample(words: Int32, counts: Int32, draws: int, seed: int, count: Float32) -> None:
    """Fill `count` with `draws` words drawn with replacement from one document that is not empty.

    The draws are a hash of the document's own words and a public seed, so that they depend on no other
    document and stay the same in every batch.
    """
    state = mix(np.uint64(seed))
    tokens = np.empty(counts.sum(), np.int32)
    total = 0
    for u in range(words.size):
        state = mix(state ^ (np.uint64(words[u]) << np.uint64(32) | np.uint64(counts[u]))) + GOLDEN
        count[u] = 0
        for _ in range(counts[u]):
            tokens[total] = u
            total += 1
    for _ in range(draws):
        state += GOLDEN
        # The top 32 bits times the total, over 2^32: uniform over the tokens to total / 2^32.
        count[tokens[((mix(state) >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32)]] += 1


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer(
    local: Float32,
    count: Float32,
    used: int,
    alpha: float,
    sweeps: int,
    tolerance: float,
    theta: Float32,
    gamma: Float32,
    total: Float32,
    ratio: Float32,
) -> None:
    """Sweep φ (eq. topic_post) and γ of one document.

    Starts from a flat θ and ends after `sweeps` or when the mean change of γ is below `tolerance`. Leaves γ
    and the exp<ln θ> that belongs to it.
    """
    width = theta.size
    for k in range(width):
        theta[k] = 1
        gamma[k] = alpha
    for _ in range(sweeps):
        for u in range(used):
            ratio[u] = TINY
        for k in range(0, width, 4):
            t0, t1, t2, t3 = theta[k], theta[k + 1], theta[k + 2], theta[k + 3]
            for u in range(used):
                ratio[u] += (t0 * local[k, u] + t1 * local[k + 1, u]) + (
                    t2 * local[k + 2, u] + t3 * local[k + 3, u]
                )
        for u in range(used):
            ratio[u] = count[u] / ratio[u]
        for k in range(0, width, 4):
            s0, s1, s2, s3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for u in range(used):
                s0 += ratio[u] * local[k, u]
                s1 += ratio[u] * local[k + 1, u]
                s2 += ratio[u] * local[k + 2, u]
                s3 += ratio[u] * local[k + 3, u]
            total[k], total[k + 1], total[k + 2], total[k + 3] = s0, s1, s2, s3
        change = np.float32(0)
        for k in range(width):
            updated = np.float32(alpha) + theta[k] * total[k]
            change += abs(updated - gamma[k])
            gamma[k] = updated
            theta[k] = exp_digamma(updated)  # the padding has rows of 0 and stays out of φ
        largest = TINY
        for k in range(width):  # a loop of its own: together with exp_digamma it would not be vectorised
            largest = max(largest, theta[k])
        for k in range(width):
            theta[k] /= largest
        if change < tolerance * width:
            break


@nb.njit(nogil=True, cache=True, inline="always")
def gather(rows: Float32, word: Int32, count: Float32, used: int, local: Float32) -> int:
    """Copy the rows of `used` words to the columns of `local`; return their number padded to 8s."""
    padded = (used + 7) // 8 * 8
    for u in range(used, padded):
        count[u] = 0
        word[u] = word[0]
    for u in range(padded):
        row = rows[word[u]]
        for k in range(row.size):
            local[k, u] = row[k]
    return padded


@nb.njit(nogil=True, cache=True, inline="always")
def room_for(indptr: Int64) -> int:
    """Entries of the longest document, padded to 8s, and 8 more."""
    longest = 0
    for d in range(indptr.size - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    return (longest + 15) // 8 * 8


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_documents(
    indptr: Int64,
    indices: Int32,
    counts: Int32,
    rows: Float32,
    weights: Float32,
    alpha: float,
    words: int,
    resampled: bool,
    seed: int,
    bound: float,
    sweeps: int,
    tolerance: float,
    sums: Float64,
) -> None:
    """Add each document's weighted and clipped statistics to `sums`, words × padded topics."""
    width, room = rows.shape[1], room_for(indptr)
    count, ratio, own = np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    word = np.zeros(room, np.int32)
    local = np.empty((width, room), np.float32)
    theta, gamma, total = (
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    for d in range(indptr.size - 1):
        begin, end = indptr[d], indptr[d + 1]
        if begin == end:
            continue
        if resampled:
            resample(indices[begin:end], counts[begin:end], words, seed, count)
        else:
            factor = np.float32(min(1.0, words / counts[begin:end].sum()))
            for i in range(begin, end):
                count[i - begin] = factor * counts[i]
        used = 0
        for i in range(begin, end):
            if count[i - begin] > 0:
                count[used] = count[i - begin]
                word[used] = indices[i]
                used += 1
        padded = gather(rows, word, count, used, local)
        infer(local, count, padded, alpha, sweeps, tolerance, theta, gamma, total, ratio)
        for u in range(padded):
            ratio[u] = TINY
            own[u] = 0
        for k in range(width):
            for u in range(padded):
                ratio[u] += theta[k] * local[k, u]
        for u in range(padded):
            ratio[u] = np.float32(1) / ratio[u]
        for k in range(width):
            for u in range(padded):
                own[u] += (theta[k] * local[k, u] * ratio[u]) ** 2  # φ² of each word: at most 1, no underflow
        square = np.float32(0)
        for u in range(used):
            weighted = count[u] * weights[word[u]]
            ratio[u] *= weighted
            square += weighted * weighted * own[u]
        scale = np.float32(min(1.0, bound / np.sqrt(square)))
        for k in range(width):
            total[k] = theta[k] * scale
        for u in range(used):
            row, target = rows[word[u]], sums[word[u]]
            for k in range(width):
                target[k] += ratio[u] * (total[k] * row[k])


@nb.njit(nogil=True, cache=True, error_model="numpy")
def add_counts(indptr: Int64, indices: Int32, counts: Int32, words: int, bound: float, sums: Float64) -> None:
    """Add each document's scaled and clipped word counts to `sums`."""
    for d in range(indptr.size - 1):
        size, square = 0.0, 0.0
        for i in range(indptr[d], indptr[d + 1]):
            size += counts[i]
            square += float(counts[i]) ** 2
        if size > 0:
            factor = min(1.0, words / size)
            factor *= min(1.0, bound / (factor * math.sqrt(square)))
            for i in range(indptr[d], indptr[d + 1]):
                sums[indices[i]] += factor * counts[i]


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer_documents(
    indptr: Int64,
    indices: Int32,
    counts: Int32,
    rows: Float32,
    alpha: float,
    sweeps: int,
    tolerance: float,
    gammas: Float32,
) -> None:
    """Write γ of each document, with its words as they are, to a row of `gammas`."""
    width, room = rows.shape[1], room_for(indptr)
    count, ratio = np.empty(room, np.float32), np.empty(room, np.float32)
    word = np.zeros(room, np.int32)
    local = np.empty((width, room), np.float32)
    theta, gamma, total = (
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    for d in range(indptr.size - 1):
        used = indptr[d + 1] - indptr[d]
        for u in range(used):
            word[u] = indices[indptr[d] + u]
            count[u] = counts[indptr[d] + u]
        padded = gather(rows, word, count, used, local)
        infer(local, count, padded, alpha, sweeps, tolerance, theta, gamma, total, ratio)
        gammas[d] = gamma[: gammas.shape[1]]

"""Contributions of documents to the E-step of latent Dirichlet allocation: read words, clip, add.

Symbols are those of `sweep_kernels`. A document contributes counts n_v φ_vk, or residuals w_kv n_v
(φ_vk - e_kv):

symbol          code       shape
--------------  ---------  ----------------------------------------
w_kv exp<ln β>  weighted   (V, P) float32, as rows, weighted
w_kv e_kv       expected   (V, P) float32
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.simd import SUMS, WIDTH, add_whole, fma, lane_sum, load, multiply, splat, store
from vips_core.models.lda.sweep_kernels import (
    FAST,
    ONE,
    ZERO,
    Float32,
    Inference,
    Int32,
    Int64,
    Topics,
    Workspace,
    all_normalisers,
    all_squares,
    gather,
    infer,
    spread,
)

ANY_LENGTH = 2**62  # words; longer than any document
GROUP = 512  # documents that a thread takes at a time and adds word by word, to touch sums rarely
ROUNDING = 2.0**-23  # relative step of float32; each topic adds less than half of it to a sum's error
UNDERFLOW = 1e-15  # norm; more than is lost where squares underflow to 0 in float32
LARGEST = 1e38  # smaller numbers fit float32
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # increment of splitmix64: 2^64 over the golden ratio


class Counts(NamedTuple):
    """Words and counts of documents; those of document d are at indptr[d] to indptr[d + 1]."""

    indptr: Int64
    indices: Int32
    counts: Int32


class Limits(NamedTuple):
    """Limits of a contribution: documents are scaled or resampled to `length`, then clipped to `bound`."""

    length: int
    resampled: bool
    seed: int
    bound: float
    grid: float


@nb.njit(nogil=True, cache=True, inline="always")
def mix(x: np.uint64) -> np.uint64:
    """Return splitmix64's finaliser: a bijection in which every input bit affects every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def read_resampled(words: Int32, counts: Int32, draws: int, seed: int, word: Int32, count: Float32) -> int:
    """Draw `draws` words with replacement from a non-empty document; return the number of different words.

    The draws are a hash of the document's own words and a public seed, so they do not depend on other
    documents and are the same in every batch.
    """
    state = mix(np.uint64(seed))
    differ = words.size
    ends = np.empty(differ, np.int64)  # cumulative counts: time does not depend on the document's length
    total = 0
    for u in range(differ):
        state = mix(state ^ (np.uint64(words[u]) << np.uint64(32) | np.uint64(counts[u]))) + GOLDEN
        count[u] = 0
        total += counts[u]
        ends[u] = total
    # Tokens are divided into `differ` equal parts. For any counts, a token's word is on average one step away
    # from the first word of its part (Chen and Asau 1974).
    guide = np.empty(differ, np.int64)
    each, rest = total // differ, total % differ
    u = 0
    for part in range(differ):
        while ends[u] <= part * each + part * rest // differ:  # part * total may not fit 64 bits
            u += 1
        guide[part] = u
    high, low = np.uint64(total >> 32), np.uint64(total & 0xFFFFFFFF)
    for _ in range(draws):
        state += GOLDEN
        # The top 32 bits times the total, over 2^32: uniform over the tokens to total / 2^32.
        uniform = mix(state) >> np.uint64(32)
        token = np.int64(uniform * high + ((uniform * low) >> np.uint64(32)))
        u = guide[(uniform * np.uint64(differ)) >> np.uint64(32)]
        while ends[u] <= token:
            u += 1
        count[u] += 1
    used = 0
    for u in range(differ):
        if count[u] > 0:
            word[used], count[used] = words[u], count[u]
            used += 1
    return used


@nb.njit(nogil=True, cache=True)
def aligned(size: int) -> Float32:
    """Return `size` zeros aligned to a cache line, so that no load of eight crosses a line.

    Zeros matter because padding is multiplied by 0, and 0 times an uninitialised number may be NaN.
    """
    room = np.zeros(size + 16, np.float32)
    start = (-room.ctypes.data % 64) // 4
    return room[start : start + size]


@nb.njit(nogil=True, cache=True)
def workspace(indptr: Int64, width: int) -> Workspace:
    """Return a workspace that is large enough for each of these documents."""
    longest, topics = np.diff(indptr).max(), width + -width % SUMS
    room = (longest + 31) // 32 * 32  # multiples of 16 made sweeps 20 % slower where measured
    return Workspace(
        word=np.zeros(room, np.int32),
        counts=aligned(room),
        local=aligned(room * width),
        theta=aligned(topics),
        gain=aligned(topics),
        alpha=aligned(topics),
        twice=aligned(topics),
        total=aligned(topics * SUMS),
        topic=np.zeros(topics, np.int64),
        start=np.zeros(SUMS, np.int64),
        found=aligned(room),
    )


@nb.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def read(documents: Counts, d: int, limits: Limits, work: Workspace) -> int:
    """Write a document's words and counts, scaled down or resampled; return the number of different words."""
    word, count, own = work.word, work.counts, slice(documents.indptr[d], documents.indptr[d + 1])
    words, counts = documents.indices[own], documents.counts[own]
    used = words.size
    if used > 0 and limits.resampled:
        used = read_resampled(words, counts, limits.length, limits.seed, word, count)
    elif used > 0:
        factor = np.float32(min(1.0, limits.length / counts.sum()))
        for u in range(used):
            word[u], count[u] = words[u], factor * counts[u]
    return used


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_documents(
    documents: Counts, topics: Topics, inference: Inference, limits: Limits, sums: Array
) -> None:
    """Add each document's clipped statistics to `sums`, words × padded topics, in grid steps.

    Each cell of a document is cut to a whole number of steps, so sums are exact in any order.
    """
    indptr, width, grid = documents.indptr, topics.rows.shape[1], limits.grid
    number, work = indptr.size - 1, workspace(indptr, width)
    word, count, found = work.word, work.counts, work.found
    value = aligned(count.size)
    thetas, bits = aligned(number * width).reshape(number, width), value.view(np.uint32)
    room, size = indptr[number] - indptr[0], 0
    words, entries = np.empty(room, np.int32), np.empty(room, np.int64)
    for d in range(number):
        used = read(documents, d, limits, work)
        if used == 0:
            continue
        padded = gather(topics, used, work)
        active = infer(topics, inference, padded, work)
        all_normalisers(padded, width, active, work)
        most_square, whole = 0.0, 0.0
        for u in range(used):
            most_square += count[u] * count[u]
            value[u] = count[u] / found[u]
            whole += value[u]
        scale = 1.0  # the clip scales the document's matrix down to the bound in L2 norm
        # The norm is largest if each word has one topic; if that is within the bound, no norm is computed.
        if most_square * (1 + topics.number * ROUNDING) > limits.bound * limits.bound:
            all_squares(padded, width, active, work)
            norm_square = 0.0
            for u in range(used):
                norm_square += float(count[u]) ** 2 * found[u]
            norm_square *= 1 + topics.number * ROUNDING
            scale = min(1.0, limits.bound / math.sqrt(norm_square))
        if not (whole + 1) * (scale / grid) < LARGEST:
            continue  # beyond float32, or NaN: it would corrupt the sum over all documents
        spread(work.theta, work.topic, active, np.float32(scale / grid), thetas[d])
        for u in range(used):
            words[size + u] = word[u]
            entries[size + u] = np.int64(d) << 32 | np.int64(bits[u])
        size += used
    add_by_word(words[:size], entries, thetas, topics.rows, sums)


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_by_word(words: Int32, entries: Int64, thetas: Float32, rows: Float32, sums: Array) -> None:
    """Add value · θ exp<ln β_word> of each entry, cut to whole numbers, to `sums`, row by row.

    An entry holds the row of its θ in the upper 32 bits, and its value, a float32, in the lower 32 bits.
    """
    vocabulary, width = rows.shape
    stop = np.zeros(vocabulary + 1, np.int32)
    for e in range(words.size):
        stop[words[e] + 1] += 1
    for v in range(vocabulary):
        stop[v + 1] += stop[v]
    by_word = np.empty(words.size, np.int64)
    for e in range(words.size):  # a counting sort; afterwards stop[v] is the end of word v
        at = stop[words[e]]
        by_word[at] = entries[e]
        stop[words[e]] = at + 1
    flat, flat_rows, flat_sums = thetas.reshape(-1), rows.reshape(-1), sums.reshape(-1)
    begin = 0
    for v in range(vocabulary):
        end = stop[v]
        if begin == end:
            continue
        for e in range(begin, end):
            value = splat(WIDTH, np.int32(by_word[e]).view(np.float32))  # from the low bits
            at = (by_word[e] >> 32) * width
            for k in range(0, width, WIDTH):
                part = multiply(
                    multiply(value, load(WIDTH, flat, at + k)), load(WIDTH, flat_rows, v * width + k)
                )
                add_whole(flat_sums, v * width + k, part)
        begin = end


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_residuals(
    documents: Counts,
    topics: Topics,
    inference: Inference,
    limits: Limits,
    weighted: Float32,
    expected: Float32,
    sums: Array,
) -> None:
    """Add each document's clipped residuals to `sums`, words × padded topics, in grid steps.

    The norm is computed from the cells that are added, and these are then cut to whole steps towards 0. So no
    document adds more than its bound, whatever is expected.
    """
    width, grid = topics.rows.shape[1], limits.grid
    work = workspace(documents.indptr, width)
    word, count, found = work.word, work.counts, work.found
    cells, thetas = aligned(count.size * width), aligned(width)
    flat_weighted, flat_expected, flat_sums = weighted.reshape(-1), expected.reshape(-1), sums.reshape(-1)
    for d in range(documents.indptr.size - 1):
        used = read(documents, d, limits, work)
        if used == 0:
            continue
        padded = gather(topics, used, work)
        active = infer(topics, inference, padded, work)
        all_normalisers(padded, width, active, work)
        thetas[:] = 0
        spread(work.theta, work.topic, active, ONE, thetas)
        norm_square = 0.0
        for u in range(used):
            at, square = word[u] * width, splat(WIDTH, ZERO)
            value, own = splat(WIDTH, count[u] / found[u]), splat(WIDTH, -count[u])
            for k in range(0, width, WIDTH):
                part = multiply(value, load(WIDTH, thetas, k))
                cell = fma(
                    own,
                    load(WIDTH, flat_expected, at + k),
                    multiply(part, load(WIDTH, flat_weighted, at + k)),
                )
                store(cells, u * width + k, cell)
                square = fma(cell, cell, square)
            norm_square += lane_sum(square)
        norm = math.sqrt(norm_square * (1 + topics.number * ROUNDING)) + UNDERFLOW
        scale = min(1.0, limits.bound / norm)  # clip the residuals to the bound in L2 norm
        if not (norm + 1) * (scale / grid) < LARGEST:
            continue  # beyond float32, or NaN: it would corrupt the sum over all documents
        in_steps = splat(WIDTH, np.float32(scale / grid))
        for u in range(used):
            at = word[u] * width
            for k in range(0, width, WIDTH):
                add_whole(flat_sums, at + k, multiply(in_steps, load(WIDTH, cells, u * width + k)))


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer_documents(documents: Counts, topics: Topics, inference: Inference, gammas: Float32) -> None:
    """Write γ of each document, from all its words, to a row of `gammas`."""
    work, whole = workspace(documents.indptr, topics.rows.shape[1]), Limits(ANY_LENGTH, False, 0, 1.0, 1.0)
    for d in range(documents.indptr.size - 1):
        used = read(documents, d, whole, work)
        active = infer(topics, inference, gather(topics, used, work), work) if used > 0 else 0
        gammas[d] = inference.alpha
        spread(work.gain, work.topic, active, ONE, gammas[d])

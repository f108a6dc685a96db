"""Sweeps of latent Dirichlet allocation over one document.

symbol       code       shape
-----------  ---------  ----------------------------------------------------------------------------------
exp<ln β>    rows       (V, P) float32, each word's row over its largest entry; P = K padded to 8s
             local      (U P,) float32, the same for the words of one document
exp<ln θ>    theta      (P,) float32, scaled to about 1; at the end divided by its largest entry
γ - α        gain       (P,) float32, the document's words in each topic
n_v          count      (U,) float32

Only ratios within a word and within a document enter φ, and both scales keep them inside float32.

Most topics soon have no words of a document: their θ is negligible and no longer changes. Sweeps continue
over the other, active topics until these have settled. A topic that was dropped has at most
θ Σ_v n_v / normaliser words, because no entry of a row is above 1. If that is not negligible, the last sweep
is over all topics again; if a dropped topic has gained words, γ has changed, and sweeps continue.

A sweep starts from an extrapolation of γ (Nesterov's). It reaches the evidence bound of 20 plain sweeps in 9
to 12, and of 100 in 16 to 20. The extrapolation of γ - α is at least half its value, because a topic that has
lost all words of a document would not regain any.

Words are processed in blocks of 64; the rest is a block of 32, a block of 16, or both. In `local` the words
of a block are side by side, topic after topic, so that topics can be skipped: all sums are over `active`
topics, whose numbers are in `topic` and whose exp<ln θ> is in `theta`, padded with 0. `at` is the start of a
block in `local`, u P.
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.simd import (
    SUMS,
    WIDTH,
    add,
    add_products,
    copy_columns,
    divide,
    fma,
    lane_sum,
    load,
    multiply,
    splat,
    store,
)
from vips_core.kernels.special import exp_digamma

ZERO = np.float32(0)
TINY = np.float32(1e-30)  # added to the normaliser of φ: a word that no topic explains keeps a finite weight
FAST = {"contract", "reassoc", "nsz", "arcp"}  # LLVM's fast-math flags, without those that ignore ∞ and NaN

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
# Relative effect of γ - α on θ below which a topic counts as having no words of the document
SMALL_GAIN = np.float32(1e-3)
LITTLE = np.float32(1e-4)  # share of a document's words below which a topic may be dropped early
SWEEPS_TO_FALL = 4  # least remaining sweeps for an early drop, enough for the topic to lose its words anyway
LARGEST_SCALE = np.float32(1e19)  # largest scale of θ: its square still fits float32
HALF, ONE = np.float32(0.5), np.float32(1)


class Topics(NamedTuple):
    """Topics in the E-step's form."""

    rows: Float32
    row_sums: Float32  # Σ_k exp<ln β> of each word
    number: int  # K


class Inference(NamedTuple):
    """Prior of a document's topics, and the end of its sweeps: their number or a tolerance for γ."""

    alpha: Float32  # of each topic
    theta: Float32  # exp<ln θ> of a topic without words, not yet scaled
    theta_twice: Float32  # the same for γ = 2α
    gains: float  # largest θ over `no_gain` of a topic without words, not yet scaled
    sweeps: int
    tolerance: float


class Workspace(NamedTuple):
    """Arrays of one document at a time.

    Functions that take it once per document are inlined, because passing it cost up to 10 % for a short
    document. Functions that run on each block of words take arrays instead, because reading these from here
    made an E-step 15 % slower.
    """

    word: Int32
    counts: Float32
    local: Float32
    theta: Float32
    gain: Float32
    alpha: Float32  # of the active topics
    twice: Float32  # their exp<ln θ> for γ = 2α
    total: Float32  # sixteen partial sums of each topic
    topic: Int64  # numbers of the active topics
    start: Int64  # starts of sixteen rows
    found: Float32  # Σ_k θ_k exp<ln β> of each word, then Σ_k φ_k²


@nb.njit(nogil=True, cache=True, error_model="numpy")
def row_sums(rows: Float32) -> Float32:
    """Return Σ_k exp<ln β> of each word: its normaliser where θ is flat."""
    width, flat = rows.shape[1], rows.reshape(-1)
    sums = np.empty(rows.shape[0], np.float32)
    for v in range(rows.shape[0]):
        total = splat(WIDTH, ZERO)
        for k in range(0, width, WIDTH):
            total = add(total, load(WIDTH, flat, v * width + k))
        sums[v] = lane_sum(total) + TINY
    return sums


@nb.njit(forceinline=True, nogil=True, cache=True, error_model="numpy")
def gather(topics: Topics, used: int, work: Workspace) -> int:
    """Copy the rows of `used` words to `local`; return their number after padding to 16s with counts of 0.

    Also writes `weighted_sums` of a flat θ to `total`; its normalisers are the words' row sums.
    """
    word, count, local = work.word, work.counts, work.local
    total, start, found = work.total, work.start, work.found
    width, flat = topics.rows.shape[1], topics.rows.reshape(-1)
    padded = (used + 15) // 16 * 16
    count[used:padded], word[used:padded] = 0, word[0]
    for k in range(0, width, WIDTH):
        store(total, 2 * k, splat(SUMS, ZERO))
    many, some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, padded, 16):
        block = 64 if u < many else 32 if u < some else 16
        place = u // block * block * width + u % block
        for i in range(16):
            start[i] = word[u + i] * width
            found[u + i] = topics.row_sums[word[u + i]]
        ratio = divide(load(16, count, u), load(16, found, u))
        for k in range(0, width, WIDTH):
            part = copy_columns(local, place + k * block, block, flat, start, k, ratio)
            store(total, 2 * k, add(load(16, total, 2 * k), part))
    for k in range(width - 1, -1, -1):  # backwards, because a topic's sums lie behind the total that is read
        place = 2 * k - k % WIDTH
        first = total[place] + total[place + WIDTH]
        store(total, k * SUMS, splat(SUMS, ZERO))
        total[k * SUMS] = first
    return padded


@nb.njit(nogil=True, cache=True, inline="always")
def normalisers(block: int, local: Float32, theta: Float32, topic: Int64, active: int, at: int) -> Any:
    """Return Σ_k θ_k exp<ln β> of a block of words, in several sums that run in parallel."""
    a, b, c, d = splat(block, TINY), splat(block, ZERO), splat(block, ZERO), splat(block, ZERO)
    for k in range(0, active, 4 if block == 16 else 2):
        a = fma(splat(block, theta[k]), load(block, local, at + topic[k] * block), a)
        b = fma(splat(block, theta[k + 1]), load(block, local, at + topic[k + 1] * block), b)
        if block == 16:  # a narrow block needs more sums at a time to keep the processor busy
            c = fma(splat(block, theta[k + 2]), load(block, local, at + topic[k + 2] * block), c)
            d = fma(splat(block, theta[k + 3]), load(block, local, at + topic[k + 3] * block), d)
    return add(add(a, b), add(c, d))


@nb.njit(nogil=True, cache=True, inline="always")
def add_weighted(
    block: int, ratio: Any, local: Float32, topic: Int64, active: int, at: int, total: Float32
) -> Any:
    """Add ratio · exp<ln β> of a block of words to each topic's sixteen sums; return the sum of ratios."""
    for k in range(active):
        add_products(total, k * SUMS, ratio, local, at + topic[k] * block)
    return lane_sum(ratio)


@nb.njit(nogil=True, cache=True, inline="always")
def weighted_sums(padded: int, width: int, active: int, work: Workspace) -> np.float32:
    """Write Σ_v n_v exp<ln β> / normaliser of each active topic, in sixteen sums, to `total`.

    Returns Σ_v n_v / normaliser.
    """
    local, count, theta, topic, total = work.local, work.counts, work.theta, work.topic, work.total
    many, some, size = padded // 64 * 64, padded // 32 * 32, ZERO
    for k in range(active + -active % SUMS):
        store(total, k * SUMS, splat(SUMS, ZERO))
    if many > 0:
        ratio = divide(load(64, count, 0), normalisers(64, local, theta, topic, active, 0))
        ratios = ratio
        for u in range(64, many, 64):
            # A block's sums and the next block's normalisers share a loop: while the sums read from the
            # nearest cache, the numbers of the next block are fetched.
            at, following, found = (u - 64) * width, u * width, splat(64, TINY)
            for k in range(active):
                other = load(64, local, following + topic[k] * 64)
                found = fma(splat(64, theta[k]), other, found)
                add_products(total, k * SUMS, ratio, local, at + topic[k] * 64)
            ratio = divide(load(64, count, u), found)
            ratios = add(ratios, ratio)
        add_weighted(64, ratio, local, topic, active, (many - 64) * width, total)
        size += lane_sum(ratios)
    if some > many:
        found_some = normalisers(32, local, theta, topic, active, many * width)
        ratio_some = divide(load(32, count, many), found_some)
        size += add_weighted(32, ratio_some, local, topic, active, many * width, total)
    if padded > some:
        found_few = normalisers(16, local, theta, topic, active, some * width)
        ratio_few = divide(load(16, count, some), found_few)
        size += add_weighted(16, ratio_few, local, topic, active, some * width, total)
    return size


@nb.njit(forceinline=True, nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def all_normalisers(padded: int, width: int, active: int, work: Workspace) -> None:
    """Write Σ_k θ_k exp<ln β> of all words to `found`."""
    local, theta, topic, found = work.local, work.theta, work.topic, work.found
    many, some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, many, 64):
        store(found, u, normalisers(64, local, theta, topic, active, u * width))
    if some > many:
        store(found, many, normalisers(32, local, theta, topic, active, many * width))
    if padded > some:
        store(found, some, normalisers(16, local, theta, topic, active, some * width))


@nb.njit(nogil=True, cache=True, inline="always")
def squares(
    block: int, found: Float32, u: int, local: Float32, theta: Float32, topic: Int64, active: int, at: int
) -> Any:
    """Return Σ_k φ_k² of a block of words whose normalisers are known."""
    inverse, total = divide(splat(block, ONE), load(block, found, u)), splat(block, ZERO)
    for k in range(active):
        product = multiply(splat(block, theta[k]), load(block, local, at + topic[k] * block))
        phi = multiply(product, inverse)
        total = fma(phi, phi, total)
    return total


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def all_squares(padded: int, width: int, active: int, work: Workspace) -> None:
    """Write Σ_k φ_k² of all words to `found`, in place of their normalisers."""
    local, theta, topic, found = work.local, work.theta, work.topic, work.found
    many, some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, many, 64):
        store(found, u, squares(64, found, u, local, theta, topic, active, u * width))
    if some > many:
        store(found, many, squares(32, found, many, local, theta, topic, active, many * width))
    if padded > some:
        store(found, some, squares(16, found, some, local, theta, topic, active, some * width))


@nb.njit(nogil=True, cache=True, inline="always")
def no_gain(alpha: np.float32) -> np.float32:
    """Return the γ - α of a topic below which it counts as having no words of the document."""
    return SMALL_GAIN * alpha * min(alpha, ONE)  # the slope of ln θ is about 1/α² or 1/α


@nb.njit(nogil=True, cache=True, inline="always")
def update(
    scale: np.float32, active: int, little: np.float32, momentum: np.float32, work: Workspace
) -> tuple[np.float32, int]:
    """Set γ - α of the active topics from their sums, and exp<ln θ> of γ extrapolated by `momentum`.

    Leaves a forecast of the next γ - α in `total`. Returns the sum of all changes of γ, and the number of
    topics whose forecast is below `no_gain`.
    """
    total, theta, gain, alpha, twice = work.total, work.theta, work.gain, work.alpha, work.twice
    padding, change, below = -active % SUMS, ZERO, ZERO
    for k in range(active):
        total[k] = lane_sum(load(SUMS, total, k * SUMS))  # overwrites only sums that have been read
    total[active : active + padding] = 0
    for k in range(active + padding):
        least, own = no_gain(alpha[k]), theta[k] * total[k]
        ahead = max(own + momentum * (own - gain[k]), HALF * own)
        change += abs(own - gain[k])
        gain[k] = own
        theta[k] = scale * exp_digamma(ahead + alpha[k])
        # Below `little`, which is at most α, γ is at most 2α, and the γ - α after that at most θ(2α) · total.
        following = theta[k] * total[k]
        fall = least / min(alpha[k], max(little, least))
        total[k] = min(following, max(fall * following, scale * twice[k] * total[k]))
        below += ONE if total[k] < least else ZERO
    theta[active : active + padding] = 0
    return change, int(below) - padding  # the padding's sums are 0


@nb.njit(nogil=True, cache=True, inline="always")
def without_unused(active: int, work: Workspace) -> int:
    """Move the topics forecast to have words of the document to the front; return their number."""
    gain, theta, topic, alpha, twice, position = (
        work.gain,
        work.theta,
        work.topic,
        work.alpha,
        work.twice,
        0,
    )
    for k in range(active):
        kept = not work.total[k] < no_gain(alpha[k])
        gain[position], theta[position], topic[position] = gain[k], theta[k], topic[k]
        alpha[position], twice[position] = alpha[k], twice[k]
        position += kept
    gain[position:active] = theta[position:active] = 0
    return position


@nb.njit(nogil=True, cache=True, inline="always")
def with_all(inference: Inference, scale: np.float32, active: int, topics: int, work: Workspace) -> int:
    """Restore all topics in their order, the dropped ones without words; return their number."""
    gain, theta, topic, position = work.gain, work.theta, work.topic, active - 1
    for k in range(topics - 1, -1, -1):  # backwards, because no topic moves to an earlier place
        if position >= 0 and topic[position] == k:
            gain[k], theta[k] = gain[position], theta[position]
            position -= 1
        else:
            gain[k], theta[k] = 0, scale * inference.theta[k]
        topic[k], work.alpha[k], work.twice[k] = k, inference.alpha[k], inference.theta_twice[k]
    return topics


@nb.njit(nogil=True, cache=True)
def spread(values: Float32, topic: Int64, active: int, factor: np.float32, row: Float32) -> None:
    """Add `factor` times the values of the active topics to a row of all topics."""
    for k in range(active):
        row[topic[k]] += values[k] * factor


@nb.njit(forceinline=True, nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer(topics: Topics, inference: Inference, padded: int, work: Workspace) -> int:
    """Sweep φ (eq. topic_post) and γ of one document.

    Starts from the sums of a flat θ, which `gather` left in `total`, and ends after `sweeps` sweeps or when
    the mean change of γ is below `tolerance`. Leaves γ - α, its exp<ln θ> and the numbers of the topics that
    have words of the document; returns the number of these topics.
    """
    theta, gain, count, topic = work.theta, work.gain, work.counts, work.topic
    width, words, prior = topics.rows.shape[1], ZERO, ZERO
    for u in range(padded):
        words += count[u]
    for k in range(topics.number):
        theta[k], gain[k], topic[k] = ONE, ZERO, k
        work.alpha[k], work.twice[k] = inference.alpha[k], inference.theta_twice[k]
        prior += inference.alpha[k]
    for k in range(topics.number, theta.size):
        theta[k], gain[k], topic[k], work.alpha[k], work.twice[k] = ZERO, ZERO, k, ONE, ONE
    # At least one topic has the average γ or more. Scaled to 1 at that γ, every θ stays inside float32.
    scale = min(np.float32(1) / exp_digamma((prior + words) / np.float32(topics.number)), LARGEST_SCALE)
    gains = np.float32(inference.gains) * scale
    active, left, done, complete = topics.number, inference.sweeps, 0, True
    while left > 0:
        left, done = left - 1, done + 1
        momentum = np.float32((done - 1) / (done + 2))
        change, unused = update(
            scale, active, LITTLE * words if left >= SWEEPS_TO_FALL else ZERO, momentum, work
        )
        settled = change < inference.tolerance * width
        if complete and settled:
            left = 0
        elif not complete and (settled or left == 1):
            active = with_all(inference, scale, active, topics.number, work)
        elif unused * 16 > active and left > 1:  # dropping fewer is not worth the moves
            active = without_unused(active, work)
        if left > 0:
            size = weighted_sums(padded, width, active, work)
            complete = bool(active == topics.number or gains * size < ONE)
    largest, padded_topics = TINY, active + -active % SUMS
    for k in range(padded_topics):
        theta[k] = exp_digamma(gain[k] + work.alpha[k])
        largest = max(largest, theta[k])
    for k in range(padded_topics):
        theta[k] /= largest
    theta[active:padded_topics] = 0
    return active

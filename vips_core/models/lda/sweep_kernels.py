"""The sweeps of latent Dirichlet allocation over one document.

symbol       code       shape
-----------  ---------  ----------------------------------------------------------------------------------
exp<ln β>    rows       (V, P) float32, each word's row over its largest entry; P = K padded to 8s
             local      (U P,) float32, the same for the words of one document
exp<ln θ>    theta      (P,) float32, scaled to about 1; in the end over its largest entry
γ - α        gain       (P,) float32, the document's words in each topic
n_v          count      (U,) float32
             weights    (V,) float32: the statistics are measured as weights[v] n_v φ_vk

Only ratios within a word and within a document enter φ, and both scales keep them inside float32.

Most topics soon have no words of a document: their θ is next to nothing and does not change any more. Sweeps
go on over the others, the active ones, until these have settled. A topic that was left out has at most
θ Σ_v n_v / normaliser words, because no entry of a row is above 1. Where that is not next to nothing, the
last sweep is over all topics again; where it finds that one came back, γ has changed, and sweeps go on.

A sweep starts from where γ is heading, not from where it is: Nesterov's extrapolation. It reaches the bound
of 20 plain sweeps in 9 to 12, and of 100 in 16 to 20. γ - α is never taken below half, because a topic that
has lost all words of a document would not come back.
"""

import numba as nb
import numpy as np

from vips_core.kernels.lane_math import (
    add,
    count_below,
    distance,
    fma,
    lane_maximum,
    lane_sum,
    maximum,
    minimum,
    multiply,
)
from vips_core.kernels.simd import SUMS, load, splat, store, totals, zeros
from vips_core.kernels.special import exp_digamma
from vips_core.models.lda.block_kernels import FAST, TINY, ZERO, Float32, Int64, Room, weighted_sums

NO_GAIN = 1e-3  # relative change of θ through γ - α, about, below which a topic has no words of the document
LITTLE = np.float32(1e-4)  # of a document's words: a topic with less may be left out before it has none,
SWEEPS_TO_FALL = 4  # if that many sweeps are left for it to fall further
LARGEST_SCALE = np.float32(1e19)  # whose square float32 holds
HALF = np.float32(0.5)


@nb.njit(nogil=True, cache=True)
def theta_of(gamma: np.float32) -> np.float32:
    """exp<ln θ> of one γ, not scaled."""
    theta: np.float32 = lane_maximum(exp_digamma(splat(zeros(16), gamma)))
    return theta


@nb.njit(nogil=True, cache=True, inline="always")
def update(
    alpha: np.float32,
    scale: np.float32,
    total: Float32,
    active: int,
    theta: Float32,
    gain: Float32,
    no_gain: np.float32,
    little: np.float32,
    twice: np.float32,
    momentum: np.float32,
) -> tuple[float, int]:
    """Set γ - α of the active topics from their sums, and exp<ln θ> of γ and `momentum` of its change.

    Leaves in `total` what γ - α will be soon, about. Returns by how much γ changed in all, and how many
    topics will have a γ - α below `no_gain`.
    """
    zero, padding = zeros(16), -active % SUMS
    change, below = zero, 0
    for k in range(0, active, SUMS):
        each = totals(total, k * SUMS)
        own, last = multiply(load(zero, theta, k), each), load(zero, gain, k)
        ahead = fma(splat(zero, -momentum), last, multiply(splat(zero, np.float32(1) + momentum), own))
        ahead = maximum(ahead, multiply(splat(zero, HALF), own))
        updated = multiply(splat(zero, scale), exp_digamma(add(ahead, splat(zero, alpha))))
        change = add(change, distance(own, last))
        following = multiply(updated, each)
        # One below `little`, which is not above α, falls to that of θ(2α) at most the time after.
        fallen = multiply(splat(zero, twice), each)
        following = minimum(following, maximum(multiply(splat(zero, no_gain / little), following), fallen))
        below += count_below(following, splat(zero, no_gain))
        store(gain, k, own)
        store(theta, k, updated)
        store(total, k, following)  # in place of sums that were read
    for k in range(active, active + padding):
        theta[k] = 0
    return lane_sum(change), below - padding  # the padding's sums are 0


@nb.njit(nogil=True, cache=True, inline="always")
def without_unused(
    gain: Float32, theta: Float32, topic: Int64, active: int, following: Float32, no_gain: np.float32
) -> int:
    """Move the topics that will have words of the document to the front; return their number."""
    position = 0
    for k in range(active):
        gain[position], theta[position], topic[position] = gain[k], theta[k], topic[k]
        position += not following[k] < no_gain
    for k in range(position, active):
        gain[k] = theta[k] = 0
    return position


@nb.njit(nogil=True, cache=True, inline="always")
def with_all(
    unused: np.float32, gain: Float32, theta: Float32, topic: Int64, active: int, topics: int
) -> int:
    """Bring back all topics, in their order, those without words with θ `unused`; return their number."""
    position = active - 1
    for k in range(topics - 1, -1, -1):  # backwards, because a topic is never before its place of now
        if position >= 0 and topic[position] == k:
            gain[k], theta[k] = gain[position], theta[position]
            position -= 1
        else:
            gain[k], theta[k] = 0, unused
        topic[k] = k
    return topics


@nb.njit(nogil=True, cache=True)
def spread(
    values: Float32, topic: Int64, active: int, factor: np.float32, rest: np.float32, row: Float32
) -> None:
    """Write `rest` to a row of all topics, and add `factor` times what the active ones have."""
    for k in range(row.size):
        row[k] = rest
    for k in range(active):
        row[topic[k]] += values[k] * factor


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer(
    local: Float32,
    count: Float32,
    padded: int,
    width: int,
    topics: int,
    alpha: float,
    sweeps: int,
    tolerance: float,
    theta: Float32,
    gain: Float32,
    room: Room,
) -> int:
    """Sweep φ (eq. topic_post) and γ of one document.

    Starts from the sums of a flat θ, which `gather` has left in the room, and ends after `sweeps` or when the
    mean change of γ is below `tolerance`. Leaves γ - α and the exp<ln θ> that belongs to it of topics that
    have words of the document, and the numbers of these topics in the room; returns how many they are.
    """
    total, topic = room[0], room[1]
    zero, prior, words = zeros(16), np.float32(alpha), ZERO
    for u in range(padded):
        words += count[u]
    for k in range(theta.size):
        theta[k], gain[k], topic[k] = k < topics, 0, k
    no_gain = np.float32(NO_GAIN * alpha * min(alpha, 1.0))  # the slope of ln θ is about 1/α² or 1/α
    little = min(prior, max(LITTLE * words, no_gain))
    # Some topic has as much as all have on average, whose θ of 1 keeps those of all inside float32.
    scale = min(np.float32(1) / theta_of(prior + words / np.float32(topics)), LARGEST_SCALE)
    unused_theta, twice = scale * theta_of(prior), scale * theta_of(prior + prior)
    active, left, done, complete = topics, sweeps, 0, True
    while left > 0:
        left, done = left - 1, done + 1
        momentum = np.float32((done - 1) / (done + 2))
        least = little if left >= SWEEPS_TO_FALL else no_gain
        change, unused = update(prior, scale, total, active, theta, gain, no_gain, least, twice, momentum)
        settled = change < tolerance * width
        if complete and settled:
            left = 0
        elif not complete and (settled or left == 1):
            active = with_all(unused_theta, gain, theta, topic, active, topics)
        elif unused * 16 > active and left > 1:  # fewer are not worth the moves
            active = without_unused(gain, theta, topic, active, total, no_gain)
        if left > 0:
            size = weighted_sums(local, count, padded, width, theta, topic, active, total)
            complete = bool(active == topics or unused_theta * size < no_gain)
    largest = splat(zero, TINY)
    for k in range(0, active, SUMS):
        own = exp_digamma(add(load(zero, gain, k), splat(zero, prior)))
        largest = maximum(largest, own)
        store(theta, k, own)
    factor = np.float32(1) / lane_maximum(largest)
    for k in range(0, active, SUMS):
        store(theta, k, multiply(splat(zero, factor), load(zero, theta, k)))
    for k in range(active, active + -active % SUMS):
        theta[k] = 0
    return active

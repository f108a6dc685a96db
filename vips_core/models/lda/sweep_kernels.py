"""The sweeps of latent Dirichlet allocation over one document.

symbol       code       shape
-----------  ---------  ----------------------------------------------------------------------------------
exp<ln β>    rows       (V, P) float32, each word's row over its largest entry; P = K padded to 8s
             local      (U P,) float32, the same for the words of one document
exp<ln θ>    theta      (P,) float32, over its largest entry
γ - α        gain       (P,) float32, the document's words in each topic
n_v          count      (U,) float32
             weights    (V,) float32: the statistics are measured as weights[v] n_v φ_vk

Only ratios within a word and within a document enter φ, and both scales keep them inside float32.

Most topics soon have no words of a document: their θ is next to nothing and does not change any more. Sweeps
go on over the others, the active ones, until these have settled. The last sweep is over all topics again;
where it finds that one came back, γ has changed, and sweeps go on.

A sweep starts from where γ is heading, not from where it is: Nesterov's extrapolation. It reaches the bound
of 20 plain sweeps in 9 to 12, and of 100 in 16 to 20. γ - α is never taken below half, because a topic that
has lost all words of a document would not come back.
"""

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.lane_math import (
    add,
    count_below,
    distance,
    fma,
    lane_maximum,
    lane_sum,
    maximum,
    multiply,
    totals,
)
from vips_core.kernels.simd import WIDTH, load, splat, store, zeros
from vips_core.kernels.special import exp_digamma
from vips_core.models.lda.block_kernels import FAST, TINY, Float32, Int64, weighted_sums

NO_GAIN = 1e-4  # relative change of θ through γ - α, about, below which a topic has no words of the document
HALF = np.float32(0.5)

Room = tuple[Float32, npt.NDArray[np.int64]]


@nb.njit(nogil=True, cache=True, inline="always")
def scale_theta(largest: Any, active: int, theta: Float32) -> Any:
    """Divide θ of the active topics by the largest, and let 0 follow; return the factor."""
    zero = zeros(8)
    factor = np.float32(1) / lane_maximum(largest)
    for k in range(0, active, WIDTH):
        store(theta, k, multiply(splat(zero, factor), load(zero, theta, k)))
    for k in range(active, active + -active % WIDTH):
        theta[k] = 0
    return factor


@nb.njit(nogil=True, cache=True, inline="always")
def update(
    alpha: np.float32,
    total: Float32,
    active: int,
    theta: Float32,
    gain: Float32,
    no_gain: np.float32,
    momentum: np.float32,
) -> tuple[float, int, Any]:
    """Set γ - α of the active topics from their sums, and exp<ln θ> of γ and `momentum` of its change.

    Returns by how much γ changed in all, how many topics have a γ - α below `no_gain`, and by what exp<ln θ>
    was multiplied.
    """
    zero = zeros(8)
    change, largest, below = zero, splat(zero, TINY), 0
    for k in range(0, active, WIDTH):
        at = k * WIDTH
        own = totals(
            load(zero, total, at),
            load(zero, total, at + 8),
            load(zero, total, at + 16),
            load(zero, total, at + 24),
            load(zero, total, at + 32),
            load(zero, total, at + 40),
            load(zero, total, at + 48),
            load(zero, total, at + 56),
        )
        own = multiply(load(zero, theta, k), own)
        last = load(zero, gain, k)
        ahead = fma(splat(zero, -momentum), last, multiply(splat(zero, np.float32(1) + momentum), own))
        ahead = maximum(ahead, multiply(splat(zero, HALF), own))
        updated = exp_digamma(add(ahead, splat(zero, alpha)))
        largest = maximum(largest, updated)
        change = add(change, distance(own, last))
        below += count_below(own, splat(zero, no_gain))
        store(gain, k, own)
        store(theta, k, updated)
    factor = scale_theta(largest, active, theta)
    return lane_sum(change), below - -active % WIDTH, factor  # the padding's γ - α is 0


@nb.njit(nogil=True, cache=True, inline="always")
def without_unused(gain: Float32, theta: Float32, topic: Int64, active: int, no_gain: np.float32) -> int:
    """Move the topics that have words of the document to the front; return their number."""
    position = 0
    for k in range(active):
        own = gain[k]
        gain[position], theta[position], topic[position] = own, theta[k], topic[k]
        position += not own < no_gain
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


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer(
    local: Float32,
    count: Float32,
    padded: int,
    topics: int,
    alpha: float,
    sweeps: int,
    tolerance: float,
    theta: Float32,
    gain: Float32,
    room: Room,
) -> None:
    """Sweep φ (eq. topic_post) and γ of one document.

    Starts from a flat θ and ends after `sweeps` or when the mean change of γ is below `tolerance`. Leaves
    γ - α and the exp<ln θ> that belongs to it, and all topics in their order in the room's last part.
    """
    total, topic = room
    zero, prior = zeros(8), np.float32(alpha)
    no_gain = np.float32(NO_GAIN * alpha * min(alpha, 1.0))  # the slope of ln θ is about 1/α² or 1/α
    unused_theta = lane_maximum(exp_digamma(splat(zero, prior)))
    for k in range(theta.size):
        theta[k], gain[k], topic[k] = k < topics, 0, k
    active, left, done = topics, sweeps, 0
    while left > 0:
        left, done = left - 1, done + 1
        weighted_sums(local, count, padded, theta.size, theta, topic, active, total)
        momentum = np.float32((done - 1) / (done + 2))
        change, unused, factor = update(prior, total, active, theta, gain, no_gain, momentum)
        settled = change < tolerance * theta.size
        if active == topics and settled:
            left = 0
        elif active < topics and (settled or left == 1):
            active = with_all(factor * unused_theta, gain, theta, topic, active, topics)
        elif unused > 0 and left > 1:
            active = without_unused(gain, theta, topic, active, no_gain)
    largest = splat(zero, TINY)
    for k in range(0, topics, WIDTH):
        own = exp_digamma(add(load(zero, gain, k), splat(zero, prior)))
        largest = maximum(largest, own)
        store(theta, k, own)
    scale_theta(largest, topics, theta)

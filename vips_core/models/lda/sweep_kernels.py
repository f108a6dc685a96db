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
"""

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.lane_math import (
    add,
    count_below,
    distance,
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

Room = tuple[Float32, Float32, npt.NDArray[np.int64]]


@nb.njit(nogil=True, cache=True, inline="always")
def update_gain(
    total: Float32, theta: Float32, active: int, gain: Float32, no_gain: np.float32
) -> tuple[float, int]:
    """Set γ - α of the active topics; return its change in all, and how many are below `no_gain`."""
    zero = zeros(8)
    change, limit, below = zero, splat(zero, no_gain), 0
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
        change = add(change, distance(own, load(zero, gain, k)))
        below += count_below(own, limit)
        store(gain, k, own)
    return lane_sum(change), below - -active % WIDTH  # the padding is 0


@nb.njit(nogil=True, cache=True, inline="always")
def update_theta(alpha: float, gain: Float32, active: int, theta: Float32) -> None:
    """Write exp<ln θ> of the active topics over its largest entry, and 0 as padding."""
    zero = zeros(8)
    prior, largest = splat(zero, np.float32(alpha)), splat(zero, TINY)
    for k in range(0, active, WIDTH):
        own = exp_digamma(add(prior, load(zero, gain, k)))
        largest = maximum(largest, own)
        store(theta, k, own)
    scale = splat(zero, np.float32(1) / lane_maximum(largest))
    for k in range(0, active, WIDTH):
        store(theta, k, multiply(scale, load(zero, theta, k)))
    for k in range(active, active + -active % WIDTH):
        theta[k] = 0


@nb.njit(nogil=True, cache=True, inline="always")
def without_unused(gain: Float32, topic: Int64, active: int, kept: Float32, no_gain: np.float32) -> int:
    """Move the topics that have words of the document to the front; return their number."""
    position = 0
    for k in range(active):
        own, which = gain[k], topic[k]
        kept[which] = own
        gain[position], topic[position] = own, which
        position += not own < no_gain
    for k in range(position, active):
        gain[k] = 0
    return position


@nb.njit(nogil=True, cache=True, inline="always")
def with_all(gain: Float32, topic: Int64, active: int, kept: Float32, topics: int) -> int:
    """Bring back all topics, in their order; return their number."""
    for k in range(active):
        kept[topic[k]] = gain[k]
    for k in range(topics):
        gain[k], topic[k] = kept[k], k
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
    total, kept, topic = room
    no_gain = np.float32(NO_GAIN * alpha * min(alpha, 1.0))  # the slope of ln θ is about 1/α² or 1/α
    for k in range(theta.size):
        theta[k], gain[k], topic[k] = k < topics, 0, k
    active, left = topics, sweeps
    while left > 0:
        left -= 1
        weighted_sums(local, count, padded, theta.size, theta, topic, active, total)
        change, unused = update_gain(total, theta, active, gain, no_gain)
        settled = change < tolerance * theta.size
        if active == topics and settled:
            left = 0
        elif active < topics and (settled or left == 1):
            active = with_all(gain, topic, active, kept, topics)
        elif unused > 0 and left > 1:
            active = without_unused(gain, topic, active, kept, no_gain)
        update_theta(alpha, gain, active, theta)

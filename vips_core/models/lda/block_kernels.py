"""What latent Dirichlet allocation computes of the words of one document, in blocks of 64 of them.

What is left after the last 64 is a block of 32, one of 16, or both. In `local` the words of a block are side
by side, topic after topic, so that topics can be left out: all sums are over `active` topics, whose numbers
are in `topic` and whose exp<ln θ> is in `theta`, followed by a 0. The symbols are those of `sweep_kernels`;
`at` is where a block starts in `local`, u P.
"""

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.lane_math import add, divide, fma, lane_sum, multiply
from vips_core.kernels.simd import (
    SUMS,
    WIDTH,
    add_products,
    copy_columns,
    load,
    splat,
    store,
    width_of,
    zeros,
)

ZERO = np.float32(0)
TINY = np.float32(1e-30)  # added to the normaliser of φ: a word that no topic explains has no infinite weight
FAST = {"contract", "reassoc", "nsz", "arcp"}  # infinities and NaN keep their meaning

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Room = tuple[Float32, Int64, Int64, Float32]  # sums of topics, their numbers; starts of sixteen rows, numbers


@nb.njit(nogil=True, cache=True, error_model="numpy")
def row_sums(rows: Float32) -> Float32:
    """Return Σ_k exp<ln β> of each word: its normaliser where θ is flat."""
    width, flat, zero = rows.shape[1], rows.reshape(-1), zeros(8)
    sums = np.empty(rows.shape[0], np.float32)
    for v in range(rows.shape[0]):
        total = zero
        for k in range(0, width, WIDTH):
            total = add(total, load(zero, flat, v * width + k))
        sums[v] = lane_sum(total) + TINY
    return sums


@nb.njit(nogil=True, cache=True, error_model="numpy")
def gather(
    rows: Float32,
    sums: Float32,
    word: Int32,
    count: Float32,
    used: int,
    local: Float32,
    room: Room,
) -> int:
    """Copy the rows of `used` words to `local`; return their number, padded to 16s with words of count 0.

    Writes to the room what `weighted_sums` does of a flat θ, whose normalisers are the words' `sums`.
    """
    total, _, start, small = room
    width, flat, few = rows.shape[1], rows.reshape(-1), zeros(16)
    padded = (used + 15) // 16 * 16
    for u in range(used, padded):
        count[u] = 0
        word[u] = word[0]
    for k in range(0, width, WIDTH):
        store(total, 2 * k, few)
    many, some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, padded, 16):
        block = 64 if u < many else 32 if u < some else 16
        place = u // block * block * width + u % block
        for i in range(16):
            start[i] = word[u + i] * width
            small[i] = sums[word[u + i]]
        ratio = divide(load(few, count, u), load(few, small, 0))
        for k in range(0, width, WIDTH):
            part = copy_columns(local, place + k * block, block, flat, start, k, ratio)
            store(total, 2 * k, add(load(few, total, 2 * k), part))
    for k in range(width - 1, -1, -1):  # backwards, because a topic's sums come after where its total is
        place = 2 * k - k % WIDTH
        first = total[place] + total[place + WIDTH]
        store(total, k * SUMS, few)
        total[k * SUMS] = first
    return padded


@nb.njit(nogil=True, cache=True, inline="always")
def normalisers(zero: Any, local: Float32, theta: Float32, topic: Int64, active: int, at: int) -> Any:
    """Return Σ_k θ_k exp<ln β> of a block of words."""
    block, even, odd = width_of(zero), splat(zero, TINY), zero
    for k in range(0, active, 2):  # two sums, so that one does not wait for the other
        even = fma(splat(zero, theta[k]), load(zero, local, at + topic[k] * block), even)
        odd = fma(splat(zero, theta[k + 1]), load(zero, local, at + topic[k + 1] * block), odd)
    return add(even, odd)


@nb.njit(nogil=True, cache=True, inline="always")
def last_normalisers(zero: Any, local: Float32, theta: Float32, topic: Int64, active: int, at: int) -> Any:
    """`normalisers` of a narrow block, which needs more sums at a time to keep the processor busy."""
    block, a, b, c, d = width_of(zero), splat(zero, TINY), zero, zero, zero
    for k in range(0, active, 4):
        a = fma(splat(zero, theta[k]), load(zero, local, at + topic[k] * block), a)
        b = fma(splat(zero, theta[k + 1]), load(zero, local, at + topic[k + 1] * block), b)
        c = fma(splat(zero, theta[k + 2]), load(zero, local, at + topic[k + 2] * block), c)
        d = fma(splat(zero, theta[k + 3]), load(zero, local, at + topic[k + 3] * block), d)
    return add(add(a, b), add(c, d))


@nb.njit(nogil=True, cache=True, inline="always")
def add_weighted(ratio: Any, local: Float32, topic: Int64, active: int, at: int, total: Float32) -> None:
    """Add ratio · exp<ln β> of a block of words to each topic's sixteen sums."""
    block = width_of(ratio)
    for k in range(active):
        add_products(total, k * SUMS, ratio, local, at + topic[k] * block)


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def weighted_sums(
    local: Float32,
    count: Float32,
    padded: int,
    width: int,
    theta: Float32,
    topic: Int64,
    active: int,
    total: Float32,
) -> np.float32:
    """Write Σ_v n_v exp<ln β> / normaliser of each active topic, in sixteen sums, to `total`.

    Returns Σ_v n_v / normaliser.
    """
    many, some, few = zeros(64), zeros(32), zeros(16)
    to_many, to_some, size = padded // 64 * 64, padded // 32 * 32, ZERO
    for k in range(active + -active % SUMS):
        store(total, k * SUMS, few)
    if to_many > 0:
        ratio = divide(load(many, count, 0), normalisers(many, local, theta, topic, active, 0))
        ratios = ratio
        for u in range(64, to_many, 64):
            # A block's sums and the next one's normalisers in one loop: while the first find their numbers in
            # the nearest cache, those of the second are fetched.
            at, following, found = (u - 64) * width, u * width, splat(many, TINY)
            for k in range(active):
                other = load(many, local, following + topic[k] * 64)
                found = fma(splat(many, theta[k]), other, found)
                add_products(total, k * SUMS, ratio, local, at + topic[k] * 64)
            ratio = divide(load(many, count, u), found)
            ratios = add(ratios, ratio)
        add_weighted(ratio, local, topic, active, (to_many - 64) * width, total)
        size += lane_sum(ratios)
    if to_some > to_many:
        found_some = normalisers(some, local, theta, topic, active, to_many * width)
        ratio_some = divide(load(some, count, to_many), found_some)
        add_weighted(ratio_some, local, topic, active, to_many * width, total)
        size += lane_sum(ratio_some)
    if padded > to_some:
        found_few = last_normalisers(few, local, theta, topic, active, to_some * width)
        ratio_few = divide(load(few, count, to_some), found_few)
        add_weighted(ratio_few, local, topic, active, to_some * width, total)
        size += lane_sum(ratio_few)
    return size


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def all_normalisers(
    local: Float32, padded: int, width: int, theta: Float32, topic: Int64, active: int, found: Float32
) -> None:
    """Write Σ_k θ_k exp<ln β> of all words."""
    many, some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, many, 64):
        store(found, u, normalisers(zeros(64), local, theta, topic, active, u * width))
    if some > many:
        store(found, many, normalisers(zeros(32), local, theta, topic, active, many * width))
    if padded > some:
        store(found, some, last_normalisers(zeros(16), local, theta, topic, active, some * width))


@nb.njit(nogil=True, cache=True, inline="always")
def squares(found: Any, zero: Any, local: Float32, theta: Float32, topic: Int64, active: int, at: int) -> Any:
    """Return Σ_k φ_k² of a block of words whose normalisers are found."""
    block, inverse, total = width_of(zero), divide(splat(zero, np.float32(1)), found), zero
    for k in range(active):
        product = multiply(splat(zero, theta[k]), load(zero, local, at + topic[k] * block))
        phi = multiply(product, inverse)
        total = fma(phi, phi, total)
    return total


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def all_squares(
    local: Float32,
    padded: int,
    width: int,
    theta: Float32,
    topic: Int64,
    active: int,
    found: Float32,
    square: Float32,
) -> None:
    """Write Σ_k φ_k² of all words, whose normalisers are found."""
    many, some, few = zeros(64), zeros(32), zeros(16)
    to_many, to_some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, to_many, 64):
        store(square, u, squares(load(many, found, u), many, local, theta, topic, active, u * width))
    if to_some > to_many:
        own = squares(load(some, found, to_many), some, local, theta, topic, active, to_many * width)
        store(square, to_many, own)
    if padded > to_some:
        own_few = squares(load(few, found, to_some), few, local, theta, topic, active, to_some * width)
        store(square, to_some, own_few)

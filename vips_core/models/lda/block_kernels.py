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

from vips_core.kernels.lane_math import add, divide, fma, multiply
from vips_core.kernels.simd import WIDTH, add_products, load, splat, store, store_columns, width_of, zeros

TINY = np.float32(1e-30)  # added to the normaliser of φ: a word that no topic explains has no infinite weight
FAST = {"contract", "reassoc", "nsz", "arcp"}  # infinities and NaN keep their meaning

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@nb.njit(nogil=True, cache=True, error_model="numpy")
def gather(rows: Float32, word: Int32, count: Float32, used: int, local: Float32) -> int:
    """Copy the rows of `used` words to `local`; return their number, padded to 16s with words of count 0."""
    width, flat, zero = rows.shape[1], rows.reshape(-1), zeros(8)
    padded = (used + 15) // 16 * 16
    for u in range(used, padded):
        count[u] = 0
        word[u] = word[0]
    many, some = padded // 64 * 64, padded // 32 * 32
    for u in range(0, padded, WIDTH):
        block = 64 if u < many else 32 if u < some else 16
        place = u // block * block * width + u % block
        a, b, c, d = word[u] * width, word[u + 1] * width, word[u + 2] * width, word[u + 3] * width
        e, f, g, h = word[u + 4] * width, word[u + 5] * width, word[u + 6] * width, word[u + 7] * width
        for k in range(0, width, WIDTH):
            store_columns(
                local,
                place + k * block,
                block,
                load(zero, flat, a + k),
                load(zero, flat, b + k),
                load(zero, flat, c + k),
                load(zero, flat, d + k),
                load(zero, flat, e + k),
                load(zero, flat, f + k),
                load(zero, flat, g + k),
                load(zero, flat, h + k),
            )
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
    """Add ratio · exp<ln β> of a block of words to each topic's eight sums."""
    block = width_of(ratio)
    for k in range(active):
        add_products(total, k * WIDTH, ratio, local, at + topic[k] * block)


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
) -> None:
    """Write Σ_v n_v exp<ln β> / normaliser of each active topic, in eight sums, to `total`."""
    many, some, few = zeros(64), zeros(32), zeros(16)
    to_many, to_some = padded // 64 * 64, padded // 32 * 32
    for k in range(active):
        store(total, k * WIDTH, zeros(8))
    if to_many > 0:
        ratio = divide(load(many, count, 0), normalisers(many, local, theta, topic, active, 0))
        for u in range(64, to_many, 64):
            # A block's sums and the next one's normalisers in one loop: while the first find their numbers in
            # the nearest cache, those of the second are fetched.
            at, following, found = (u - 64) * width, u * width, splat(many, TINY)
            for k in range(active):
                other = load(many, local, following + topic[k] * 64)
                found = fma(splat(many, theta[k]), other, found)
                add_products(total, k * WIDTH, ratio, local, at + topic[k] * 64)
            ratio = divide(load(many, count, u), found)
        add_weighted(ratio, local, topic, active, (to_many - 64) * width, total)
    if to_some > to_many:
        found_some = normalisers(some, local, theta, topic, active, to_many * width)
        add_weighted(
            divide(load(some, count, to_many), found_some), local, topic, active, to_many * width, total
        )
    if padded > to_some:
        found_few = last_normalisers(few, local, theta, topic, active, to_some * width)
        add_weighted(
            divide(load(few, count, to_some), found_few), local, topic, active, to_some * width, total
        )


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

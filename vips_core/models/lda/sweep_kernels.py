"""The sweeps of latent Dirichlet allocation over the words of one document.

symbol       code       shape
-----------  ---------  ----------------------------------------------------------------------------------
exp<ln β>    rows       (V, P) float32, each word's row over its largest entry; P = K padded to 8s
             local      (U P,) float32, the same for the words of one document
exp<ln θ>    theta      (P,) float32, over its largest entry
γ            gamma      (P,) float32
n_v          count      (U,) float32
             weights    (V,) float32: the statistics are measured as weights[v] n_v φ_vk

Only ratios within a word and within a document enter φ, and both scales keep them inside float32. Eight words
are taken at a time, in steps of eight topics; U is padded with words of count 0, and P with topics that no
word has. `steps` is P/8: code that is compiled once serves every number of topics, and is as fast as code
compiled for one.
"""

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from vips_core.kernels.simd import WIDTH, add, divide, fma, lane, load, splat, store, totals
from vips_core.kernels.special import exp_digamma

TINY = np.float32(1e-30)  # added to the normaliser of φ: a word that no topic explains has no infinite weight
ZERO = np.float32(0)
FAST = {"contract", "reassoc", "nsz", "arcp"}  # infinities and NaN keep their meaning

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@nb.njit(nogil=True, cache=True, inline="always")
def place(u: int, step: int, steps: int) -> int:
    """Return where eight topics of word u are in `local`, which is in the order of its reading."""
    return (u // WIDTH * steps * WIDTH + step * WIDTH + u % WIDTH) * WIDTH


@nb.njit(nogil=True, cache=True, inline="always")
def gather(rows: Float32, word: Int32, count: Float32, used: int, local: Float32, steps: int) -> int:
    """Copy the rows of `used` words to `local`; return their number padded to 8s."""
    width, flat = rows.shape[1], rows.reshape(-1)
    padded = (used + WIDTH - 1) // WIDTH * WIDTH
    for u in range(used, padded):
        count[u] = 0
        word[u] = word[0]
    for u in range(padded):
        for step in range(steps):
            store(local, place(u, step, steps), load(flat, word[u] * width + step * WIDTH))
    return padded


@nb.njit(nogil=True, cache=True, inline="always")
def normalisers(local: Float32, theta: Float32, u: int, steps: int) -> Any:
    """Return Σ_k θ_k exp<ln β> of eight words from `u`."""
    a0 = splat(ZERO)
    a1, a2, a3, a4, a5, a6, a7 = a0, a0, a0, a0, a0, a0, a0
    for step in range(steps):
        t, at = load(theta, step * WIDTH), place(u, step, steps)
        a0, a1 = fma(t, load(local, at), a0), fma(t, load(local, at + 8), a1)
        a2, a3 = fma(t, load(local, at + 16), a2), fma(t, load(local, at + 24), a3)
        a4, a5 = fma(t, load(local, at + 32), a4), fma(t, load(local, at + 40), a5)
        a6, a7 = fma(t, load(local, at + 48), a6), fma(t, load(local, at + 56), a7)
    return add(totals(a0, a1, a2, a3, a4, a5, a6, a7), splat(TINY))


@nb.njit(nogil=True, cache=True, inline="always")
def add_weighted(local: Float32, r: Any, u: int, total: Float32, steps: int) -> None:
    """Add the rows of eight words from `u`, times the lanes of `r`, to `total`."""
    r0, r1, r2, r3 = lane(r, 0), lane(r, 1), lane(r, 2), lane(r, 3)
    r4, r5, r6, r7 = lane(r, 4), lane(r, 5), lane(r, 6), lane(r, 7)
    for step in range(steps):
        at = place(u, step, steps)
        even = fma(r0, load(local, at), load(total, step * WIDTH))
        odd = fma(r1, load(local, at + 8), splat(ZERO))
        even, odd = fma(r2, load(local, at + 16), even), fma(r3, load(local, at + 24), odd)
        even, odd = fma(r4, load(local, at + 32), even), fma(r5, load(local, at + 40), odd)
        even, odd = fma(r6, load(local, at + 48), even), fma(r7, load(local, at + 56), odd)
        store(total, step * WIDTH, add(even, odd))


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
    steps: int,
) -> None:
    """Sweep φ (eq. topic_post) and γ of one document.

    Starts from a flat θ and ends after `sweeps` or when the mean change of γ is below `tolerance`. Leaves γ
    and the exp<ln θ> that belongs to it.
    """
    width = steps * WIDTH
    for k in range(width):
        theta[k], gamma[k] = 1, alpha
    for _ in range(sweeps):
        for k in range(width):
            total[k] = 0
        ratio = divide(load(count, 0), normalisers(local, theta, 0, steps))
        for u in range(WIDTH, used, WIDTH):  # one step ahead, so that the division does not hold up the sums
            following = divide(load(count, u), normalisers(local, theta, u, steps))
            add_weighted(local, ratio, u - WIDTH, total, steps)
            ratio = following
        add_weighted(local, ratio, used - WIDTH, total, steps)
        change = ZERO
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

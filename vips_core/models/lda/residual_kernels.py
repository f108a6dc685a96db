"""Latent Dirichlet allocation of one document after the other: by how much it is not what was expected.

The symbols are those of `sweep_kernels`; a document adds w_kv n_v (φ_vk - e_kv), within its bound:

symbol          code       shape
--------------  ---------  ------------------------------------------
w_kv exp<ln β>  weighted   (V, P) float32, as rows, weighted
w_kv e_kv       expected   (V, P) float32
"""

import math

import numba as nb
import numpy as np

from vips_core.kernels.lane_math import fma, lane_sum, multiply
from vips_core.kernels.simd import WIDTH, add_whole, load, splat, store, zeros
from vips_core.models.lda.block_kernels import FAST, ZERO, Float32, Int32, Int64, all_normalisers, gather
from vips_core.models.lda.document_kernels import (
    LARGEST,
    ONE,
    ROUNDING,
    Float64,
    aligned,
    buffers,
    read_scaled,
    room_for,
)
from vips_core.models.lda.sweep_kernels import infer, spread

UNDERFLOW = 1e-15  # more than squares that float32 takes for 0 can hide of a norm


@nb.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_residuals(
    indptr: Int64,
    indices: Int32,
    counts: Int32,
    rows: Float32,
    row_sums: Float32,
    weighted: Float32,
    expected: Float32,
    topics: int,
    alpha: float,
    length: int,
    bound: float,
    grid: float,
    sweeps: int,
    tolerance: float,
    sums: Float64,
) -> None:
    """Add each document's clipped residuals to `sums`, words × padded topics, in grid steps.

    The norm is that of the very cells that are added, which are then cut to whole steps towards 0: whatever
    was expected, no document adds more than its bound.
    """
    width = rows.shape[1]
    word, count, local, theta, gain, room = buffers(room_for(indptr), width)
    found, cells, thetas, zero = aligned(count.size), aligned(count.size * width), aligned(width), zeros(8)
    flat_weighted, flat_expected, flat_sums = weighted.reshape(-1), expected.reshape(-1), sums.reshape(-1)
    for d in range(indptr.size - 1):
        begin, end = indptr[d], indptr[d + 1]
        if begin == end:
            continue
        used = read_scaled(indices[begin:end], counts[begin:end], length, word, count)
        padded = gather(rows, row_sums, word, count, used, local, room)
        active = infer(local, count, padded, width, topics, alpha, sweeps, tolerance, theta, gain, room)
        all_normalisers(local, padded, width, theta, room[1], active, found)
        spread(theta, room[1], active, ONE, ZERO, thetas)
        norm_square = 0.0
        for u in range(used):
            at, square = word[u] * width, zero
            value, own = splat(zero, count[u] / found[u]), splat(zero, -count[u])
            for k in range(0, width, WIDTH):
                part = multiply(value, load(zero, thetas, k))
                cell = fma(
                    own, load(zero, flat_expected, at + k), multiply(part, load(zero, flat_weighted, at + k))
                )
                store(cells, u * width + k, cell)
                square = fma(cell, cell, square)
            norm_square += lane_sum(square)
        norm = math.sqrt(norm_square * (1 + topics * ROUNDING)) + UNDERFLOW
        scale = min(1.0, bound / norm)
        if not (norm + 1) * (scale / grid) < LARGEST:
            continue  # beyond float32, or NaN: such a document would take the cells of all others with it
        in_steps = splat(zero, np.float32(scale / grid))
        for u in range(used):
            at = word[u] * width
            for k in range(0, width, WIDTH):
                add_whole(flat_sums, at + k, multiply(in_steps, load(zero, cells, u * width + k)))

"""What a batch tells the descent at a point: sums over records in coordinates, each within the bound."""

import numpy as np
from scipy import sparse

from vips_core.kernels import Array
from vips_core.kernels.exact import lowered, square_step
from vips_core.kernels.pool import map_chunks
from vips_core.models.base import Block
from vips_core.models.logistic import kernels, roots, statistics
from vips_core.models.logistic.coordinates import Coordinates
from vips_core.records import Table


def gradient_and_diagonal(batch: Table, where: Coordinates, point: Array, block: Block) -> Array:
    """Sum the gradient, the diagonal and the totals over records."""
    x, y, row_weights = batch.x, batch.y.astype(np.float64), batch.row_weights
    if sparse.issparse(x):
        x = where.filled(x)
    columns, bound = (where.centre, where.scale, 1 / where.reach), lowered(block.bound, cells=len(point))
    missing = np.zeros((0, 2), np.int64) if where.missing is None else where.missing
    common = np.flatnonzero(where.centre)
    place = np.full(x.shape[1], -1)
    place[common] = np.arange(len(common))

    def chunk_sums(start: int, stop: int) -> Array:
        steps = np.zeros(block.shape)
        if sparse.issparse(x):
            cells = x.data, x.indices, x.indptr[start : stop + 1]
            kernels.add_sparse_shares(
                *cells,
                y[start:stop],
                row_weights[start:stop],
                common,
                place,
                *columns,
                where.constant,
                point,
                bound,
                block.grid,
                steps,
            )
        else:
            rows = x[start:stop], y[start:stop], row_weights[start:stop]
            kernels.add_shares(*rows, missing, *columns, where.constant, point, bound, block.grid, steps)
        return steps

    steps = sum(map_chunks(chunk_sums, len(y), statistics.CHUNK), np.zeros(block.shape))
    return np.asarray(steps * block.grid)


def curvature(batch: Table, where: Coordinates, point: Array, block: Block) -> Array:
    """Sum 4w²p(1−p)zzᵀ over records."""
    x, row_weights, step = batch.x, batch.row_weights, square_step(block.grid)
    bound = lowered(block.bound, cells=len(point))

    def chunk_sums(start: int, stop: int) -> Array:
        total, out = np.zeros(block.shape, order="F"), np.empty((statistics.ROWS, len(point)))
        for first in range(start, stop, statistics.ROWS):
            last = min(first + statistics.ROWS, stop)
            rows, written = x[first:last], out[: last - first]
            roots.write_curvature_roots(
                where.filled(rows.toarray() if sparse.issparse(x) else rows),
                row_weights[first:last],
                where.centre,
                where.scale,
                where.constant,
                point,
                bound,
                step,
                written,
            )
            roots.add_products(written, total)
        return total

    total = sum(map_chunks(chunk_sums, batch.row_count, statistics.CHUNK), np.zeros(block.shape))
    return roots.mirrored(total) * step**2

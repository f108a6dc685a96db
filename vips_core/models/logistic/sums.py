"""E-steps: sums over labelled rows, with each record within its bound.

The refined variant weights records and does not rescale them: w = min(1, bound/‖z‖) depends on x alone, so
the weighted estimating equation Σ w(y − σ(xᵀm))x = 0 keeps the model's coefficients. Contributions are cut to
the block's grid, which makes sums exact. A curvature is released as a whole matrix; the average of its two
triangles has as little noise as a packed triangle.

A row's contribution depends on that row alone: BLAS computes only exact products of a row
(`vips_core.kernels.exact`), and everything else is computed row by row. Bounds are lowered by the rounding
error of a norm over that many columns. If a person has several rows, each row's contribution is divided by
their number (`row_weights`) before it is cut, so the person's contribution is an average within the bound.

| symbol       | code        | shape  |
|--------------|-------------|--------|
| x, y         | `x`, `y`    | (n, d), (n,) |
| w            | `weight`    | (n,)   |
| z            | see `coordinates` | (n, d) |
| θ            | `point`     | (d+1,), the level's coordinate first |
"""

from typing import Any

import numpy as np
import scipy  # its parts load when they are used
from scipy import sparse
from scipy.special import expit

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, lowered, row_sums, square_step
from vips_core.kernels.pool import grouped_sums, map_chunks
from vips_core.models.base import Block
from vips_core.models.logistic import kernels
from vips_core.models.logistic.calibration import Calibration
from vips_core.models.logistic.coordinates import Coordinates, unit
from vips_core.records import Table

ROWS = 1024  # rows that BLAS multiplies at a time, few enough for the cache
CHUNK = 4096  # rows in one thread's task
NARROW = 31  # columns up to which BLAS computes a full product faster than a triangle (OpenBLAS, AVX-512)


def moment_block(norm_bound: float, radius: float, d: int) -> Block:
    """Return the block of `moments`."""
    return Block(radius / unit(norm_bound, d), shape=(2 * d + 2,))


def moments(batch: Table, norm_bound: float, block: Block) -> Array:
    """Return Σ v·(x, min(x², |x|), k(1−y), ky), x in units of a column; v shortens records to the bound k.

    min(x², |x|) is the square for values in [−1, 1], and never larger than |x|.
    """
    x, y, row_weights = batch.x, batch.y.astype(np.float64), batch.row_weights
    per_unit, bound = 1 / unit(norm_bound, x.shape[1]), lowered(block.bound, cells=2 * x.shape[1] + 1)

    def chunk_sums(start: int, stop: int) -> Array:
        rows = x[start:stop] * per_unit
        if sparse.issparse(rows):
            cells = np.minimum(rows.data**2, np.abs(rows.data))
            squares = sparse.csr_array((cells, rows.indices, rows.indptr), shape=rows.shape)
        else:
            squares = np.minimum(rows**2, np.abs(rows))
        norm = np.sqrt(norms(rows) ** 2 + norms(squares) ** 2 + block.bound**2)
        weight = row_weights[start:stop] * at_most(bound, norm)
        labels = np.column_stack([1 - y[start:stop], y[start:stop]])
        sums = (row_sum(columns, weight, block.grid) for columns in (rows, squares))
        return np.concatenate([*sums, row_sum(labels, weight * block.bound, block.grid)])

    chunk = max(len(y), 1) if sparse.issparse(x) else ROWS  # dense rows stay in the cache
    return np.asarray(sum(map_chunks(chunk_sums, len(y), chunk), np.zeros(block.shape)))


class CentredRows:
    """Rows in coordinates, chunk by chunk: dense columns, and the others of a CSR matrix.

    Centring leaves no zeros in a column, so centred columns of a CSR matrix become dense.
    """

    def __init__(self, x: Any, coordinates: Coordinates) -> None:
        self.x, self.coordinates, self.sparse = x, coordinates, sparse.issparse(x)
        centre, d = coordinates.centre, x.shape[1]
        self.dense = np.flatnonzero(centre) if self.sparse else np.arange(d)
        self.columns, self.place = (centre[self.dense], coordinates.scale[self.dense]), np.full(d, -1)
        self.place[self.dense] = np.arange(len(self.dense))
        self.filled = coordinates.filled(x) if self.sparse else x

    def csr(self, start: int, stop: int) -> tuple[Any, Any, Any, Any, Any]:
        """Return the chunk's CSR arrays, and the place and scale of every column."""
        filled = self.filled
        return (
            filled.data,
            filled.indices,
            filled.indptr[start : stop + 1],
            self.place,
            self.coordinates.scale,
        )

    def chunk(self, start: int, stop: int, slopes: Array, square: Array, psi: Array) -> Array:
        """Add ‖z‖² and zᵀslopes of each row; return the dense columns."""
        if self.sparse:
            rows = np.zeros((stop - start, len(self.dense)))
            kernels.split_sparse_rows(*self.csr(start, stop), slopes, rows, square, psi)
        else:
            rows = self.coordinates.filled(self.x[start:stop])
        kernels.add_squares_and_products(rows, *self.columns, slopes[self.dense], square, psi)
        return rows


def gradient_and_diagonal(batch: Table, coordinates: Coordinates, point: Array, block: Block) -> Array:
    """Return the gradient, the squares of columns and the two totals; `refined` has the formulas."""
    centred, y, row_weights = CentredRows(batch.x, coordinates), batch.y.astype(np.float64), batch.row_weights
    constant, slopes, d = coordinates.constant, point[1:], len(point) - 1
    per_reach, bound = 1 / coordinates.reach, lowered(block.bound, cells=len(point))

    def chunk_sums(start: int, stop: int) -> Array:
        square, psi = np.zeros(stop - start), np.full(stop - start, constant * point[0])
        cells, of_dense = np.zeros((2, d)), np.zeros((2, len(centred.dense)))
        rows = centred.chunk(start, stop, slopes, square, psi)
        people = y[start:stop], row_weights[start:stop]
        factors = kernels.row_factors(*people, square, psi, constant, bound, block.grid)
        if centred.sparse:
            kernels.add_sparse_cells(*centred.csr(start, stop), per_reach, factors[1:3], cells)
        kernels.add_cells(rows, *centred.columns, per_reach[centred.dense], factors[1:3], of_dense)
        cells[:, centred.dense] += of_dense
        level, _, _, *totals = np.trunc(factors).sum(axis=1)
        return np.concatenate([[level], *cells, totals])

    steps = sum(map_chunks(chunk_sums, len(y), CHUNK), np.zeros(block.shape))
    return np.asarray(steps * block.grid)


def calibration(batch: Table, coordinates: Coordinates, found: Calibration, block: Block) -> Array:
    """Return score and information of level and slope; `calibration` has the formulas."""
    centred, y, row_weights = CentredRows(batch.x, coordinates), batch.y.astype(np.float64), batch.row_weights
    level, slope = found.place
    bound = lowered(block.bound, cells=len(kernels.SCORE) + len(kernels.INFORMATION))

    def chunk_sums(start: int, stop: int) -> Array:
        square, along, cells = np.zeros(stop - start), np.zeros(stop - start), np.zeros(block.shape)
        centred.chunk(start, stop, found.slopes, square, along)
        people = y[start:stop], row_weights[start:stop]
        kernels.add_calibration(*people, along / found.reach, level, slope, bound, block.grid, cells)
        return cells

    steps = sum(map_chunks(chunk_sums, len(y), CHUNK), np.zeros(block.shape))
    return np.asarray(steps * block.grid)


def curvature(batch: Table, coordinates: Coordinates, point: Array, block: Block) -> Array:
    """Return Σ 4w²p(1−p)zzᵀ over records, with the constant as the first of z."""
    x, row_weights, step = batch.x, batch.row_weights, square_step(block.grid)
    columns, constant = (coordinates.centre, coordinates.scale), coordinates.constant
    bound = lowered(block.bound, cells=len(point))

    def chunk_sums(start: int, stop: int) -> tuple[Array]:
        rows = coordinates.filled(x[start:stop].toarray() if sparse.issparse(x) else x[start:stop])
        square, psi = np.full(len(rows), constant**2), np.full(len(rows), constant * point[0])
        kernels.add_squares_and_products(rows, *columns, point[1:], square, psi)
        finite = (square < kernels.LARGEST) & (np.abs(psi) < kernels.LARGEST)
        variance = row_weights[start:stop] * expit(psi) * expit(-psi)
        factors = 2 * bound / step * np.sqrt(variance / np.maximum(square, bound**2))
        weighted = kernels.weighted_rows(rows, *columns, constant, np.where(finite, factors, 0.0))
        return (products(weighted),)

    (total,) = grouped_sums(chunk_sums, lambda: (np.zeros(block.shape),), batch.row_count, ROWS)
    return mirrored(total) * step**2


def products(weighted_rows: Array) -> Array:
    """Return Σ xxᵀ over rows of whole numbers; cells below its diagonal may be missing."""
    columns = weighted_rows.T
    if len(columns) <= NARROW:
        return np.asarray(scipy.linalg.blas.dgemm(1.0, columns, columns, trans_b=True))
    return np.asarray(scipy.linalg.blas.dsyrk(1.0, columns))


def mirrored(total: Array) -> Array:
    """Return the symmetric matrix with this upper triangle."""
    return np.asarray(np.triu(total) + np.triu(total, 1).T)


def row_sum(x: Any, factors: Array, grid: float) -> Array:
    """Return Σ factor·x over rows, each cut to the grid."""
    if sparse.issparse(x):
        cells = cut(x.data * np.repeat(factors, np.diff(x.indptr)), grid)
        return np.asarray(np.bincount(x.indices, cells, minlength=x.shape[1]))
    steps = np.zeros(x.shape[1])
    kernels.add_rows(x, factors / grid, steps)
    return steps * grid


def norms(x: Any) -> Array:
    """Return the L2 norm of every row."""
    if sparse.issparse(x):
        cells = sparse.csr_array((x.data**2, x.indices, x.indptr), shape=x.shape)
        return np.sqrt(np.asarray(cells.sum(axis=1), np.float64).ravel())
    return np.sqrt(row_sums(x**2))


def at_most(bound: float, norm: Array) -> Array:
    """Return factors that scale vectors of these norms down to `bound`; 1 for shorter ones."""
    return np.asarray(bound / np.maximum(norm, bound))


def quadratic_forms(x: Any, matrix: Array) -> Array:
    """Return xᵀAx of every row; dense rows are taken in chunks to save a second n × d array.

    The last bits of a dense row's result may depend on its neighbours, so it serves predictions only, not
    contributions.
    """
    forms = np.empty(x.shape[0])
    if sparse.issparse(x):
        kernels.sparse_quadratic_forms(x.data, x.indices, x.indptr, matrix, forms)
    else:
        for start in range(0, len(forms), ROWS):
            rows = x[start : start + ROWS]
            forms[start : start + ROWS] = row_sums((rows @ matrix) * rows)
    return np.maximum(forms, 0.0)

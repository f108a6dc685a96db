"""Coordinates in which noise costs least: centred and scaled columns, from one noisy release of moments.

Noise is as large as the longest record that counts in full, so columns are centred at their noisy means and
scaled by their noisy variances. With much signal they are divided by the square roots of their standard
deviations: halfway between columns as they are, where a column with a narrow spread drowns, and standardised
ones, where rare values are long. With little signal for their number, the little that there is goes to the
columns that vary most. In these coordinates noise and prior are alike in all directions. The model's own
constant comes first, so that nothing depends on which column is constant, what it is called, or whether there
is one.

A missing value is 0 in its column and 1 in another, its indicator. Here it lies at the noisy mean of those
that are known: a column then says nothing of what its indicator says. This is another way to write the same
model, so it would do no harm where the indicator were none.

| symbol | code       | shape  |
|--------|------------|--------|
| c      | `centre`   | (d,), in units of the columns; 0 where a column is mostly 0 |
| s      | `scale`    | (d,), z = s(x − c); a typical record (constant, z) has norm 1/`RADIUS` |
| κ      | `constant` | scalar, the constant's value |
| a      | `reach`    | (d,), |z| of a column at the far end of [0, 1] |
|        | `missing`  | (columns with an indicator, 2), each with its indicator's place |
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vips_core.kernels import Array
from vips_core.kernels.exact import lowered
from vips_core.kernels.pool import map_chunks
from vips_core.models.base import Block
from vips_core.models.logistic import kernels, statistics
from vips_core.models.logistic.mass import expected_mass
from vips_core.records import Table
from vips_core.records.base import frozen

RADIUS = 0.8  # a record counts in full up to this part of the typical norm
COMMON = 0.1  # mean from which a column is centred: sparse rows stay sparse
CLEAR = 2.0  # standard deviations of noise from which a mean is one
CERTAIN = 3.0  # standard deviations of noise within which a value is as good as another
NARROWEST = 1e-3  # smallest variance, for columns in [0, 1]
NO_CONSTANT = -1


@dataclass(frozen=True)
class Coordinates:
    """Where a record lies, as a centred and scaled vector after a constant."""

    centre: Array
    scale: Array
    reach: Array
    constant: float
    column: int  # the one that looks constant, or NO_CONSTANT
    value: float  # of that column
    missing: NDArray[np.int64] | None = None

    def filled(self, x: Any) -> Any:
        """Return rows with missing values at their columns' centres; the same where none can be missing."""
        if self.missing is None:
            return x
        if sparse.issparse(x):
            columns, indicators = self.missing.T
            shifts = (self.centre[columns], (indicators, columns))
            added = x @ sparse.csr_array(shifts, (x.shape[1], x.shape[1]))
            added.sort_indices()  # otherwise the order of a row's cells depends on what other rows miss
            return sparse.csr_array(x + added)
        rows = x.copy()
        kernels.fill_missing(x, self.missing, self.centre, rows)
        return frozen(rows)


def unit(norm_bound: float, d: int) -> float:
    """Return the size of a column's largest values as a norm bound tells it; 1 for columns in [0, 1]."""
    return max(norm_bound / math.sqrt(d), min(1.0, norm_bound))


def spread_power(signal_per_column: float) -> float:
    """Return the power of a column's variance to which its share of the signal is proportional.

    `signal_per_column` is N·μ/d. The power is ½ where that is large, and 5/4 where it is small (by AUC on
    generated cohorts).
    """
    return 0.5 + 0.75 / (1 + signal_per_column / 4)


def moment_block(norm_bound: float, radius: float, d: int) -> Block:
    """Return the block of `moment_sums`."""
    return Block(radius / unit(norm_bound, d), shape=(2 * d + 2,))


def moment_sums(batch: Table, norm_bound: float, block: Block) -> Array:
    """Σ v·(x, min(x², |x|), k(1−y), ky) in units of a column, v such that no record is longer than the bound.

    min(x², |x|) is the square for values in [−1, 1] and never longer than x.
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
        norm = np.sqrt(statistics.norms(rows) ** 2 + statistics.norms(squares) ** 2 + block.bound**2)
        weight = row_weights[start:stop] * statistics.at_most(bound, norm)
        labels = np.column_stack([1 - y[start:stop], y[start:stop]])
        sums = (statistics.row_sum(columns, weight, block.grid) for columns in (rows, squares))
        return np.concatenate([*sums, statistics.row_sum(labels, weight * block.bound, block.grid)])

    chunk = max(len(y), 1) if sparse.issparse(x) else statistics.ROWS  # dense ones stay in the cache
    return np.asarray(sum(map_chunks(chunk_sums, len(y), chunk), np.zeros(block.shape)))


def unknown(norm_bound: float, d: int) -> Coordinates:
    """Return coordinates before anything was released: columns as they are."""
    radius = RADIUS * math.sqrt(d + 1)
    scale = np.full(d, 2 * math.sqrt(3) / unit(norm_bound, d) / radius)  # of a uniform column
    return Coordinates(np.zeros(d), scale, scale * unit(norm_bound, d), 1 / radius, NO_CONSTANT, 1.0)


def from_moments(
    sums: Array,
    noise_std: float,
    norm_bound: float,
    block: Block,
    records: int,
    power: float,
    missing: NDArray[np.int64],
) -> Coordinates:
    """Return the coordinates that noisy `moment_sums` suggest."""
    d = len(sums) // 2 - 1
    size = unit(norm_bound, d)
    total = max(sums[-2:].sum() / block.bound, 0.1 * records, noise_std / block.bound)
    noise = noise_std / total
    first, second = sums[:d] / total, sums[d : 2 * d] / total
    column, value = _constant(first, second, noise)
    missing = missing[(missing != column).all(axis=1)]
    columns, indicators = missing.T
    known = np.ones(d)  # share of values; none is above 1, so it is at least their sum's
    known[columns] = np.clip(1 - first[indicators] * size, np.maximum(first[columns], COMMON), 1.0)
    clear = (np.abs(first) > CLEAR * noise) & (first**2 > COMMON * second)
    centre = np.where(clear, first / known * (1 - (noise / np.where(clear, first, 1.0)) ** 2), 0.0)
    steepness = np.sqrt(1 + 4 * centre**2)  # of the variance's noise, by the delta method
    variance = expected_mass((second - known * centre**2) / steepness, noise, 1.0) * steepness
    variance = np.maximum(variance, NARROWEST)
    signal = variance**power
    radius = RADIUS * math.sqrt(d + 1)
    scale = np.sqrt(signal / signal.mean() / variance) / radius
    reach = scale * np.maximum(np.abs(centre), np.abs(1 - centre))
    missing = missing[centre[columns] != 0]
    where = Coordinates(centre * size, scale / size, reach, 1 / radius, column, value * size)
    return replace(where, missing=missing) if len(missing) else where


def positive_share(sums: Array, noise_std: float) -> float:
    """Return the share of positive labels that noisy `moment_sums` show, away from 0 and 1 by their noise."""
    negative, positive = np.maximum(sums[-2:], noise_std)
    return float(positive / (negative + positive))


def _constant(first: Array, second: Array, noise: float) -> tuple[int, float]:
    """Return the column of the largest mean among those that may not vary, as far as noise shows.

    With much noise that can be a column which hardly varies; predictions do not depend on it.
    """
    steady = second - first**2 <= CERTAIN * noise * np.sqrt(1 + 4 * first**2) + NARROWEST
    steady &= first > CERTAIN * noise
    if not steady.any():
        return NO_CONSTANT, 1.0
    column = int(np.argmax(np.where(steady, first, 0.0)))
    return column, 1.0 if abs(first[column] - 1) <= CERTAIN * noise else float(first[column])

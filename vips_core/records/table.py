"""Tables: feature rows with labels."""

import io
import math
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vips_core import validate
from vips_core.kernels.exact import lowered
from vips_core.records.base import RowsOfPersons, frozen, numbers, sparse_rows, unique_names, whole_numbers
from vips_core.records.files.identification import column_of_persons

LEAST_BOUND, MOST_BOUND = 1e-100, 1e100  # norm bounds whose squares neither vanish nor overflow
_SPARSE = ("data", "indices", "indptr")  # arrays of sparse rows
_MISSING = " missing"  # suffix of an indicator's name, for display only

MissingPairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Table(RowsOfPersons):
    """Feature rows with 0/1 labels. A row longer than the public norm bound is scaled down to it.

    Parameters
    ----------
    x
        Rows × features, an array or scipy sparse.
    y
        0 or 1 for each row.
    feature_names
        One name per column.
    norm_bound
        Public bound on the L2 norm of a row.
    ranges
        Public (low, high) of the frame's columns, if `from_frame` made the rows.
    persons
        Person of each row, if persons may have several: text or whole numbers. Rows are then ordered by
        person, and only numbers stand for persons. None if each row is a record of its own.
    missing_pairs
        Public pairs (column, indicator), numbered from 0, for columns that may be missing: where a value is
        missing, the column is 0 and its indicator 1.

    Examples
    --------
    >>> rows = Table([[3.0, 4.0], [0.3, 0.4]], [1, 0], ("a", "b"), norm_bound=1.0)
    >>> rows.x.round(2)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """

    kind: ClassVar[str] = "table"
    public_fields: ClassVar[tuple[str, ...]] = ("feature_names", "norm_bound", "ranges", "missing_pairs")
    row_fields: ClassVar[tuple[str, ...]] = ("x", "y")
    shard_ending: ClassVar[str] = "parquet"

    x: Any
    y: NDArray[np.uint8]
    feature_names: tuple[str, ...]
    norm_bound: float
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    persons: NDArray[np.int64] | None = None
    missing_pairs: MissingPairs = ()

    def __post_init__(self) -> None:
        public = self.checked_public(vars(self))
        columns = len(public["feature_names"])
        x = sparse_rows(self.x) if sparse.issparse(self.x) else numbers(self.x, "x")
        y = whole_numbers(numbers(self.y, "labels"), "labels", np.uint8, high=1, given=self.y)
        if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] != columns:
            raise ValueError(f"x must be one or more rows × {columns} features, got shape {x.shape}")
        if y.shape != (x.shape[0],):
            raise ValueError(f"labels must have shape ({x.shape[0]},), got {y.shape}")
        x, y = self._by_person(x, y)
        vars(self).update(public, x=_bounded(x, public["norm_bound"]), y=frozen(y))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str,
        ranges: Mapping[str, tuple[float, float]],
        norm_bound: float | None = None,
        may_be_missing: Collection[str] = (),
        person: str | None = None,
    ) -> Self:
        """Make rows from the columns of a pandas frame that have a public range.

        Each column is mapped from its (low, high) to [0, 1] and clipped. The first column is a constant,
        "intercept".

        Parameters
        ----------
        frame
            One row per record, or several per person.
        target
            Name of the column of 0/1 labels.
        ranges
            Public (low, high) of each predictor.
        norm_bound
            Public bound on the L2 norm of a row; None takes the largest norm that these columns allow, so
            that no row is scaled down.
        may_be_missing
            Predictors that may be missing. Each is followed by an indicator column "<name> missing";
            `missing_pairs` holds the numbers of both.
        person
            Name of the column that names the person; all rows with the same value are one record.

        Returns
        -------
        Table
            With the predictors in the order of `ranges`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [20, 60], "stroke": [0, 1]})
        >>> rows = Table.from_frame(frame, "stroke", {"age": (0, 100)})
        >>> rows.feature_names, rows.x[:, 1]
        (('intercept', 'age'), array([0.2, 0.6]))
        """
        if not hasattr(frame, "columns"):
            raise ValueError(f"frame must be a pandas DataFrame, got {type(frame).__name__}")
        if not len(frame):
            raise ValueError("the table has no rows")
        check_columns("the frame", list(frame.columns), target, person, ranges, "it has")
        persons = None if person is None else column_of_persons(frame, person, "the frame")
        undeclared = [name for name in may_be_missing if name not in ranges]
        if undeclared:
            raise ValueError(f"may_be_missing names columns without a range: {validate.few(undeclared)}")
        columns, pairs = [("intercept", np.ones(len(frame)))], []
        for name, ends in ranges.items():
            low, high = checked_range(name, ends)
            column = f"column {validate.shown(name)}"
            values = numbers(frame[name], column)
            missing = np.isnan(values)
            if np.isinf(values).any() or (missing.any() and name not in may_be_missing):
                raise ValueError(f"{column} must be finite, or in may_be_missing if it can be missing")
            columns.append((name, np.where(missing, 0.0, np.clip((values - low) / (high - low), 0.0, 1.0))))
            if name in may_be_missing:
                pairs.append((len(columns) - 1, len(columns)))
                columns.append((name + _MISSING, missing.astype(np.float64)))
        names, arrays = zip(*columns, strict=True)
        # A value and its missing indicator are never both non-zero.
        bound = math.sqrt(1 + len(ranges)) if norm_bound is None else norm_bound
        return cls(np.column_stack(arrays), frame[target], names, bound, dict(ranges), persons, tuple(pairs))

    def adversarial(self, count: int, rng: np.random.Generator) -> Self:
        """Return synthetic rows at the norm bound, one per person: along each column, then random directions.

        Parameters
        ----------
        count
            Number of rows.
        rng
            Draws directions and labels.

        Examples
        --------
        >>> rows = Table([[0.5, 0.5]], [1], ("a", "b"), norm_bound=1.0)
        >>> rows.adversarial(2, np.random.default_rng(0)).x.round(6)
        array([[1., 0.],
               [0., 1.]])
        """
        columns = len(self.feature_names)
        x = np.eye(count, columns)
        x[columns:] = rng.standard_normal((max(0, count - columns), columns))
        x[columns:, [indicator for _, indicator in self.missing_pairs]] = 0
        x *= 2 * self.norm_bound / np.linalg.norm(x, axis=1, keepdims=True)  # scaled down to the bound below
        persons = None if self.persons is None else np.arange(count)
        rows = sparse.csr_array(x) if sparse.issparse(self.x) else x
        return replace(self, x=rows, y=rng.integers(2, size=count, dtype=np.uint8), persons=persons)

    @staticmethod
    def checked_public(public: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns, norm bound, ranges, and which columns may be missing."""
        names = unique_names(public["feature_names"], "feature_names")
        return {
            "feature_names": names,
            "norm_bound": validate.number(
                "norm_bound", public["norm_bound"], low=LEAST_BOUND, high=MOST_BOUND
            ),
            "ranges": {name: checked_range(name, ends) for name, ends in public["ranges"].items()},
            "missing_pairs": checked_missing_pairs(public["missing_pairs"], len(names)),
        }

    def arrays(self) -> dict[str, Any]:
        """Return features (dense, or the arrays of sparse rows), labels, and persons if rows are grouped."""
        arrays = super().arrays()
        if sparse.issparse(self.x):
            del arrays["x"]
            arrays |= {name: getattr(self.x, name) for name in _SPARSE}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], public: Mapping[str, Any]) -> Self:
        """Return the rows of `arrays()` with these public fields."""
        rows = dict(arrays)
        if "x" not in rows:
            shape = len(rows["y"]), len(public["feature_names"])
            rows["x"] = sparse.csr_array(tuple(rows.pop(name) for name in _SPARSE), shape)
        return cls(**rows, **public)

    def to_bytes(self) -> bytes:
        """Return the content of a Parquet file: label, person, and features or sparse indices and values."""
        import pyarrow as pa  # here: slow to import, and only shards need it
        from pyarrow import parquet

        columns = {"label": pa.array(self.y)}
        if self.persons is not None:
            columns["person"] = pa.array(self.persons)
        if sparse.issparse(self.x):
            ends = pa.array(self.x.indptr.astype(np.int32))
            columns["indices"] = pa.ListArray.from_arrays(ends, pa.array(self.x.indices.astype(np.int32)))
            columns["values"] = pa.ListArray.from_arrays(ends, pa.array(self.x.data))
        else:
            values = pa.array(np.ascontiguousarray(self.x).reshape(-1))
            columns["features"] = pa.FixedSizeListArray.from_arrays(values, self.x.shape[1])
        file = io.BytesIO()
        parquet.write_table(pa.table(columns), file, use_dictionary=False)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, public: Mapping[str, Any]) -> Self:
        """Return the rows of a Parquet file of `to_bytes`."""
        import pyarrow as pa
        from pyarrow import parquet

        table = parquet.read_table(pa.BufferReader(content)).combine_chunks()
        columns = {name: table.column(name).chunk(0) for name in table.column_names}
        arrays = {"y": columns["label"].to_numpy()}
        if "person" in columns:
            arrays["persons"] = columns["person"].to_numpy()
        if "features" in columns:
            arrays["x"] = columns["features"].flatten().to_numpy().reshape(len(table), -1)
        else:
            values, indices = columns["values"], columns["indices"]
            rows = values.flatten().to_numpy(), indices.flatten().to_numpy(), indices.offsets.to_numpy()
            arrays |= zip(_SPARSE, rows, strict=True)
        return cls.from_arrays(arrays, public)

    def row_bytes(self) -> Iterator[bytes]:
        """Return the label and the nonzero features of each row, in single precision."""
        rows = sparse.csr_array(self.x, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        values, columns = rows.data.astype(np.float32), rows.indices.astype(np.int32)
        for label, start, stop in zip(self.y, rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield bytes([label]) + columns[start:stop].tobytes() + values[start:stop].tobytes()


def check_columns(
    table: str, columns: list[Any], target: str, person: str | None, ranges: Collection[str], it_has: str
) -> None:
    """Refuse a table that lacks a column or repeats one, and a column with two roles.

    Parameters
    ----------
    table
        Name of the table in errors.
    columns
        Names of its columns.
    target, person, ranges
        Columns that are read: the labels, the persons if a column names them, and the predictors.
    it_has
        Words before the names of the columns in errors.
    """
    if person is not None and person in (target, *ranges):
        named = validate.shown(person)
        raise ValueError(f"the column {named} names persons: it can be neither the target nor a predictor")
    if target in ranges:
        raise ValueError(f"the target {validate.shown(target)} is not a predictor and must not have a range")
    times = Counter(columns)
    absent = [name for name in (target, *ranges) if not times[name]]
    if absent:
        raise ValueError(
            f"{table} lacks the columns {validate.few(absent)}: {it_has} {validate.few(columns)}"
        )
    for name in (target, *ranges, person):
        if times[name] > 1:
            raise ValueError(f"{table} must have one column {validate.shown(name)}, got {times[name]}")


def checked_missing_pairs(pairs: Any, columns: int) -> MissingPairs:
    """Return pairs (column, indicator); `ValueError` with one sentence if any is invalid.

    Parameters
    ----------
    pairs
        Numbers of columns, from 0.
    columns
        Number of columns.

    Examples
    --------
    >>> checked_missing_pairs([[1, 2]], columns=3)
    ((1, 2),)
    >>> checked_missing_pairs([[1, 3]], columns=3)
    Traceback (most recent call last):
    ...
    ValueError: missing_pairs must be pairs of column and indicator, each from 0 to 2 and once, got [1, 3]
    """
    checked, taken = list[tuple[int, int]](), set[int]()
    for pair in pairs if isinstance(pairs, Iterable) else [pairs]:
        try:
            column, indicator = (validate.whole("a place", place, 0, columns - 1) for place in pair)
        except (TypeError, ValueError):
            column = indicator = -1
        if column == indicator or taken & {column, indicator}:
            raise ValueError(
                f"missing_pairs must be pairs of column and indicator, each from 0 to {columns - 1} "
                f"and once, got {validate.shown(pair)}"
            )
        checked.append((column, indicator))
        taken |= {column, indicator}
    return tuple(checked)


def checked_range(name: str, ends: Any) -> tuple[float, float]:
    """Return the public range (low, high) of a column; `ValueError` with one sentence if it is invalid.

    Parameters
    ----------
    name
        The column.
    ends
        Two finite numbers, the lower first.
    """
    try:
        low, high = (validate.number("an end", end) for end in ends)
        validate.number("the width", high - low, low=sys.float_info.min)  # a smaller width loses precision
    except (TypeError, ValueError):
        column, got = validate.shown(name), validate.shown(ends)
        raise ValueError(
            f"the range of {column} must be [low, high] with finite low < high, got {got}"
        ) from None
    return low, high


def _bounded(x: Any, bound: float) -> Any:
    """Freeze rows, of which the caller must be the only owner, and scale longer ones down to the bound."""
    if sparse.issparse(x):
        x.sum_duplicates()
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt((x * x).sum(axis=1))
    if not np.isfinite(norms).all():
        raise ValueError(f"x must be finite, got a row of norm {norms[~np.isfinite(norms)][0]}")
    if (norms > bound).any():
        # Slightly below the bound, so that scaled rows are never scaled again.
        scale = np.where(norms > bound, lowered(bound, x.shape[1]) / np.maximum(norms, bound), 1.0)
        if sparse.issparse(x):
            x.data *= np.repeat(scale, np.diff(x.indptr))  # in place, which keeps the order of cells
        else:
            x *= scale[:, None]
    return frozen(x)

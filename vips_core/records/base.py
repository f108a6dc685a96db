"""What all kinds of records share: slicing, splitting, persons, files of arrays, and checks of arrays."""

import copy
import functools
import io
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from vips_core import validate
from vips_core.kernels import Array
from vips_core.records.files.npz import plain_arrays
from vips_core.records.identity import identities

_ROUNDED_DOWN = 1 - 2.0**-40  # keeps the sum of a person's row weights at most 1 after rounding


class Records(Sized):
    """Records of one kind, sliced by a boolean mask, as Poisson batches are drawn.

    Each kind is a subclass that defines its public fields, how its records become arrays and bytes,
    and how parts of a data set are joined.

    Attributes
    ----------
    kind
        Name of the kind.
    public_fields
        Names of the public fields; training and held-out records must agree in the first one.
    shard_ending
        Ending of the files of a sharded data set.
    in_memory
        Whether all records are in memory; `Sharded` reads them one shard at a time.
    """

    kind: ClassVar[str]
    public_fields: ClassVar[tuple[str, ...]]
    shard_ending: ClassVar[str] = "npz"
    in_memory: ClassVar[bool] = True

    @property
    def public(self) -> dict[str, Any]:
        """The public fields of the records, ready for JSON."""
        return {name: getattr(self, name) for name in self.public_fields}

    @staticmethod
    @abstractmethod
    def checked_public(public: Mapping[str, Any]) -> dict[str, Any]:
        """Return the public fields in their types; `ValueError`, `KeyError` or `TypeError` if one is wrong.

        Parameters
        ----------
        public
            The fields as a caller gave them, or as JSON holds them; other fields are ignored.
        """

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return the private part of the records as plain arrays."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], public: Mapping[str, Any]) -> Self:
        """Return the records of `arrays()` with these public fields."""
        return cls(**arrays, **public)

    def stored(self) -> dict[str, Any]:
        """Return the arrays from which `stored_records` restores the records."""
        return {"public": np.array(json.dumps(self.public)), **self.arrays()}

    def loaded(self) -> Iterator[tuple[int, Self]]:
        """Yield the records in parts, each with the number of its first record; here all in one part."""
        yield 0, self

    def to_bytes(self) -> bytes:
        """Return the content of a shard."""
        file = io.BytesIO()
        np.savez(file, **self.arrays())
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, public: Mapping[str, Any]) -> Self:
        """Return the records of a shard with these public fields."""
        return cls.from_arrays(plain_arrays(io.BytesIO(content)), public)

    @abstractmethod
    def row_bytes(self) -> Iterator[bytes]:
        """Return bytes that identify each row, for keyed digests."""

    @classmethod
    @abstractmethod
    def concatenated(cls, parts: Sequence[Self], persons: Any) -> Self:
        """Return the rows of all parts as one data set, grouped by person."""

    @abstractmethod
    def adversarial(self, count: int, rng: np.random.Generator) -> Self:
        """Return synthetic records at the bounds, as different from each other as possible."""

    @abstractmethod
    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        """Return the fields in which a slice differs from this data set."""

    def __getitem__(self, mask: NDArray[np.bool_]) -> Self:
        """Return the records where ``mask`` is true, in their order, possibly none."""
        chosen = np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise ValueError(
                f"mask must be boolean of shape ({len(self)},), got {chosen.dtype} {chosen.shape}"
            )
        if chosen.all():
            return self
        records = copy.copy(self)  # not checked again: a slice of valid records is valid, even when empty
        vars(records).update(self._take(chosen))
        return records

    def split(self, test_share: float, seed: int) -> tuple[Self, Self]:
        """Split the records in two at random.

        Parameters
        ----------
        test_share
            Share of the records in the second part.
        seed
            The same seed makes the same split.

        Returns
        -------
        train, test
            Disjoint records, each in their order.
        """
        size = round(len(self) * validate.share("test_share", test_share))
        if not 0 < size < len(self):
            raise ValueError(f"test_share must split the {len(self)} records in two, got {test_share}")
        in_test = np.zeros(len(self), dtype=np.bool_)
        chooser = np.random.default_rng(validate.whole("seed", seed, low=0))
        in_test[chooser.permutation(len(self))[:size]] = True
        return self[~in_test], self[in_test]


class RowsOfPersons(Records):
    """Rows grouped by person: a record is a person, and a mask selects all rows of each.

    Attributes
    ----------
    row_fields
        Names of the arrays that have an entry for each row.
    persons
        Number of each row's person, increasing; None if each row is a record of its own.
    """

    row_fields: ClassVar[tuple[str, ...]]
    persons: NDArray[np.int64] | None

    @property
    def row_count(self) -> int:
        """The number of rows, at least the number of persons."""
        return int(getattr(self, self.row_fields[0]).shape[0])

    def arrays(self) -> dict[str, Any]:
        """Return the rows, and the persons if rows are grouped."""
        rows = {name: getattr(self, name) for name in self.row_fields}
        return rows if self.persons is None else {**rows, "persons": self.persons}

    @classmethod
    def concatenated(cls, parts: Sequence[Any], persons: Any) -> Self:
        """Return all rows, grouped by person."""
        rows = {name: _stacked([getattr(part, name) for part in parts]) for name in cls.row_fields}
        return cls.from_arrays({**rows, "persons": persons}, parts[0].public)

    @property
    def row_weights(self) -> Array:
        """Weight of each row, 1/(rows of its person): a person's statistics are the average over rows.

        Examples
        --------
        >>> from vips_core import Images
        >>> Images.from_images([[0], [1], [1]], 0.5, persons=["ann", "bob", "ann"]).row_weights.round(9)
        array([0.5, 0.5, 1. ])
        """
        if self.persons is None:
            return np.ones(self.row_count)
        rows = np.bincount(self.persons)
        return np.asarray(np.where(rows > 1, _ROUNDED_DOWN / rows, 1.0)[self.persons])

    def _by_person(self, *rows: Any) -> tuple[Any, ...]:
        """Return arrays of rows ordered by person, and number the persons."""
        if self.persons is None:
            return rows
        persons = person_numbers(self.persons, rows[0].shape[0])
        order = np.argsort(persons, kind="stable")
        vars(self).update(persons=frozen(persons[order]))
        return tuple(array[order] for array in rows)

    def __len__(self) -> int:
        if self.persons is None:
            return self.row_count
        return int(self.persons[-1]) + 1 if self.row_count else 0

    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        rows = np.flatnonzero(mask if self.persons is None else mask[self.persons])
        taken = {name: frozen(getattr(self, name)[rows]) for name in self.row_fields}
        if self.persons is None:
            return taken
        return {**taken, "persons": frozen((np.cumsum(mask) - 1)[self.persons[rows]])}


def _stacked(parts: Sequence[Any]) -> Any:
    return sparse.vstack(parts) if sparse.issparse(parts[0]) else np.concatenate(parts)


@dataclass(frozen=True)
class DataSet:
    """Training records, and public held-out records if there are any.

    Attributes
    ----------
    name
        The user's name for it.
    train, test
        Records of one kind; `test` is None if none are held out.
    private
        Whether the training records need protection; samples and generated ones do not.
    fingerprint
        Fingerprint of registered training records, by which a store knows them; empty for others.
    """

    name: str
    train: Any
    test: Any
    private: bool
    fingerprint: str = ""


def check_alike(train: Any, test: Any) -> None:
    """Refuse held-out records that differ from the training records in kind, words, columns or shape.

    Examples
    --------
    >>> from vips_core import Images
    >>> check_alike(Images.from_images(np.eye(2), 0.5), Images.from_images(np.eye(3), 0.5))
    Traceback (most recent call last):
    ...
    ValueError: held-out records must have the same shape as the training records
    """
    if test.kind != train.kind:
        raise ValueError(f"held-out records must be {train.kind}, like the training records, got {test.kind}")
    name = test.public_fields[0]
    if getattr(train, name) != getattr(test, name):
        raise ValueError(
            f"held-out records must have the same {name.replace('_', ' ')} as the training records"
        )


def person_numbers(identifiers: Any, rows: int) -> NDArray[np.int64]:
    """Number persons from 0 in the order of their first rows; `ValueError` if a row has no person.

    Parameters
    ----------
    identifiers
        One per row: text or whole numbers, as `identities` takes them.
    rows
        The number of rows.

    Examples
    --------
    >>> person_numbers(["ann", "007", 7, "ann"], rows=4)
    array([0, 1, 1, 0])
    """
    import pandas as pd  # here: it is slow to import, and most records have no persons

    if np.ndim(identifiers) != 1 or len(identifiers) != rows:
        raise ValueError(
            f"persons must be {rows} identifiers, one per row, got shape {np.shape(identifiers)}"
        )
    plain = isinstance(identifiers, np.ndarray) and identifiers.dtype.kind in "iu"  # nothing to spell
    numbers, _ = pd.factorize(identifiers if plain else identities(identifiers))
    missing = numbers < 0
    if missing.any():
        raise ValueError(f"each row must name its person, but {missing.sum()} of {rows} rows do not")
    return np.asarray(numbers, np.int64)


def frozen(array: Any) -> Any:
    """Make an array (or those of a CSR array) read-only and return it; the caller must be its only owner."""
    for part in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
        part.setflags(write=False)
    return array


def owned(array: NDArray[Any], dtype: DTypeLike) -> Any:
    """Return the array in this type and read-only; a copy, unless it is both already."""
    ready = array.dtype == dtype and array.base is None and not array.flags.writeable
    return array if ready else frozen(array.astype(dtype))


def unique_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Return names as a tuple; refuse an empty list and duplicates."""
    names = tuple(names)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} must hold at least one name and only strings, got {validate.few(names)}")
    name, times = _commonest(names)
    if times > 1:
        raise ValueError(f"{what} must not repeat a name, got {validate.shown(name)} {times} times")
    return names


@functools.lru_cache(maxsize=64)  # all slices of a data set share their names
def _commonest(names: tuple[str, ...]) -> tuple[str, int]:
    return Counter(names).most_common(1)[0]


def numbers(values: Any, what: str) -> Array:
    """Return values as a new float64 array; missing ones (pandas or masked) become NaN."""
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind in ("c", "m", "M"):  # NumPy would drop an imaginary part, and count nanoseconds of dates
        raise ValueError(f"{what} must be numbers, got {values.dtype}")
    try:
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float64), np.nan)
        plain = values.to_numpy(np.float64, na_value=np.nan) if hasattr(values, "to_numpy") else values
        return np.array(plain, dtype=np.float64, order="C")  # kernels assume this order
    except (TypeError, ValueError, OverflowError):  # a whole number may be larger than any float
        raise ValueError(f"{what} must be numbers{_which(_no_number(values), values)}") from None


def sparse_rows(matrix: Any) -> Any:
    """Return a sparse matrix as new float64 rows; duplicate entries are summed as float64."""
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"x must be numbers, got {matrix.dtype}")
    rows = sparse.csr_array(matrix.astype(np.float64))
    rows.check_format()  # kernels trust its indices
    return rows


def _no_number(values: Any) -> NDArray[np.bool_]:
    def is_wrong(value: Any) -> bool:
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return isinstance(value, str | int)  # others may be missing
        return False

    return np.array([is_wrong(value) for value in np.ravel(np.asarray(values, dtype=object))], np.bool_)


def _which(wrong: NDArray[np.bool_], values: Any) -> str:
    """Return the number of the first wrong entry, from 1, but not its value, which may be private.

    Where a frame is read in parts, its index tells how many rows came before.
    """
    before = getattr(getattr(values, "index", None), "start", 0)
    return f", which entry {before + int(np.argmax(wrong)) + 1:,} is not" if wrong.any() else ""


def whole_numbers(
    values: ArrayLike, what: str, dtype: DTypeLike, low: int = 0, high: int | None = None, given: Any = None
) -> Any:
    """Return values as a read-only integer array; refuse any that is not whole or not from low to high.

    `given` is the column of origin, whose index numbers the rows.
    """
    array, high = np.asarray(values), np.iinfo(dtype).max if high is None else high
    if array.size and array.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be whole numbers, got {array.dtype}")
    wrong = ~((array >= low) & (array <= high))  # also true for NaN
    if array.dtype.kind == "f":
        wrong |= array != np.floor(array)
    if wrong.any():
        raise ValueError(f"{what} must be whole numbers from {low} to {high}{_which(wrong, given)}")
    return owned(array, dtype)

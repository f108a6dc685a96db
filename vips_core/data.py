"""The three kinds of private records: word counts, labelled rows and binary images.

A data set is validated when it is made, immutable afterwards, and sliced by a boolean mask only, as a Poisson
batch is drawn. What describes the records (vocabulary, ranges, norm bound, image shape) is a public input:
nothing here is learned from the records.
"""

import copy
import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

LETTERS = re.compile(r"[^\W\d_]+")


class _Sliceable(Sized):
    """What the three kinds share: boolean slicing and splitting."""

    @abstractmethod
    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        """Return the fields of a slice that differ from this data set's."""

    def __getitem__(self, mask: NDArray[np.bool_]) -> Self:
        """Return the records where ``mask`` is true, in their order; there may be none."""
        found = np.asarray(mask)
        if found.dtype != np.bool_ or found.shape != (len(self),):
            raise ValueError(f"mask must be boolean of shape ({len(self)},), got {found.dtype} {found.shape}")
        if found.all():
            return self
        part = copy.copy(self)  # not checked again: a slice of valid records is valid, even when empty
        vars(part).update(self._take(found))
        return part

    def split(self, test_share: float, seed: int) -> tuple[Self, Self]:
        """Return disjoint (train, test) records; the test part is drawn without replacement by ``seed``."""
        size = round(len(self) * test_share) if 0 < test_share < 1 else 0
        if not 0 < size < len(self):
            raise ValueError(f"test_share must split the {len(self)} records in two, got {test_share}")
        in_test = np.zeros(len(self), dtype=np.bool_)
        in_test[np.random.default_rng(seed).permutation(len(self))[:size]] = True
        return self[~in_test], self[in_test]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(_Sliceable):
    """Word counts per document, in compressed sparse rows. A document may be empty."""

    indptr: NDArray[np.int64]  # document d owns the entries indptr[d]:indptr[d + 1]
    indices: NDArray[np.int32]  # word numbers, increasing within a document
    counts: NDArray[np.int32]  # at least 1
    vocabulary: tuple[str, ...]

    def __post_init__(self) -> None:
        words = _unique_names(self.vocabulary, "vocabulary")
        indptr = _whole(self.indptr, "indptr", np.int64)
        indices = _whole(self.indices, "indices", np.int32, high=len(words) - 1)
        counts = _whole(self.counts, "counts", np.int32, low=1)
        if indptr.ndim != 1 or len(indptr) < 2:
            raise ValueError(f"a corpus needs at least one document, got indptr of shape {indptr.shape}")
        if indices.ndim != 1 or indices.shape != counts.shape:
            raise ValueError(f"indices and counts must be equally long, got {indices.shape}, {counts.shape}")
        if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
            raise ValueError(f"indptr must rise from 0 to the number of entries, {len(indices)}")
        rising = np.ones(len(indices), dtype=np.bool_)
        rising[1:] = indices[1:] > indices[:-1]
        rising[indptr[:-1][indptr[:-1] < len(indices)]] = True
        if not rising.all():
            raise ValueError("indices must increase within each document")
        vars(self).update(indptr=indptr, indices=indices, counts=counts, vocabulary=words)

    @classmethod
    def from_counts(cls, matrix: Any, vocabulary: Iterable[str]) -> Self:
        """Make a corpus from a documents × words matrix of counts, dense or scipy sparse."""
        words = tuple(vocabulary)
        matrix = matrix if sparse.issparse(matrix) else _numbers(matrix, "counts")
        if matrix.ndim != 2 or matrix.shape[1] != len(words):
            raise ValueError(f"counts must be documents × {len(words)} words, got shape {matrix.shape}")
        rows = sparse.csr_array(matrix, copy=True)
        rows.data = _whole(rows.data, "counts", np.int64, high=np.iinfo(np.int32).max).copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return cls(rows.indptr, rows.indices, rows.data, words)

    @classmethod
    def from_texts(cls, texts: Iterable[str], vocabulary: Iterable[str]) -> Self:
        """Count the public words in each text; all other words are dropped."""
        if isinstance(texts, str):
            raise ValueError("texts must be a sequence of strings, got one string")
        words = tuple(vocabulary)
        for word in words:
            if not LETTERS.fullmatch(word) or word != word.lower():
                raise ValueError(f"vocabulary must hold words of lower-case letters, got {word!r}")
        number = {word: index for index, word in enumerate(words)}
        found = []
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(f"texts must be strings, got {text!r}")
            found.append([number[token] for token in LETTERS.findall(text.lower()) if token in number])
        rows = np.repeat(np.arange(len(found)), [len(part) for part in found])
        columns = np.fromiter(chain.from_iterable(found), dtype=np.int64, count=len(rows))
        entries = np.ones_like(rows), (rows, columns)
        return cls.from_counts(sparse.coo_array(entries, (len(found), len(words))), words)

    @property
    def words(self) -> NDArray[np.int64]:
        """The number of words in each document."""
        totals = np.zeros(len(self), dtype=np.int64)
        filled = self.indptr[1:] > self.indptr[:-1]
        totals[filled] = np.add.reduceat(self.counts, self.indptr[:-1][filled], dtype=np.int64)
        return totals

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        starts, lengths = self.indptr[:-1][mask], np.diff(self.indptr)[mask]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        taken = {"indptr": indptr, "indices": self.indices[entries], "counts": self.counts[entries]}
        return {name: _frozen(array) for name, array in taken.items()}


@dataclass(frozen=True, eq=False, repr=False)
class LabelledRows(_Sliceable):
    """Feature rows with 0/1 labels. A row longer than the public norm bound is scaled down to it."""

    x: Any  # (rows, features) float64, an array or a scipy CSR array
    y: NDArray[np.uint8]
    feature_names: tuple[str, ...]
    norm_bound: float
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # public, of `from_frame`

    def __post_init__(self) -> None:
        names = _unique_names(self.feature_names, "feature_names")
        bound = float(self.norm_bound)
        if not 0 < bound < math.inf:
            raise ValueError(f"norm_bound must be positive and finite, got {self.norm_bound}")
        x = self.x if sparse.issparse(self.x) else _numbers(self.x, "x")
        y = _whole(_numbers(self.y, "labels"), "labels", np.uint8, high=1)
        if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] != len(names):
            raise ValueError(f"x must be one or more rows × {len(names)} features, got shape {x.shape}")
        if y.shape != (x.shape[0],):
            raise ValueError(f"labels must have shape ({x.shape[0]},), got {y.shape}")
        vars(self).update(x=_bounded(x, bound), y=y, feature_names=names, norm_bound=bound)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str,
        ranges: Mapping[str, tuple[float, float]],
        norm_bound: float | None = None,
        may_be_missing: Collection[str] = (),
    ) -> Self:
        """Make rows from the columns of a pandas frame that have a public range.

        Each column is mapped from its (low, high) to [0, 1] and clipped. A constant column "intercept" comes
        first. A column in ``may_be_missing`` is 0 where it is missing, and a column "<name> missing" after it
        is 1 there. Without ``norm_bound`` it is the worst case for these columns, and no row is scaled down.
        """
        absent = [name for name in (target, *ranges) if name not in frame.columns]
        if absent:
            raise ValueError(f"the frame lacks the columns {absent}")
        if target in ranges:
            raise ValueError(f"the target {target!r} is not a predictor and must not have a range")
        undeclared = [name for name in may_be_missing if name not in ranges]
        if undeclared:
            raise ValueError(f"may_be_missing names columns without a range: {undeclared}")
        columns = [("intercept", np.ones(len(frame)))]
        for name, (low, high) in ranges.items():
            if not -math.inf < low < high < math.inf:
                raise ValueError(f"the range of {name!r} must be finite with low < high, got ({low}, {high})")
            values = _numbers(frame[name], f"column {name!r}")
            missing = np.isnan(values)
            if np.isinf(values).any() or (missing.any() and name not in may_be_missing):
                raise ValueError(f"column {name!r} must be finite, or in may_be_missing if it can be missing")
            columns.append((name, np.where(missing, 0.0, np.clip((values - low) / (high - low), 0.0, 1.0))))
            if name in may_be_missing:
                columns.append((f"{name} missing", missing.astype(np.float64)))
        names, arrays = zip(*columns, strict=True)
        # A value and its missing indicator are never both non-zero.
        bound = math.sqrt(1 + len(ranges)) if norm_bound is None else norm_bound
        return cls(np.column_stack(arrays), frame[target], names, bound, dict(ranges))

    def __len__(self) -> int:
        return len(self.y)

    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        return {"x": _frozen(self.x[np.flatnonzero(mask)]), "y": _frozen(self.y[mask])}


@dataclass(frozen=True, eq=False, repr=False)
class BinaryRows(_Sliceable):
    """Binary images, eight pixels to a byte as by ``np.packbits``; unused last bits are 0."""

    bits: NDArray[np.uint8]  # (images, height · width / 8 rounded up)
    shape: tuple[int, int]  # (height, width)

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise ValueError(f"shape must be (height, width) of at least 1 each, got {self.shape}")
        shape, bits = (int(self.shape[0]), int(self.shape[1])), np.asarray(self.bits)
        pixels = shape[0] * shape[1]
        width = -(-pixels // 8)
        if bits.dtype != np.uint8 or bits.ndim != 2 or len(bits) < 1 or bits.shape[1] != width:
            raise ValueError(f"bits must be uint8, one or more × {width}, got {bits.dtype} {bits.shape}")
        if pixels % 8 and (bits[:, -1] & (0xFF >> pixels % 8)).any():
            raise ValueError("bits after the last pixel must be 0")
        vars(self).update(bits=_owned(bits, np.uint8), shape=shape)

    @classmethod
    def from_images(cls, array: ArrayLike, threshold: float) -> Self:
        """Make rows from grey images (n × height × width, or n × pixels): 1 where above ``threshold``."""
        images = np.asarray(array)
        if images.ndim not in (2, 3):
            raise ValueError(f"images must be n × height × width or n × pixels, got shape {images.shape}")
        if images.dtype.kind not in "biuf" or not np.isfinite(images).all():
            raise ValueError(f"images must be finite numbers, got {images.dtype} with other values")
        shape = (1, images.shape[1]) if images.ndim == 2 else (images.shape[1], images.shape[2])
        return cls(np.packbits((images > threshold).reshape(len(images), shape[0] * shape[1]), axis=1), shape)

    def unpack(self, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return the pixels as an images × (height · width) array of zeros and ones."""
        return np.unpackbits(self.bits, axis=1, count=self.shape[0] * self.shape[1]).astype(dtype)

    def __len__(self) -> int:
        return len(self.bits)

    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        return {"bits": _frozen(self.bits[mask])}


def _frozen(array: Any) -> Any:
    """Make an array (or the arrays of a CSR array) that nobody else holds read-only, and return it."""
    for part in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
        part.setflags(write=False)
    return array


def _owned(array: NDArray[Any], dtype: DTypeLike) -> Any:
    """Return a read-only array of this type: the same one if it is that already, otherwise a copy."""
    ready = array.dtype == dtype and array.base is None and not array.flags.writeable
    return array if ready else _frozen(array.astype(dtype))


def _unique_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    names = tuple(names)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} must hold at least one name and only strings, got {names[:3]}")
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{what} must hold different names, got {name!r} {times} times")
    return names


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    """Return values as a new float64 array; missing values of a pandas column become NaN."""
    try:
        plain = values.to_numpy(np.float64, na_value=np.nan) if hasattr(values, "to_numpy") else values
        return np.array(plain, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers") from None


def _whole(values: ArrayLike, what: str, dtype: DTypeLike, low: int = 0, high: int | None = None) -> Any:
    """Return values as a read-only integer array, if they are whole and from low to high."""
    array, high = np.asarray(values), np.iinfo(dtype).max if high is None else high
    if array.size and array.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be whole numbers, got {array.dtype}")
    wrong = ~((array >= low) & (array <= high))  # also true for NaN
    if array.dtype.kind == "f":
        wrong |= array != np.floor(array)
    if wrong.any():
        raise ValueError(f"{what} must be whole numbers from {low} to {high}, got {array[wrong][0]:g}")
    return _owned(array, dtype)


def _bounded(x: Any, bound: float) -> Any:
    """Return float64 rows, frozen, those longer than the bound scaled down to it."""
    if sparse.issparse(x):
        x = sparse.csr_array(x, dtype=np.float64, copy=True)
        x.sum_duplicates()
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt((x * x).sum(axis=1))
    if not np.isfinite(norms).all():
        raise ValueError(f"x must be finite, got a row of norm {norms[~np.isfinite(norms)][0]}")
    if (norms > bound).any():
        scale = bound / np.maximum(norms, bound)
        x = sparse.csr_array(sparse.diags_array(scale) @ x) if sparse.issparse(x) else x * scale[:, None]
    return _frozen(x)

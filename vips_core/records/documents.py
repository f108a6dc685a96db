"""Documents as word counts."""

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vips_core.records.base import Records, frozen, numbers, person_numbers, unique_names, whole_numbers

LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, eq=False, repr=False)
class Documents(Records):
    """Word counts per document, in compressed sparse rows. A document may be empty.

    Parameters
    ----------
    indptr
        Document d owns the entries indptr[d]:indptr[d + 1].
    indices
        Word numbers, increasing within a document.
    counts
        At least 1 each.
    vocabulary
        The public words.

    Examples
    --------
    >>> corpus = Documents.from_texts(["Tea, and tea again.", "Milk?"], vocabulary=["milk", "tea"])
    >>> len(corpus), corpus.counts, corpus.words
    (2, array([2, 1], dtype=int32), array([2, 1]))

    If a person may have written several documents, a record is a person:

    >>> texts, authors = ["Tea?", "No tea", "Milk"], ["ann", "bob", "ann"]
    >>> Documents.from_texts(texts, ["milk", "tea"], authors).words
    array([2, 1])
    """

    kind: ClassVar[str] = "documents"
    public_fields: ClassVar[tuple[str, ...]] = ("vocabulary",)

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    counts: NDArray[np.int32]
    vocabulary: tuple[str, ...]

    def __post_init__(self) -> None:
        public = self.checked_public(vars(self))
        words = public["vocabulary"]
        indptr = whole_numbers(self.indptr, "indptr", np.int64)
        indices = whole_numbers(self.indices, "indices", np.int32, high=len(words) - 1)
        counts = whole_numbers(self.counts, "counts", np.int32, low=1)
        if indptr.ndim != 1 or len(indptr) < 2:
            raise ValueError(f"there must be at least one document, got indptr of shape {indptr.shape}")
        if indices.ndim != 1 or indices.shape != counts.shape:
            raise ValueError(
                f"indices and counts must have the same length, got {indices.shape} and {counts.shape}"
            )
        if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
            raise ValueError(f"indptr must increase from 0 to the number of entries, {len(indices)}")
        vars(self).update(public, indptr=indptr, indices=indices, counts=counts)
        if not self._matrix().has_canonical_format:
            raise ValueError("indices must increase within each document")

    @classmethod
    def from_counts(cls, matrix: Any, vocabulary: Iterable[str], persons: Any = None) -> Self:
        """Make documents from a matrix of counts.

        Parameters
        ----------
        matrix
            Documents × words, dense or scipy sparse.
        vocabulary
            The public words, one per column.
        persons
            Author of each document, if authors may have several: these become one bag of words.

        Returns
        -------
        Documents
            The same counts, summed for each person.

        Examples
        --------
        >>> Documents.from_counts([[2, 0], [1, 3]], ["milk", "tea"]).words
        array([2, 4])
        """
        words = tuple(vocabulary)
        matrix = sparse.coo_array(matrix if sparse.issparse(matrix) else numbers(matrix, "counts"), copy=True)
        if matrix.ndim != 2 or matrix.shape[1] != len(words):
            raise ValueError(f"counts must be documents × {len(words)} words, got shape {matrix.shape}")
        # Checked and widened before duplicate entries are summed: 8-bit counts would overflow.
        matrix.data = whole_numbers(matrix.data, "counts", np.int64, high=np.iinfo(np.int32).max)
        if persons is not None:
            person_of = person_numbers(persons, matrix.shape[0])
            entries = matrix.data, (person_of[matrix.row], matrix.col)
            matrix = sparse.coo_array(entries, (person_of.max(initial=-1) + 1, len(words)))
        rows = sparse.csr_array(matrix)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return cls(rows.indptr, rows.indices, rows.data, words)

    @classmethod
    def from_texts(cls, texts: Iterable[str], vocabulary: Iterable[str], persons: Any = None) -> Self:
        """Count the public words in each text; all other words are dropped.

        Parameters
        ----------
        texts
            One string per document.
        vocabulary
            The public words, in lower-case letters.
        persons
            Author of each text, if authors may have several: these become one bag of words.

        Returns
        -------
        Documents
            One document per text, or per person.

        Examples
        --------
        >>> Documents.from_texts(["Tea for two"], ["tea"]).words
        array([1])
        """
        if isinstance(texts, str):
            raise ValueError("texts must be a sequence of strings, got one string")
        words = tuple(vocabulary)
        for place, word in enumerate(words, 1):
            if not isinstance(word, str) or not LETTERS.fullmatch(word) or word != word.lower():
                raise ValueError(
                    f"vocabulary must hold words of lower-case letters, but word {place} is not one"
                )
        number = {word: index for index, word in enumerate(words)}
        columns, ends = array("q"), array("q")  # compact, unlike lists: there may be millions
        for place, text in enumerate(texts, 1):
            if not isinstance(text, str):
                raise ValueError(f"texts must be strings, but text {place} is {type(text).__name__}")
            plain = unicodedata.normalize("NFC", text).lower()  # some systems write é as e plus an accent
            columns.extend([number[token] for token in LETTERS.findall(plain) if token in number])
            ends.append(len(columns))
        rows = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        entries = np.ones_like(rows), (rows, np.frombuffer(columns, np.int64))
        return cls.from_counts(sparse.coo_array(entries, (len(ends), len(words))), words, persons)

    def adversarial(self, count: int, rng: np.random.Generator) -> Self:
        """Return synthetic documents of one repeated word each: large, and as different as possible.

        Parameters
        ----------
        count
            Number of documents; beyond the size of the vocabulary, words are used again.
        rng
            Chooses the words.

        Examples
        --------
        >>> corpus = Documents.from_texts(["Tea"], vocabulary=["milk", "tea"])
        >>> corpus.adversarial(2, np.random.default_rng(0)).words
        array([1000, 1000])
        """
        words = np.resize(rng.permutation(len(self.vocabulary)), count).astype(np.int32)
        return type(self)(np.arange(count + 1), words, np.full(count, 1000, np.int32), self.vocabulary)

    @staticmethod
    def checked_public(public: Mapping[str, Any]) -> dict[str, Any]:
        """Return the vocabulary, which repeats no word."""
        return {"vocabulary": unique_names(public["vocabulary"], "vocabulary")}

    def arrays(self) -> dict[str, Any]:
        """Return the compressed sparse rows in the smallest types that hold them."""
        rows = {name: getattr(self, name) for name in ("indptr", "indices", "counts")}
        return {name: array.astype(np.min_scalar_type(array.max(initial=0))) for name, array in rows.items()}

    def row_bytes(self) -> Iterator[bytes]:
        """Return the words and counts of each document."""
        pairs = np.column_stack([self.indices, self.counts])
        for start, stop in zip(self.indptr[:-1], self.indptr[1:], strict=True):
            yield pairs[start:stop].tobytes()

    @classmethod
    def concatenated(cls, parts: Sequence[Self], persons: Any) -> Self:
        """Return one bag of words for each person."""
        counts = sparse.vstack([part._matrix() for part in parts])
        return cls.from_counts(counts, parts[0].vocabulary, persons)

    def _matrix(self) -> Any:
        shape = len(self), len(self.vocabulary)
        return sparse.csr_array((self.counts, self.indices, self.indptr), shape)

    @property
    def words(self) -> NDArray[np.int64]:
        """The number of words in each document."""
        return np.asarray(self._matrix().sum(axis=1), np.int64)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def _take(self, mask: NDArray[np.bool_]) -> Mapping[str, Any]:
        starts, lengths = self.indptr[:-1][mask], np.diff(self.indptr)[mask]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.repeat(starts - indptr[:-1], lengths)
        entries += np.arange(indptr[-1])
        taken = {"indptr": indptr, "indices": self.indices[entries], "counts": self.counts[entries]}
        return {name: frozen(array) for name, array in taken.items()}

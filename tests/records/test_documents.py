"""Corpora: what they accept, refuse and keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from tests.records.words import WORDS, dense, held_arrays
from vips_core.records import Documents


@given(arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 3)))
def test_corpus_keeps_any_counts(matrix):
    words = tuple(f"w{i}" for i in range(matrix.shape[1]))
    for given_as in (matrix, matrix.astype(float), sparse.coo_array(matrix), sparse.lil_array(matrix)):
        corpus = Documents.from_counts(given_as, words)
        np.testing.assert_array_equal(dense(corpus), matrix)
        np.testing.assert_array_equal(corpus.words, matrix.sum(axis=1))
        assert (corpus.counts > 0).all()


def test_corpus_sums_duplicates_sorts_and_drops_zeros():
    matrix = sparse.csr_array(([1, 2, 0, 4], [2, 0, 1, 2], [0, 4, 4]), shape=(2, 3))
    corpus = Documents.from_counts(matrix, WORDS)
    assert corpus.indices.tolist() == [0, 2]
    assert corpus.counts.tolist() == [2, 5]
    assert corpus.indptr.tolist() == [0, 2, 2]
    assert [a.dtype for a in held_arrays(corpus)] == [np.int64, np.int32, np.int32]
    assert matrix.nnz == 4, "the matrix given was changed"


def test_corpus_adds_up_small_integers_without_overflow():
    matrix = sparse.coo_array((np.array([200, 200], np.uint8), ([0, 0], [1, 1])), shape=(1, 3))
    assert dense(Documents.from_counts(matrix, WORDS)).tolist() == [[0, 400, 0]]


def test_corpus_of_texts_counts_public_words_only():
    corpus = Documents.from_texts(["The CAT, the cat's dog2dog!", "", "Nothing known."], WORDS)
    assert dense(corpus).tolist() == [[2, 2, 0], [0, 0, 0], [0, 0, 0]]
    assert corpus.vocabulary == WORDS


def test_letters_with_accents_are_found_however_they_are_written():
    texts = ["Un \u00e9t\u00e9", "Un e\u0301te\u0301"]
    assert dense(Documents.from_texts(texts, ["\u00e9t\u00e9", "te"])).tolist() == [[1, 0], [1, 0]]


def test_corpus_does_not_share_arrays_that_can_be_written():
    indptr, indices, counts = np.array([0, 1]), np.array([0], np.int32), np.array([2], np.int32)
    corpus = Documents(indptr, indices, counts, WORDS)
    counts[0] = 9
    assert corpus.counts.tolist() == [2]
    assert Documents(indptr, corpus.indices, corpus.counts, WORDS).counts is corpus.counts


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (([0], [], [], WORDS), "there must be at least one document"),
        (([0, 2], [0], [1], WORDS), "indptr must increase from 0 to the number of entries, 1"),
        (([1, 1], [0], [1], WORDS), "indptr must increase from 0"),
        (([0, 2, 1, 3], [0, 1, 2], [1, 1, 1], WORDS), "indptr must increase from 0"),
        (([0, 1], [3], [1], WORDS), "indices must be whole numbers from 0 to 2, which entry 1 is not"),
        (([0, 1], [-1], [1], WORDS), "indices must be whole numbers from 0 to 2, which entry 1 is not"),
        (
            ([0, 1], [0], [0], WORDS),
            "counts must be whole numbers from 1 to 2147483647, which entry 1 is not",
        ),
        (([0, 1], [0, 1], [1], WORDS), "indices and counts must have the same length"),
        (([0, 2], [1, 0], [1, 1], WORDS), "indices must increase within each document"),
        (([0, 2], [1, 1], [1, 1], WORDS), "indices must increase within each document"),
        (([0, 1], [0], [1], ()), "vocabulary must hold at least one name"),
        (([0, 1], [0], [1], ("cat", 3)), "vocabulary must hold at least one name and only strings"),
        (([0, 1], [0], [1], ("cat", "cat")), "vocabulary must not repeat a name, got 'cat' 2 times"),
    ],
)
def test_corpus_refuses_broken_arrays(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        Documents(*fields)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[1, np.nan, 0]], "counts must be whole numbers from 0 to 2147483647, which entry 2 is not"),
        ([[1, np.inf, 0]], "counts must be whole numbers .* which entry 2 is not"),
        ([[1, -2, 0]], "counts must be whole numbers .* which entry 2 is not"),
        ([[1, 0.5, 0]], "counts must be whole numbers .* which entry 2 is not"),
        ([[1, 3e9, 0]], "counts must be whole numbers .* which entry 2 is not"),
        (sparse.csr_array([[1.0, -2.0, 0.0]]), "counts must be whole numbers .* which entry 2 is not"),
        ([["a", "b", "c"]], "counts must be numbers"),
        ([[1, 2]], r"counts must be documents × 3 words, got shape \(1, 2\)"),
        ([1, 2, 3], r"counts must be documents × 3 words, got shape \(3,\)"),
        (np.zeros((0, 3)), "there must be at least one document"),
    ],
)
def test_corpus_refuses_bad_counts(matrix, sentence):
    with pytest.raises(ValueError, match=sentence):
        Documents.from_counts(matrix, WORDS)


@pytest.mark.parametrize(
    ("texts", "vocabulary", "sentence"),
    [
        ("one text", WORDS, "texts must be a sequence of strings, got one string"),
        (["a", None], WORDS, "texts must be strings, but text 2 is NoneType"),
        ([], WORDS, "there must be at least one document"),
        (["a"], ("Cat",), "vocabulary must hold words of lower-case letters, but word 1 is not one"),
        (["a"], ("new york",), "vocabulary must hold words of lower-case letters, but word 1 is not one"),
    ],
)
def test_corpus_refuses_bad_texts(texts, vocabulary, sentence):
    with pytest.raises(ValueError, match=sentence):
        Documents.from_texts(texts, vocabulary)

"""Scores of topics against slow twins and brute force."""

import math

import numpy as np
import pytest

from tests import reference
from tests.models.lda.documents import ALPHA, TOPICS, corpus_of, dense, random_counts, random_lam
from vips_core.models.lda.scores import (
    halves,
    match_topics,
    npmi_coherence,
    topic_perplexity,
    unigram_perplexity,
)
from vips_core.records import Documents


def test_bound_perplexity_matches_the_slow_twin():
    matrix, lam = random_counts(15), random_lam()
    total = 0.0
    for row in matrix:
        gamma = reference.lda_document(row, lam, ALPHA, 200)[0]
        total += reference.lda_bound(row, gamma, lam, ALPHA)
    expected = math.exp(-total / matrix.sum())
    assert topic_perplexity(lam, ALPHA, corpus_of(matrix), "bound") == pytest.approx(expected, rel=1e-3)


def test_completion_perplexity_matches_brute_force():
    matrix, lam = random_counts(15), random_lam()
    seen, scored = halves(corpus_of(matrix), 3)
    total = 0.0
    beta = lam / lam.sum(axis=1, keepdims=True)
    for first, second in zip(dense(seen), dense(scored), strict=True):
        gamma = reference.lda_document(first, lam, ALPHA, 200)[0]
        total += second @ np.log(gamma / gamma.sum() @ beta)
    expected = math.exp(-total / dense(scored).sum())
    found = topic_perplexity(lam, ALPHA, corpus_of(matrix), "completion", seed=3)
    assert found == pytest.approx(expected, rel=1e-3)


def test_halves_split_every_document():
    matrix = random_counts()
    first, second = (dense(part) for part in halves(corpus_of(matrix), 0))
    assert (first + second == matrix).all()
    assert (first.sum(axis=1) == (matrix.sum(axis=1) + 1) // 2).all()
    assert (first >= 0).all()
    assert (second >= 0).all()
    assert (first != dense(halves(corpus_of(matrix), 1)[0])).any()


def test_one_topic_of_the_unigram_has_the_unigram_perplexity():
    matrix = random_counts()
    counts = matrix.sum(axis=0)
    lam = np.tile((counts + 0.5) * 1e6, (2, 1))
    corpus = corpus_of(matrix)
    assert topic_perplexity(lam, 1.0, corpus) == pytest.approx(unigram_perplexity(counts, corpus), rel=1e-4)
    shares = (counts + 0.5) / (counts + 0.5).sum()
    expected = math.exp(-(counts @ np.log(shares)) / counts.sum())
    assert unigram_perplexity(counts, corpus, "bound") == pytest.approx(expected)


def test_npmi_matches_brute_force():
    matrix = (random_counts(60) > 0).astype(int)
    topics = random_lam()
    size, smoothing = len(matrix), 1 / len(matrix)
    for topic, found in zip(topics, npmi_coherence(topics, corpus_of(matrix), 4), strict=True):
        best = np.argsort(-topic)[:4]
        scores = []
        for i in range(4):
            for j in range(i):
                joint = ((matrix[:, best[i]] & matrix[:, best[j]]).sum() + smoothing) / size
                single = matrix[:, best[i]].mean() * matrix[:, best[j]].mean()
                scores.append(math.log(joint / single) / -math.log(joint))
        assert found == pytest.approx(np.mean(scores))


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[1, 1, 0]], 0),  # both words in all documents: together no more often than by chance
        ([[1, 1, 0]] * 1000, 0),
        ([[1, 1, 0], [0, 0, 1]], 1),
        ([[0, 0, 1]] * 3, -1),  # words that never occur do not co-occur
        ([[1, 0, 0]] * 3, -1),
    ],
)
def test_npmi_stays_between_its_ends(matrix, expected):
    topic = np.array([[0.5, 0.4, 0.1]])
    corpus = Documents.from_counts(matrix, ["a", "b", "c"])
    assert npmi_coherence(topic, corpus, 2) == pytest.approx(expected)


def test_matching_finds_a_permutation():
    topics = random_lam()
    order = np.array([3, 0, 4, 1, 2])
    partner, overlap = match_topics(topics, topics[order] * 7)
    assert (order[partner] == np.arange(TOPICS)).all()
    np.testing.assert_allclose(overlap, 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: topic_perplexity(random_lam(), 0.1, corpus_of(random_counts()), "guess"),
            "kind must be one of bound, completion, got 'guess'",
        ),
        (
            lambda: topic_perplexity(random_lam(words=9), 0.1, corpus_of(random_counts())),
            "corpus must have the model's 9 words, got 30",
        ),
        (
            lambda: npmi_coherence(random_lam(), corpus_of(random_counts()), 1),
            "top must be a whole number of at least 2 and at most 30, got 1",
        ),
        (
            lambda: match_topics(random_lam(), random_lam(words=9)),
            r"models must agree in topics and words, got \(5, 30\) and \(5, 9\)",
        ),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make()

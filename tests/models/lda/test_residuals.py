"""Refined topics measure residuals: their bounds, and the counts recovered from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference
from tests.models.lda.documents import ALPHA, TOPICS, WORDS, corpus_of, random_counts, random_lam
from vips_core.models.lda.constants import CONSTANTS
from vips_core.models.lda.empirical_bayes import Measurement
from vips_core.models.lda.kernels import expected_rows, topic_word_sums
from vips_core.models.lda.model import LDA
from vips_core.privacy.blocks import Block
from vips_core.privacy.noise import grid_step

GRID = 2.0**-30


def residuals_of(corpus, lam, measurement, bound=1e9, grid=GRID, words=10**6, sweeps=12):
    model = LDA(len(lam), corpus.vocabulary, words, alpha=ALPHA, sweeps=sweeps, tolerance=0.0)
    rows, block = expected_rows(lam), Block(bound, shape=lam.shape, grid=grid)
    return topic_word_sums(model, corpus, rows, block, residuals=measurement.of_rows(rows))


def random_measurement(seed, shape=(TOPICS, WORDS)):
    """Return weights and expectations of any size: bounds must hold even if these are wrong."""
    rng = np.random.default_rng(seed)
    return Measurement(rng.gamma(0.5, 2, shape), rng.gamma(0.3, 1, shape))


@pytest.mark.parametrize("bound", [1e9, 2.0])
def test_residuals_match_the_slow_twin(bound):
    matrix, lam, measurement = random_counts(), random_lam(), random_measurement(5)
    scaled = [row * min(1, 7 / row.sum()) for row in matrix if row.any()]
    expected = sum(
        reference.lda_clipped(
            measurement.weights
            * (reference.lda_document(row, lam, ALPHA, 12)[1] - row * measurement.expected),
            bound,
        )
        for row in scaled
    )
    found = residuals_of(corpus_of(matrix), lam, measurement, bound, words=7)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 2000), min_size=WORDS, max_size=WORDS),
    seed=st.integers(0, 10**6),
    spread=st.floats(0.01, 8),
    bound=st.floats(1e-3, 1e3),
    learned=st.booleans(),
)
def test_one_document_moves_the_residuals_by_at_most_the_bound(counts, seed, spread, bound, learned):
    rng = np.random.default_rng(seed)
    lam = np.exp(spread * rng.normal(size=(TOPICS, WORDS))) + 1e-6
    shares = rng.dirichlet(np.full(WORDS, 0.3)) + 1e-6
    measurement = (
        Measurement.of_residuals(lam, shares, 1e-3, CONSTANTS) if learned else random_measurement(seed)
    )
    others = random_counts(seed=seed % 7)
    with_it = residuals_of(corpus_of(np.vstack([others, counts])), lam, measurement, bound, words=50)
    without = residuals_of(corpus_of(others), lam, measurement, bound, words=50)
    assert np.linalg.norm(with_it - without) <= bound
    assert not np.remainder(with_it, GRID).any()


@pytest.mark.parametrize("bound", [1e-200, 1e-40, 1.0, 1e30])
@pytest.mark.parametrize("weight", [1e-30, 1e-20, 1.0, 1e20, 1e36])
def test_residuals_of_any_size_are_within_bounds_of_any_size(bound, weight):
    lam, corpus, measurement = random_lam(), corpus_of(random_counts()), random_measurement(2)
    measurement = Measurement(measurement.weights * weight, measurement.expected)
    for start in range(len(corpus)):
        alone = corpus[np.arange(len(corpus)) == start]
        sums = residuals_of(alone, lam, measurement, bound, grid_step(bound, bound, 1))
        assert np.linalg.norm(sums / bound) <= 1


def test_what_was_expected_exactly_adds_nothing_and_a_lost_document_takes_nothing_from_others():
    matrix, lam = random_counts(), random_lam()
    same = np.tile(lam.sum(axis=0), (TOPICS, 1))  # every topic has the same words, so φ is θ
    flat = Measurement(np.ones_like(lam), np.full_like(lam, 1 / TOPICS))
    np.testing.assert_allclose(residuals_of(corpus_of(matrix), same, flat, sweeps=1), 0, atol=1e-3)
    measurement = random_measurement(1)
    measurement.weights[2, 3] = np.nan  # of one word: every document that has it is lost, and no other
    others = matrix[matrix[:, 3] == 0]
    assert 0 < len(others) < len(matrix)
    found, expected = (residuals_of(corpus_of(some), lam, measurement, 2.0) for some in (matrix, others))
    assert np.array_equal(found, expected)
    assert np.any(found)


def test_counts_come_back_from_their_residuals():
    matrix, lam = random_counts(400), random_lam()
    corpus, counts = corpus_of(matrix), matrix.sum(axis=0)
    shares = counts / counts.sum()
    exact = Measurement.of_counts(TOPICS, WORDS)
    truth = residuals_of(corpus, lam, exact)
    for measurement in (
        exact,
        Measurement.of_residuals(lam, shares, 1e-9, CONSTANTS),
    ):
        total = residuals_of(corpus, lam, measurement) * 0.3  # as if clipping had scaled them by this factor
        found, noise, scale = measurement.to_word_counts(total, 1.5, shares, float(counts.sum()))
        np.testing.assert_allclose(found, truth, rtol=1e-3, atol=0.01)
        np.testing.assert_allclose(noise, 1.5 * scale / measurement.weights)
        assert scale == pytest.approx(1 / 0.3, rel=1e-3)


def test_a_word_is_expected_as_far_as_its_count_is_known():
    measurement = Measurement.of_residuals(
        np.array([[3.0, 3, 3], [1, 1, 1]]), np.array([0.6, 0.3, 0.1]), 0.1, CONSTANTS
    )
    known = measurement.expected.sum(axis=0)
    assert np.all(np.diff(known) < 0)
    assert known[2] == pytest.approx(0.9 / 11)
    np.testing.assert_allclose(measurement.expected, known * np.array([[0.75], [0.25]]))
    assert np.all(measurement.weights[0] < measurement.weights[1])  # the smaller cell weighs more


def test_same_bits_for_any_number_of_threads(monkeypatch):
    corpus, lam = corpus_of(random_counts(1200)), random_lam()
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        found.append(residuals_of(corpus, lam, random_measurement(0), 2.0, words=40))
    assert all((one == found[0]).all() for one in found)

"""LDA kernels against slow twins, and their bounds."""

import numba as nb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference
from tests.models.lda.documents import ALPHA, TOPICS, WORDS, corpus_of, random_counts, random_lam
from vips_core.kernels.simd import WIDTH
from vips_core.models.lda.completion_kernels import halve
from vips_core.models.lda.document_kernels import GROUP, read_resampled
from vips_core.models.lda.kernels import (
    completion_sums,
    expected_rows,
    infer_gammas,
    topic_word_sums,
    word_sums,
)
from vips_core.models.lda.model import LDA
from vips_core.privacy.blocks import Block
from vips_core.privacy.noise import grid_step

GRID = 2.0**-30


def sums_of(corpus, lam, bound=1e9, grid=GRID, words=10**6, resampled=False, **changes):
    options = {"alpha": ALPHA, "sweeps": 12, "tolerance": 0.0} | changes
    model = LDA(len(lam), corpus.vocabulary, words, **options)
    block = Block(bound, shape=lam.shape, grid=grid)
    return topic_word_sums(model, corpus, expected_rows(lam), block, resampled=resampled)


def resampled_counts(counts, draws, seed=0):
    words = np.flatnonzero(counts).astype(np.int32)
    different, drawn = np.empty_like(words), np.empty(len(words), np.float32)
    used = read_resampled(words, counts[words].astype(np.int32), draws, seed, different, drawn)
    full = np.zeros(len(counts))
    full[different[:used]] = drawn[:used]
    return full


@pytest.mark.parametrize("bound", [1e9, 2.0])
def test_sums_match_the_slow_twin(bound):
    matrix, lam = random_counts(), random_lam()
    expected = sum(
        reference.lda_clipped(reference.lda_document(row, lam, ALPHA, 12)[1], bound)
        for row in matrix
        if row.any()
    )
    found = sums_of(corpus_of(matrix), lam, bound)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_sums_of_scaled_documents_match_the_slow_twin():
    matrix, lam = random_counts(), random_lam()
    scaled = [row * min(1, 7 / row.sum()) for row in matrix if row.any()]
    expected = sum(reference.lda_document(row, lam, ALPHA, 12)[1] for row in scaled)
    np.testing.assert_allclose(sums_of(corpus_of(matrix), lam, words=7), expected, rtol=1e-3, atol=1e-4)


def test_sums_of_resampled_documents_match_the_slow_twin():
    matrix, lam = random_counts(), random_lam()
    drawn = [resampled_counts(row, 25, seed=9) for row in matrix if row.any()]
    expected = sum(reference.lda_document(row, lam, ALPHA, 12)[1] for row in drawn)
    found = sums_of(corpus_of(matrix), lam, words=25, resampled=True, seed=9)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_word_sums_match_plain_arithmetic():
    matrix = random_counts()
    expected = np.zeros(WORDS)
    for row in matrix[matrix.any(axis=1)]:
        scaled = row * min(1, 20 / row.sum())
        expected += scaled * min(1, 3 / np.linalg.norm(scaled))
    np.testing.assert_allclose(word_sums(corpus_of(matrix), words=20, block=Block(3.0)), expected, rtol=1e-4)


def test_gammas_match_the_slow_twin():
    matrix, lam = random_counts(), random_lam()
    found = infer_gammas(corpus_of(matrix), expected_rows(lam), TOPICS, ALPHA, 12, 0.0)
    expected = [reference.lda_document(row, lam, ALPHA, 12)[0] for row in matrix]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.08, 0.1, 0.12, 0.5])
def test_sharp_topics_match_the_slow_twin(alpha):
    rng = np.random.default_rng(3)
    lam = rng.gamma(0.2, 50, (9, WORDS)) + 0.01  # sharp topics, few of which a document keeps
    mixtures = rng.dirichlet(np.full(9, 0.1), 30) @ (lam / lam.sum(axis=1, keepdims=True))
    matrix = np.array([rng.multinomial(3000, row / row.sum()) for row in mixtures])
    found = infer_gammas(corpus_of(matrix), expected_rows(lam), 9, alpha, 60, 0.0)
    expected = [reference.lda_document(row, lam, alpha, 60)[0] for row in matrix]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("topics", [17, 50])
@pytest.mark.parametrize("length", [3, 40, 150])
def test_topics_without_words_may_be_left_out(topics, length):
    rng = np.random.default_rng(length)
    lam = rng.gamma(0.1, 50, (topics, 400)) + 0.02
    mixtures = rng.dirichlet(np.full(topics, 0.1), 6) @ (lam / lam.sum(axis=1, keepdims=True))
    matrix = np.array([rng.multinomial(length, row / row.sum()) for row in mixtures])
    for sweeps in (1, 3, 25):
        found = infer_gammas(corpus_of(matrix), expected_rows(lam), topics, 1 / topics, sweeps, 0.0)
        expected = [reference.lda_document(row, lam, 1 / topics, sweeps)[0] for row in matrix]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)
        np.testing.assert_allclose(found.sum(axis=1), length + 1, rtol=1e-5)


@pytest.mark.parametrize("topics", [8, 30])
def test_twelve_sweeps_reach_the_bound_of_twenty_plain_ones(topics):
    rng = np.random.default_rng(topics)
    lam = rng.gamma(0.1, 50, (topics, 300)) + 0.02
    mixtures = rng.dirichlet(np.full(topics, 0.1), 8) @ (lam / lam.sum(axis=1, keepdims=True))
    matrix = np.array([rng.multinomial(100, row / row.sum()) for row in mixtures])

    def bound_of(gammas):
        return sum(
            reference.lda_bound(row, own, lam, 1 / topics) for row, own in zip(matrix, gammas, strict=True)
        )

    def plain(sweeps):
        return [reference.lda_document(row, lam, 1 / topics, sweeps, plain=True)[0] for row in matrix]

    found = bound_of(infer_gammas(corpus_of(matrix), expected_rows(lam), topics, 1 / topics, 12, 0.0))
    assert bound_of(plain(12)) < bound_of(plain(20)) < found + 0.05  # about 4,000; optima may differ


def test_the_early_end_changes_little():
    corpus, lam = corpus_of(random_counts()), random_lam()
    np.testing.assert_allclose(
        sums_of(corpus, lam, sweeps=1000, tolerance=1e-5), sums_of(corpus, lam, sweeps=1000), atol=0.02
    )


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 2000), min_size=WORDS, max_size=WORDS),
    seed=st.integers(0, 10**6),
    spread=st.floats(0.01, 8),
    bound=st.floats(1e-3, 1e3),
    resampled=st.booleans(),
)
def test_one_document_moves_the_sums_by_at_most_the_bound(counts, seed, spread, bound, resampled):
    rng = np.random.default_rng(seed)
    lam = np.exp(spread * rng.normal(size=(TOPICS, WORDS))) + 1e-6
    others = random_counts(seed=seed % 7)
    options = {"words": 50, "resampled": resampled}
    with_it = sums_of(corpus_of(np.vstack([others, counts])), lam, bound, **options)
    without = sums_of(corpus_of(others), lam, bound, **options)
    assert np.linalg.norm(with_it - without) <= bound
    assert not np.remainder(with_it, GRID).any()
    words = word_sums(corpus_of(np.vstack([others, counts])), words=50, block=Block(bound, grid=GRID))
    words -= word_sums(corpus_of(others), words=50, block=Block(bound, grid=GRID))
    assert np.linalg.norm(words) <= bound


def test_extreme_topics_stay_finite_and_bounded():
    lam = np.full((TOPICS, WORDS), 1e-8)
    lam[0, 0] = lam[1, 1] = 1e9
    found = sums_of(corpus_of(np.eye(WORDS, dtype=int) * 5000), lam, 1.0)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) <= WORDS


def test_resampling_depends_on_the_document_and_the_seed_alone():
    matrix, lam = random_counts(), random_lam()
    rows = [row for row in matrix if row.any()]
    alone = sum(sums_of(corpus_of([row]), lam, words=25, resampled=True) for row in rows)
    together = sums_of(corpus_of(rows), lam, words=25, resampled=True)
    assert np.array_equal(together, alone)
    assert (resampled_counts(rows[0], 50, 0) != resampled_counts(rows[0], 50, 1)).any()


def test_resampling_draws_the_right_number_with_the_right_shares():
    counts = np.array([1, 0, 3, 6])
    draws = np.array([resampled_counts(counts, 40, seed) for seed in range(2000)])
    assert (draws.sum(axis=1) == 40).all()
    # 2000 × 40 draws: the standard error of a share is below 0.002.
    np.testing.assert_allclose(draws.mean(axis=0) / 40, counts / 10, atol=0.008)
    variance = 40 * 0.3 * 0.7
    assert draws[:, 2].var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("resampled", [True, False])
def test_same_bits_for_any_number_of_threads(monkeypatch, resampled):
    corpus, lam = corpus_of(random_counts(300)), random_lam()
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        found.append(sums_of(corpus, lam, 2.0, words=40, resampled=resampled))
    assert all((one == found[0]).all() for one in found)


@nb.njit
def leave_nan_in_memory():
    """Fill memory of the size of a group of θ with NaN and free it, so that the next arrays use it."""
    room = np.empty(GROUP * WIDTH + 16, np.float32)
    room[:] = np.nan


def test_empty_documents_add_nothing_whatever_memory_held_before():
    matrix, lam = random_counts(), random_lam()
    with_empty = np.repeat(matrix, 2, axis=0)
    with_empty[::2] = 0  # a group's first document is empty, so nothing is written at the place of its θ
    expected = sums_of(corpus_of(matrix), lam)
    assert np.all(np.isfinite(expected))
    for _ in range(5):
        leave_nan_in_memory()
        assert np.array_equal(sums_of(corpus_of(with_empty), lam), expected)


@pytest.mark.parametrize("topics", [TOPICS, 20])
def test_a_document_that_cannot_be_computed_takes_nothing_from_others(topics):
    """For any λ, one document moves the sums by at most its own contribution."""
    matrix, lam = random_counts(), random_lam(topics=topics)
    lam[:, 3] = np.nan  # of one word: every document that has it is lost, and no other
    others = matrix[matrix[:, 3] == 0]
    assert 0 < len(others) < len(matrix)
    rows = expected_rows(np.nan_to_num(lam, nan=1.0))
    rows[3] = np.nan
    model = LDA(topics, corpus_of(matrix).vocabulary, 50, sweeps=30, tolerance=0.0)
    block = Block(2.0, shape=lam.shape, grid=GRID)
    found, expected = (
        topic_word_sums(model, corpus_of(some), rows, block, resampled=False) for some in (matrix, others)
    )
    assert np.any(expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("bound", [1e-200, 1e-40, 1e30])
def test_bounds_far_beyond_single_precision_hold(bound):
    lam, corpus = random_lam(), corpus_of(random_counts())
    for start in range(len(corpus)):
        alone = corpus[np.arange(len(corpus)) == start]
        sums = sums_of(alone, lam, bound, grid_step(bound, bound, 1))
        assert np.linalg.norm(sums / bound) <= 1
        assert np.any(sums) == np.any(alone.counts) or bound > 1  # above 1, all cells are below the grid


def test_a_document_of_more_words_than_64_bits_hold_is_drawn_from_evenly():
    words = np.arange(70_000, dtype=np.int32)
    different, drawn = np.empty_like(words), np.empty(words.size, np.float32)
    counts = np.full(words.size, 2**31 - 1, np.int32)
    used = read_resampled(words, counts, 20_000, 0, different, drawn)
    different, drawn = different[:used], drawn[:used]
    assert drawn.sum() == 20_000
    assert drawn.max() < 10
    assert drawn[different < words.size // 2].sum() == pytest.approx(10_000, abs=400)


def test_each_topic_may_have_its_own_prior():
    matrix, lam, alpha = random_counts(), random_lam(), np.array([0.01, 0.1, 0.5, 2.0, 1e-5])
    found = infer_gammas(corpus_of(matrix), expected_rows(lam), TOPICS, alpha, 12, 0.0)
    expected = [reference.lda_document(row, lam, alpha, 12)[0] for row in matrix]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


CONCENTRATIONS = (0.5, 2.0, 20.0)


def gains_of(corpus, lam, bound=1e9, own=0.7, sampled=1.0, words=10**6, **changes):
    options = {"alpha": ALPHA, "sweeps": 60, "tolerance": 0.0} | changes
    model = LDA(len(lam), corpus.vocabulary, words, **options)
    block = Block(bound, shape=(len(CONCENTRATIONS),), grid=GRID)
    return completion_sums(model, corpus, expected_rows(lam), lam, own, sampled, CONCENTRATIONS, block)


def halved(row, seed=0):
    words = np.flatnonzero(row).astype(np.int32)
    first, part = np.zeros(len(row), np.int64), np.zeros(len(words), np.int32)
    drawn = halve(words, row[words].astype(np.int32), seed, part)
    first[words] = part
    return first, drawn


@pytest.mark.parametrize("bound", [1e9, 0.01])
def test_gains_of_completion_match_the_slow_twin(bound):
    matrix, lam = random_counts(), random_lam() * 20
    priors = [c * lam.sum(axis=1) / lam.sum() for c in CONCENTRATIONS]
    expected = np.zeros(len(CONCENTRATIONS))
    for row in matrix:
        first, _ = halved(row)
        if first.any() and (row - first).any():
            gains = reference.lda_gains(row, first, lam, ALPHA, priors, 0.7, lam.min(), 30, 60)
            expected += gains * min(1, bound / np.linalg.norm(gains))
    np.testing.assert_allclose(gains_of(corpus_of(matrix), lam, bound, words=30), expected, rtol=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 2000), min_size=WORDS, max_size=WORDS),
    seed=st.integers(0, 10**6),
    spread=st.floats(0.01, 8),
    bound=st.floats(1e-3, 1e3),
    own=st.floats(0, 1e6),
)
def test_one_document_moves_the_gains_by_at_most_the_bound(counts, seed, spread, bound, own):
    rng = np.random.default_rng(seed)
    lam = np.exp(spread * rng.normal(size=(TOPICS, WORDS))) + 1e-6
    others = random_counts(seed=seed % 7)
    with_it = gains_of(corpus_of(np.vstack([others, counts])), lam, bound, own, words=50)
    without = gains_of(corpus_of(others), lam, bound, own, words=50)
    assert np.linalg.norm(with_it - without) <= bound
    assert not np.remainder(with_it, GRID).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_document_whose_gain_cannot_be_computed_takes_nothing_from_others(bad):
    matrix, lam = random_counts(), random_lam()
    others = matrix[matrix[:, 3] == 0]
    model = LDA(TOPICS, corpus_of(matrix).vocabulary, 50)
    block = Block(2.0, shape=(3,), grid=GRID)
    rows = expected_rows(lam)
    rows[3] = bad
    found, expected = (
        completion_sums(model, corpus_of(some), rows, lam, 1.0, 1.0, CONCENTRATIONS, block)
        for some in (matrix, others)
    )
    assert np.isfinite(found).all()
    lost = len(matrix) - len(others)
    assert np.linalg.norm(found - expected) <= 2.0 * lost


def test_halves_are_drawn_by_the_document_and_the_seed_alone():
    row = np.array([0, 1, 2, 7, 64, 1001])
    first, drawn = zip(*(halved(row, seed) for seed in range(2000)), strict=True)
    np.testing.assert_array_equal(halved(row, 5)[0], first[5])
    mean, variance = np.mean(first, axis=0), np.var(first, axis=0)
    np.testing.assert_allclose(mean[:5], row[:5] / 2, atol=0.4)
    np.testing.assert_allclose(variance[:5], row[:5] / 4, rtol=0.15)
    assert (mean[5], variance[5]) == (500, 0)
    assert (np.max(first, axis=0) <= row).all()
    assert np.mean(np.array(drawn) < 0.25) == pytest.approx(0.25, abs=0.03)


def test_a_sample_of_documents_is_drawn_one_by_one():
    matrix, lam = random_counts(300), random_lam()
    sampled = [row for row in matrix if row.any() and halved(row)[1] < 0.3]
    assert 40 < len(sampled) < 140
    some, kept = gains_of(corpus_of(matrix), lam, sampled=0.3), gains_of(corpus_of(sampled), lam)
    np.testing.assert_array_equal(some, kept)


def test_gains_have_the_same_bits_for_any_number_of_threads(monkeypatch):
    corpus, lam = corpus_of(random_counts(1200)), random_lam()
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        found.append(gains_of(corpus, lam, 2.0, words=40))
    assert all((one == found[0]).all() for one in found)

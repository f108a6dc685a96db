"""Empirical Bayes of topics: shares of words, the semantic prior and mixture priors."""

from dataclasses import replace

import numpy as np
import pytest

from tests import reference
from vips_core.kernels.pool import one_thread
from vips_core.models.lda.constants import CONSTANTS
from vips_core.models.lda.empirical_bayes import (
    SemanticPrior,
    mixture_prior,
    semantic_features,
    shrink,
    word_shares,
)
from vips_core.records.english import english_words, word_vectors

WORDS = 4_000
NOISE = 60.0
VOCABULARY = english_words()[:1_500]
FEATURES = semantic_features(VOCABULARY)
TOPICS = 6


def shares_of(counts, noise, vocabulary):
    return word_shares(counts, noise, vocabulary, CONSTANTS)


def zipf_counts(rng):
    """Return counts of the first words of English, about as frequent as their rank implies."""
    return 40_000 / (np.arange(WORDS) + 10) * rng.gamma(2, 1 / 2, WORDS)


def surprise(found, counts):
    """Return the Kullback–Leibler divergence of the true shares from their estimates."""
    true = counts / counts.sum()
    return float(true @ np.log(true / found))


def unheard_of(words):
    return tuple(f"unheardof{number}" for number in range(words))


def test_a_vocabulary_in_any_order_does_about_as_well_as_one_by_frequency():
    rng = np.random.default_rng(0)
    vocabulary, counts = np.array(english_words()[:WORDS]), zipf_counts(rng)
    noisy, by_letter = counts + rng.normal(0, NOISE, WORDS), np.argsort(vocabulary)
    best, _ = shares_of(noisy, NOISE, tuple(vocabulary.tolist()))
    sorted_by_letter, _ = shares_of(noisy[by_letter], NOISE, tuple(vocabulary[by_letter].tolist()))
    unknown, _ = shares_of(noisy[by_letter], NOISE, unheard_of(WORDS))
    assert surprise(sorted_by_letter, counts[by_letter]) < 1.1 * surprise(best, counts)
    assert surprise(best, counts) < 0.7 * surprise(unknown, counts[by_letter])


def test_the_vocabularys_own_order_is_of_use_where_english_misleads():
    rng = np.random.default_rng(1)
    vocabulary, counts = np.array(english_words()[:WORDS]), zipf_counts(rng)
    noisy = counts + rng.normal(0, NOISE, WORDS)
    shuffled = tuple(rng.permutation(vocabulary).tolist())  # frequency here differs from English
    misled, _ = shares_of(noisy, NOISE, shuffled)
    alone, _ = shares_of(noisy, NOISE, unheard_of(WORDS))
    assert surprise(misled, counts) < 1.05 * surprise(alone, counts)


def test_what_words_mean_tells_how_frequent_they_are():
    rng = np.random.default_rng(2)
    vocabulary = tuple(sorted(english_words()[:WORDS]))
    vectors = word_vectors(vocabulary)
    counts = 40 * np.exp(vectors @ rng.normal(0, 2, vectors.shape[1]))
    noisy = counts + rng.normal(0, NOISE, WORDS)
    found, blind = (shares_of(noisy, NOISE, words)[0] for words in (vocabulary, unheard_of(WORDS)))
    assert surprise(found, counts) < 0.5 * surprise(blind, counts)


def test_counts_without_noise_are_their_shares():
    counts = zipf_counts(np.random.default_rng(2)) + 5  # every share is above the floor
    found, share_std = shares_of(counts, 0.0, tuple(sorted(english_words()[:WORDS])))
    np.testing.assert_allclose(found, counts / counts.sum(), rtol=1e-12)
    assert share_std == 0


def test_no_words_at_all_have_equal_shares():
    found, share_std = shares_of(np.zeros(4), 0.0, english_words()[:4])
    np.testing.assert_array_equal(found, np.full(4, 0.25))
    assert share_std == 0


@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e9])
def test_shares_are_positive_and_sum_to_one_whatever_the_noise(noise):
    rng = np.random.default_rng(3)
    noisy = rng.normal(0, noise, 300)
    found, _ = shares_of(noisy, noise, english_words()[:300])
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1)


def true_ratios(rng):
    slopes = rng.normal(0, 1.5, (TOPICS, FEATURES.shape[1]))
    slopes[:, 0] = 0
    return np.exp(slopes @ FEATURES.T)


def fitted(cells, noise, iterations=12):
    noise = np.broadcast_to(noise, cells.shape)
    return SemanticPrior.flat(len(cells), FEATURES).fit(cells, noise, FEATURES, iterations, CONSTANTS)


def test_slopes_are_found_through_noise_that_hides_every_cell():
    rng = np.random.default_rng(0)
    ratios = true_ratios(rng)
    noise = 2 * np.median(ratios)
    prior = fitted(ratios + rng.normal(0, noise, ratios.shape), noise)
    error = np.log(prior.ratios(FEATURES, CONSTANTS) / ratios).std()
    assert error < 0.4 * np.log(ratios).std()


def test_less_noise_tells_more():
    rng = np.random.default_rng(1)
    ratios, draws = true_ratios(rng), rng.normal(size=(TOPICS, len(VOCABULARY)))
    errors = [
        np.log(fitted(ratios + noise * draws, noise).ratios(FEATURES, CONSTANTS) / ratios).std()
        for noise in (0.01, 1.0, 10.0)
    ]
    assert errors == sorted(errors)


def test_nothing_is_expected_where_meaning_says_nothing():
    rng = np.random.default_rng(2)
    cells = 1 + rng.normal(0, 3.0, (TOPICS, len(VOCABULARY)))
    prior = fitted(cells, 3.0, 40)
    assert np.abs(np.log(prior.ratios(FEATURES, CONSTANTS))).mean() < 0.15


def test_how_far_cells_are_from_what_is_expected_is_learned():
    rng = np.random.default_rng(3)
    ratios = true_ratios(rng)
    noise = 0.1 * ratios
    near, far = (
        fitted(
            ratios * rng.gamma(shape, 1 / shape, ratios.shape) + noise * rng.normal(size=ratios.shape), noise
        )
        for shape in (4.0, 0.5)
    )
    assert near.cell_variance == pytest.approx(0.25, rel=0.3)
    assert far.cell_variance == pytest.approx(2.0, rel=0.5)


@pytest.mark.parametrize("noise", [1e-12, 1.0, 1e12])
def test_ratios_are_bounded_whatever_the_cells(noise):
    rng = np.random.default_rng(4)
    cells = rng.normal(0, 1e6, (TOPICS, len(VOCABULARY)))
    ratios = fitted(cells, noise).ratios(FEATURES, CONSTANTS)
    assert np.isfinite(ratios).all()
    assert np.abs(np.log(ratios)).max() <= CONSTANTS.largest_log * (1 + 1e-12)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(5)
    cells = rng.normal(1, 1, (TOPICS, len(VOCABULARY)))
    several = fitted(cells, 1.0)
    with one_thread():
        alone = fitted(cells, 1.0)
    np.testing.assert_array_equal(several.slopes, alone.slopes)
    assert (several.slope_variance, several.cell_variance) == (alone.slope_variance, alone.cell_variance)


def test_features_are_of_known_words_and_whether_words_are_known():
    directions = word_vectors(VOCABULARY).shape[1]
    assert semantic_features(("wqxz1", "wqxz2")).shape == (2, 1)
    mixed = semantic_features(("doctor", "nurse", "wqxz1"))
    assert mixed.shape == (3, directions + 2)
    np.testing.assert_array_equal(mixed[:, -1], [0, 0, 1])
    assert not mixed[2, 1:-1].any()


def test_vectors_of_words_that_occur_together_are_alike():
    pairs = [("doctor", "nurse"), ("guitar", "piano"), ("soldier", "army"), ("bread", "cheese")]
    first, second = (word_vectors(words) for words in zip(*pairs, strict=True))
    products = first @ second.T
    assert (np.diag(products) > products.max(axis=1, where=~np.eye(4, dtype=bool), initial=-9)).all()


@pytest.mark.parametrize("noise_std", [0.3, 2.0])
@pytest.mark.parametrize("noisy", [0.5, 4.0, 9.0])
def test_shrinkage_is_the_posterior_mean(noisy, noise_std):
    # Far from 0, the truncation of bumps at 0 does not matter.
    constants, mixture = replace(CONSTANTS, grid=(2.0, 5.0, 3)), np.array([0.5, 0.3, 0.2])
    cell = np.array([[noisy]]), np.array([[1.5]]), np.array([noise_std])
    estimate, updated = shrink(*cell, mixture[None], 1, constants)
    assert estimate[0, 0] == pytest.approx(
        reference.shrunk(noisy, 1.5, noise_std, mixture, constants.bumps), rel=0.02
    )
    assert updated.sum() == pytest.approx(1)


def test_shrinkage_learns_sparsity_and_keeps_exact_cells():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random((20, 500)) < 0.1, 10.0, 0.1)
    mean, flat = np.ones((20, 500)), np.full((20, 18), 1 / 18)
    noisy = truth + rng.normal(size=truth.shape)
    estimate, _ = shrink(noisy, mean, np.ones(500), flat, 20, CONSTANTS)
    assert ((estimate - truth) ** 2).mean() < 0.4 * ((noisy - truth) ** 2).mean()
    exact, _ = shrink(truth, mean, np.zeros(500), flat, 1, CONSTANTS)
    np.testing.assert_allclose(exact, truth, rtol=1e-5)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 1_100])
def test_any_number_of_columns_is_shrunk_alike(columns):
    rng = np.random.default_rng(columns)
    noisy, mean, noise = rng.normal(1, 1, (3, columns)), *rng.gamma(2, 1, (2, 3, columns))
    prior = mixture_prior(3, CONSTANTS)
    estimate, learned = shrink(noisy, mean, noise, prior, 1, CONSTANTS)
    truth, cells = reference.shrunk_cells(noisy, mean, noise, prior, CONSTANTS.bumps)
    np.testing.assert_allclose(estimate, truth, rtol=2e-5, atol=1e-9)
    cells += 1e-3
    np.testing.assert_allclose(learned, cells / cells.sum(axis=1, keepdims=True), rtol=1e-4)


def test_a_prior_of_another_shape_is_refused():
    ones = np.ones((3, 40))
    with pytest.raises(ValueError, match=r"must have the shape \(3, 18\), got \(2, 18\)"):
        shrink(ones, ones, ones, mixture_prior(2, CONSTANTS), 1, CONSTANTS)

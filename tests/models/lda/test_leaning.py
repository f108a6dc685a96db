"""Leanings of topics: found where words' meaning tells them, and left alone where it does not."""

import numpy as np
import pytest

from vips_core.kernels.pool import one_thread
from vips_core.models.lda.leaning import LARGEST_LOG, learned, no_leaning, word_features
from vips_core.records.english import english_words, word_vectors

VOCABULARY = english_words()[:1_500]
FEATURES = word_features(VOCABULARY)
TOPICS = 6


def true_ratios(rng):
    slopes = rng.normal(0, 1.5, (TOPICS, FEATURES.shape[1]))
    slopes[:, 0] = 0
    return np.exp(slopes @ FEATURES.T)


def fitted(cells, noise, iterations=12):
    noise = np.broadcast_to(noise, cells.shape)
    return learned(no_leaning(len(cells), FEATURES), cells, noise, FEATURES, iterations)


def test_slopes_are_found_through_noise_that_hides_every_cell():
    rng = np.random.default_rng(0)
    ratios = true_ratios(rng)
    noise = 2 * np.median(ratios)
    leaning = fitted(ratios + rng.normal(0, noise, ratios.shape), noise)
    error = np.log(leaning.ratios(FEATURES) / ratios).std()
    assert error < 0.4 * np.log(ratios).std()


def test_less_noise_tells_more():
    rng = np.random.default_rng(1)
    ratios, draws = true_ratios(rng), rng.normal(size=(TOPICS, len(VOCABULARY)))
    errors = [
        np.log(fitted(ratios + noise * draws, noise).ratios(FEATURES) / ratios).std()
        for noise in (0.01, 1.0, 10.0)
    ]
    assert errors == sorted(errors)


def test_nothing_is_expected_where_meaning_says_nothing():
    rng = np.random.default_rng(2)
    cells = 1 + rng.normal(0, 3.0, (TOPICS, len(VOCABULARY)))
    leaning = fitted(cells, 3.0, 40)
    assert np.abs(np.log(leaning.ratios(FEATURES))).mean() < 0.15


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
    ratios = fitted(cells, noise).ratios(FEATURES)
    assert np.isfinite(ratios).all()
    assert np.abs(np.log(ratios)).max() <= LARGEST_LOG * (1 + 1e-12)


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
    assert word_features(("wqxz1", "wqxz2")).shape == (2, 1)
    mixed = word_features(("doctor", "nurse", "wqxz1"))
    assert mixed.shape == (3, directions + 2)
    np.testing.assert_array_equal(mixed[:, -1], [0, 0, 1])
    assert not mixed[2, 1:-1].any()


def test_vectors_of_words_that_occur_together_are_alike():
    pairs = [("doctor", "nurse"), ("guitar", "piano"), ("soldier", "army"), ("bread", "cheese")]
    first, second = (word_vectors(words) for words in zip(*pairs, strict=True))
    products = first @ second.T
    assert (np.diag(products) > products.max(axis=1, where=~np.eye(4, dtype=bool), initial=-9)).all()

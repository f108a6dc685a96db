"""Shares of words: what is publicly known of words helps as far as the released counts bear it out."""

import numpy as np
import pytest

from vips_core.models.lda.priors import GROUPS, frequency_groups
from vips_core.models.lda.word_shares import shares
from vips_core.records.english import english_words, word_vectors

WORDS = 4_000
NOISE = 60.0


def zipf_counts(rng):
    """Counts of the first words of English, about as frequent as their place says."""
    return 40_000 / (np.arange(WORDS) + 10) * rng.gamma(2, 1 / 2, WORDS)


def surprise(found, counts):
    """Mean logarithm by which a word is less expected than its true share."""
    true = counts / counts.sum()
    return float(true @ np.log(true / found))


def unheard_of(words):
    return tuple(f"unheardof{number}" for number in range(words))


def test_a_vocabulary_in_any_order_does_about_as_well_as_one_by_frequency():
    rng = np.random.default_rng(0)
    vocabulary, counts = np.array(english_words()[:WORDS]), zipf_counts(rng)
    noisy, by_letter = counts + rng.normal(0, NOISE, WORDS), np.argsort(vocabulary)
    best, _ = shares(noisy, NOISE, tuple(vocabulary.tolist()))
    sorted_by_letter, _ = shares(noisy[by_letter], NOISE, tuple(vocabulary[by_letter].tolist()))
    unknown, _ = shares(noisy[by_letter], NOISE, unheard_of(WORDS))
    assert surprise(sorted_by_letter, counts[by_letter]) < 1.1 * surprise(best, counts)
    assert surprise(best, counts) < 0.7 * surprise(unknown, counts[by_letter])


def test_the_vocabularys_own_order_is_of_use_where_english_misleads():
    rng = np.random.default_rng(1)
    vocabulary, counts = np.array(english_words()[:WORDS]), zipf_counts(rng)
    noisy = counts + rng.normal(0, NOISE, WORDS)
    shuffled = tuple(rng.permutation(vocabulary).tolist())  # frequent here is another thing than in English
    misled, _ = shares(noisy, NOISE, shuffled)
    alone, _ = shares(noisy, NOISE, unheard_of(WORDS))
    assert surprise(misled, counts) < 1.05 * surprise(alone, counts)


def test_what_words_mean_tells_how_frequent_they_are():
    rng = np.random.default_rng(2)
    vocabulary = tuple(sorted(english_words()[:WORDS]))
    vectors = word_vectors(vocabulary)
    counts = 40 * np.exp(vectors @ rng.normal(0, 2, vectors.shape[1]))
    noisy = counts + rng.normal(0, NOISE, WORDS)
    found, blind = (shares(noisy, NOISE, words)[0] for words in (vocabulary, unheard_of(WORDS)))
    assert surprise(found, counts) < 0.5 * surprise(blind, counts)


def test_counts_without_noise_are_their_shares():
    counts = zipf_counts(np.random.default_rng(2)) + 5  # no share is as small as the least that is told
    found, share_std = shares(counts, 0.0, tuple(sorted(english_words()[:WORDS])))
    np.testing.assert_allclose(found, counts / counts.sum(), rtol=1e-12)
    assert share_std == 0


def test_no_words_at_all_have_equal_shares():
    found, share_std = shares(np.zeros(4), 0.0, english_words()[:4])
    np.testing.assert_array_equal(found, np.full(4, 0.25))
    assert share_std == 0


@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e9])
def test_shares_are_positive_and_sum_to_one_whatever_the_noise(noise):
    rng = np.random.default_rng(3)
    noisy = rng.normal(0, noise, 300)
    found, _ = shares(noisy, noise, english_words()[:300])
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize(("words", "groups"), [(1, 1), (2, 1), (99, 1), (101, 2), (801, GROUPS)])
def test_few_words_have_few_groups(words, groups):
    found = frequency_groups(np.random.default_rng(0).random(words))
    assert len(found) == words
    assert found.max() + 1 == groups

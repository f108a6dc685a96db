"""Shares of words: which words are alike is public, and the released counts say which knowledge fits."""

import math

import numpy as np
import pytest

from vips_core.data.english import english_words
from vips_core.models.lda.priors import GROUPS
from vips_core.models.lda.word_shares import public_orders, shares

WORDS = 4_000
NOISE = 60.0


def zipf_counts(rng):
    """Counts of the first words of English, about as frequent as their place says."""
    return 40_000 / (np.arange(WORDS) + 10) * rng.gamma(2, 1 / 2, WORDS)


def surprise(found, counts):
    """Mean logarithm by which a word is less expected than its true share."""
    true = counts / counts.sum()
    return float(true @ np.log(true / found))


def test_a_vocabulary_in_any_order_does_as_well_as_one_by_frequency():
    rng = np.random.default_rng(0)
    vocabulary, counts = np.array(english_words()[:WORDS]), zipf_counts(rng)
    noisy = counts + rng.normal(0, NOISE, WORDS)
    sorted_by_letter = np.argsort(vocabulary)
    neighbours, by_frequency = public_orders(vocabulary[sorted_by_letter].tolist())
    (as_it_is,) = public_orders(vocabulary.tolist())
    best, _ = shares(noisy, NOISE, [as_it_is])
    chosen, _ = shares(noisy[sorted_by_letter], NOISE, [neighbours, by_frequency])
    letters_only, _ = shares(noisy[sorted_by_letter], NOISE, [neighbours])
    np.testing.assert_allclose(chosen, best[sorted_by_letter], rtol=1e-9)
    assert surprise(best, counts) < 0.7 * surprise(letters_only, counts[sorted_by_letter])


def test_the_vocabularys_own_order_wins_where_it_says_more():
    rng = np.random.default_rng(1)
    vocabulary, counts = np.array(english_words()[:WORDS]), zipf_counts(rng)
    shuffled = rng.permutation(vocabulary).tolist()  # frequent here is another thing than in English
    noisy = counts + rng.normal(0, NOISE, WORDS)
    neighbours, by_frequency = public_orders(shuffled)
    chosen, _ = shares(noisy, NOISE, [neighbours, by_frequency])
    alone, _ = shares(noisy, NOISE, [neighbours])
    np.testing.assert_array_equal(chosen, alone)
    misled, _ = shares(noisy, NOISE, [by_frequency])
    assert surprise(chosen, counts) < surprise(misled, counts)


def test_counts_without_noise_are_their_shares_whatever_the_order():
    counts = zipf_counts(np.random.default_rng(2)) + 5  # no share is as small as the least that is told
    found, share_std = shares(counts, 0.0, public_orders(sorted(english_words()[:WORDS])))
    np.testing.assert_allclose(found, counts / counts.sum(), rtol=1e-6)
    assert share_std == 0


def test_groups_are_equal_and_unknown_words_come_last_in_their_order():
    vocabulary = [
        *(f"unheardof{number}" for number in range(WORDS // 2)),
        *english_words()[: WORDS // 2][::-1],
    ]
    neighbours, by_frequency = public_orders(vocabulary)
    for groups in (neighbours, by_frequency):
        np.testing.assert_array_equal(np.bincount(groups), np.full(GROUPS, WORDS // GROUPS))
    assert by_frequency[-1] == 0  # the most frequent word of English
    unknown = by_frequency[: WORDS // 2]
    assert unknown.min() == GROUPS // 2
    assert (np.diff(unknown) >= 0).all()


@pytest.mark.parametrize("words", [1, 2, 99, 801])
def test_few_words_have_few_groups(words):
    for groups in public_orders([f"w{number}" for number in range(words)]):
        assert groups.max() + 1 == max(1, math.ceil(min(GROUPS, words * GROUPS / max(words, 800))))
        assert len(groups) == words

"""Priors of noisy cells: posterior means, classes of columns, and topics that are split."""

from dataclasses import replace

import numpy as np
import pytest

from tests import reference
from vips_core.models.lda.priors import TOPIC_GRID, WORD_GRID, topic_prior, word_prior
from vips_core.models.lda.shrink import Prior, shrink
from vips_core.models.lda.split import apart, first_generation, parents, part_sizes


@pytest.mark.parametrize("noise_std", [0.3, 2.0])
@pytest.mark.parametrize("noisy", [0.5, 4.0, 9.0])
def test_shrinkage_is_the_posterior_mean(noisy, noise_std):
    # At grid points far from 0 the bumps' truncation at 0 does not matter.
    grid, mixture = np.array([2.0, 3.0, 5.0]), np.array([0.5, 0.3, 0.2])
    arguments = (np.array([[noisy]]), np.array([[1.5]]), np.array([noise_std]), np.zeros(1, np.int64))
    estimate, updated = shrink(*arguments, Prior(mixture[None, None], np.ones((1, 1))), grid, 1)
    assert estimate[0, 0] == pytest.approx(reference.shrunk(noisy, 1.5, noise_std, mixture, grid), rel=0.02)
    assert updated.mixture.sum() == pytest.approx(1)
    assert updated.shares == pytest.approx(1)


def test_shrinkage_learns_sparsity_and_keeps_exact_cells():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random((20, 500)) < 0.1, 10.0, 0.1)
    groups, mean = np.zeros(500, np.int64), np.ones((20, 500))
    flat = Prior(np.full((20, 1, 18), 1 / 18), np.ones((1, 1)))
    noisy = truth + rng.normal(size=truth.shape)
    estimate, _ = shrink(noisy, mean, np.ones(500), groups, flat, TOPIC_GRID, 20)
    assert ((estimate - truth) ** 2).mean() < 0.4 * ((noisy - truth) ** 2).mean()
    exact, _ = shrink(truth, mean, np.zeros(500), groups, flat, TOPIC_GRID, 1)
    np.testing.assert_allclose(exact, truth, rtol=1e-5)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 1_100])
def test_any_number_of_columns_is_shrunk_alike(columns):
    rng = np.random.default_rng(columns)
    noisy, mean = rng.normal(1, 1, (3, columns)), rng.gamma(2, 1, (3, columns))
    noise, groups, prior = rng.gamma(2, 1, (3, columns)), rng.integers(8, size=columns), topic_prior(3)
    estimate, learned = shrink(noisy, mean, noise, groups, prior, TOPIC_GRID, 1)
    truth, cells, classes = reference.shrunk_cells(noisy, mean, noise, groups, prior, TOPIC_GRID)
    np.testing.assert_allclose(estimate, truth, rtol=2e-5, atol=1e-9)
    cells += 1e-3
    classes += 1
    np.testing.assert_allclose(learned.mixture, cells / cells.sum(axis=2, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(learned.shares, classes / classes.sum(axis=1, keepdims=True), rtol=1e-4)


def test_a_prior_of_another_shape_is_refused():
    ones = np.ones((3, 40))
    with pytest.raises(ValueError, match=r"must have the shape \(3, 4, 18\), got \(2, 4, 18\)"):
        shrink(ones, ones, ones, np.zeros(40, np.int64), topic_prior(2), TOPIC_GRID, 1)


def test_shrinkage_tells_classes_of_columns_apart():
    rng = np.random.default_rng(0)
    topical = np.arange(600) < 150  # as many in every group; the others are the same in all rows
    truth = np.where(topical & (rng.random((20, 600)) < 0.1), 8.0, np.where(topical, 0.2, 1.0))
    noisy, mean, noise = truth + rng.normal(0, 1.5, truth.shape), np.ones_like(truth), np.full(600, 1.5)
    groups, start = np.arange(600) % 2, topic_prior(20)
    alike = Prior(start.mixture.mean(axis=1, keepdims=True), np.ones((2, 1)))

    def error(prior):
        estimate, learned = shrink(noisy, mean, noise, groups, prior, TOPIC_GRID, 20)
        return ((estimate - truth) ** 2).mean(), learned

    apart, learned = error(replace(start, shares=start.shares[:2]))
    assert apart < 0.85 * error(alike)[0]
    np.testing.assert_allclose(learned.shares.sum(axis=1), 1)
    np.testing.assert_allclose(learned.mixture.sum(axis=2), 1)


def test_a_class_that_a_group_lacks_stays_lacking():
    rng = np.random.default_rng(0)
    noisy, groups = rng.gamma(1, 1, (1, 800)), np.arange(800) // 100
    _, learned = shrink(noisy, np.ones_like(noisy), np.ones(800), groups, word_prior(), WORD_GRID, 3)
    assert (learned.shares == np.eye(8)).all()


def test_always_the_topic_of_the_largest_parts_is_split():
    parent = parents(np.array([5.0, 1.0, 2.0]), 6)
    assert parent.tolist() == [0, 0, 0, 1, 2, 2]
    np.testing.assert_allclose(part_sizes(parent)[:, 0], [1 / 3] * 3 + [1] + [1 / 2] * 2)
    assert parents(np.array([1.0, 1.0]), 2).tolist() == [0, 1]


def test_parts_differ_a_little_and_the_seed_says_how():
    rows = np.ones((2, 5000))
    first, again, other = apart(rows, 0), apart(rows, 0), apart(rows, 1)
    assert (first == again).all()
    assert (first != other).any()
    assert np.corrcoef(first)[0, 1] == pytest.approx(0, abs=0.05)
    assert first.std() == pytest.approx(0.1, rel=0.05)


def test_few_topics_are_formed_at_once():
    assert [first_generation(topics) for topics in (2, 9, 10, 13, 20, 100)] == [2, 9, 5, 7, 10, 50]

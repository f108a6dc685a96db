"""A person is one record: with any rows, a person moves each block by at most its bound."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import vips_core as vips
from vips_core.models.logistic.rivals import PrivateGradientDescent
from vips_core.privacy.wall import blocks_with_noise

FEATURES, NORM = ("intercept", "a", "b", "c"), 2.0
WORDS = tuple("abcdefghij")
OTHERS = 60  # persons besides the tested one


@dataclass(frozen=True)
class Case:
    """A model, and a function that makes rows of persons for it."""

    name: str
    model: Callable[[], Any]
    records: Callable[[np.random.Generator, list[int], bool], Any]


def table(rng, persons, alike, thin=False):
    """Return rows up to the norm bound and beyond; if rows are equal, nothing cancels in their average."""
    x = rng.normal(size=(len(persons), len(FEATURES))) * rng.choice([0.1, 1, 100], (len(persons), 1))
    y = rng.integers(0, 2, len(persons))
    if alike:
        x, y = np.abs(np.broadcast_to(100 * x[:1], x.shape)), np.ones_like(y)
    x = sparse.csr_array(np.where(np.abs(x) > 0.2, x, 0)) if thin else x
    return vips.Table(x, y, FEATURES, NORM, persons=persons)


def thin_table(rng, persons, alike):
    return table(rng, persons, alike, thin=True)


def letters(rng, persons, alike):
    counts = rng.poisson(rng.choice([0.1, 1, 50], (len(persons), 1)), (len(persons), len(WORDS)))
    if alike:
        counts = np.zeros_like(counts)
        counts[:, 0] = 1000
    return vips.Documents.from_counts(counts, WORDS, persons)


def pictures(rng, persons, alike):
    images = rng.random((len(persons), 4, 4)) < rng.choice([0.0, 0.5, 1.0], (len(persons), 1, 1))
    return vips.Images.from_images(np.ones_like(images) if alike else images, 0.5, persons)


def regression(variant):
    return lambda: vips.BayesianLogistic(FEATURES, NORM, variant)


CASES = [
    Case("lda refined", lambda: vips.LDA(3, WORDS, 20), letters),
    Case("lda paper", lambda: vips.LDA(3, WORDS, 20, variant="paper"), letters),
    Case("logistic refined", regression("refined"), table),
    Case("logistic refined, sparse", regression("refined"), thin_table),
    Case("logistic paper", regression("paper"), table),
    Case("logistic paper, sparse", regression("paper"), thin_table),
    Case("DP-SGD", lambda: PrivateGradientDescent(FEATURES, NORM), table),
    Case("DP-SGD, sparse", lambda: PrivateGradientDescent(FEATURES, NORM), thin_table),
    Case("sbn refined", lambda: vips.SBN(16, 3, (4, 4)), pictures),
    Case("sbn paper", lambda: vips.SBN(16, 3, (4, 4), variant="paper"), pictures),
]
CASE = {case.name: case for case in CASES}
NOISES = (0.05, 2.0)  # little noise: the regression measures a curvature; much noise: it does not
ALL = pytest.mark.parametrize("name", CASE)


@functools.cache
def measured(name, noise):
    """Return model, parameters and blocks of each step of a run on other people."""
    case = CASE[name]
    model, people = case.model(), case.records(np.random.default_rng(5), list(range(400)), False)
    plan = vips.PrivacyPlan(records=400, expected_batch=400, steps=12, noise_multiplier=noise, delta=1e-5)
    params = [model.init(plan, np.random.default_rng(0))]
    vips.fit(model, people, plan, seed=0, on_step=lambda progress: params.append(progress.params))
    return [(model, params[step], blocks_with_noise(model.blocks(plan, step), plan)[1]) for step in range(12)]


def kinds_of_steps(name):
    """Return one early and one late step for each set of blocks."""
    for noise in NOISES:
        steps = {}
        for model, params, blocks in measured(name, noise):
            early = steps.setdefault(tuple(blocks), [(model, params, blocks)])
            early[1:] = [(model, params, blocks)]
        yield from (step for both in steps.values() for step in both)


rows_each = st.lists(st.integers(1, 30), min_size=1, max_size=4)


@ALL
@given(rows=rows_each, alike=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_person_with_any_rows_moves_a_block_by_at_most_its_bound(name, rows, alike, seed):
    """From one entry of `rows` to the next, only this person's rows are added or changed."""
    rng = np.random.default_rng(seed)
    for count in rows:
        persons = rng.permutation([0] * count + list(rng.integers(1, OTHERS, OTHERS)))
        people = CASE[name].records(rng, list(persons), alike)
        with_person = np.ones(len(people), bool)
        without = with_person.copy()
        without[list(dict.fromkeys(persons)).index(0)] = False
        for model, params, blocks in kinds_of_steps(name):
            more, less = (model.e_step(params, people[mask], blocks).sums for mask in (with_person, without))
            for block_name, block in blocks.items():
                moved = np.linalg.norm(more[block_name] - less[block_name])
                assert moved <= block.bound
                assert not np.remainder(more[block_name], block.grid).any()


@pytest.mark.parametrize("name", [name for name in CASE if not name.startswith("lda")])
def test_rows_alike_count_like_one_of_them(name):
    """Repeating a row changes almost nothing, because a person's contribution is the average over rows."""
    once = CASE[name].records(np.random.default_rng(1), [0], True)
    often = CASE[name].records(np.random.default_rng(1), [0] * 7, True)
    for model, params, blocks in kinds_of_steps(name):
        one, seven = (model.e_step(params, people, blocks).sums for people in (once, often))
        for block_name, block in blocks.items():
            assert np.linalg.norm(one[block_name]) > 0.01 * block.bound
            gap = np.abs(one[block_name] - seven[block_name]).max()
            assert gap <= 1e-3 * block.bound + 20 * block.grid


@ALL
def test_one_row_a_person_gives_the_bits_of_rows_without_persons(name):
    persons = [f"person {number}" for number in np.random.default_rng(2).permutation(50)]
    named = CASE[name].records(np.random.default_rng(3), persons, False)
    nameless = CASE[name].records(np.random.default_rng(3), persons, False)
    if not isinstance(nameless, vips.Documents):
        vars(nameless).update(persons=None)
    for model, params, blocks in kinds_of_steps(name):
        first, second = (model.e_step(params, people, blocks).sums for people in (named, nameless))
        for block_name in blocks:
            np.testing.assert_array_equal(first[block_name], second[block_name])


def test_without_the_weights_the_bound_would_not_hold():
    """The test above can fail: as records of their own, the same rows move a block far beyond its bound."""
    rows = table(np.random.default_rng(0), [0] * 20, alike=True)
    vars(rows).update(persons=None)
    for model, params, blocks in kinds_of_steps("logistic paper"):
        sums = model.e_step(params, rows, blocks).sums
        assert np.linalg.norm(sums["linear"]) > 10 * blocks["linear"].bound

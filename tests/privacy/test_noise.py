"""The wall's randomness: the right distribution on the grid, and nothing else."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from vips_core.privacy import noise
from vips_core.privacy.noise import Randomness, grid_step

STREAM = Randomness.of(seed=7)


def draws(count, std, label="draws"):
    return STREAM.derive(label).rounded_gaussian(count, std)


@pytest.mark.parametrize("std", [0.4, 2.0, 9.7])
def test_whole_numbers_have_the_probabilities_of_a_rounded_gaussian(std):
    drawn = draws(400_000, std)
    assert (drawn == np.rint(drawn)).all()
    reach = math.ceil(3 * std)
    edges = np.concatenate([[-np.inf], np.arange(-reach, reach + 1) + 0.5, [np.inf]])
    expected = np.diff(ndtr(edges / std)) * drawn.size
    counts = np.histogram(drawn, np.clip(edges, -1e9, 1e9))[0]
    assert stats.chisquare(counts, expected).pvalue > 1e-4


def test_moments_tails_and_independence():
    z = draws(1_000_000, 2.0**30) / 2**30
    count = z.size
    assert abs(z.mean()) < 4 / math.sqrt(count)
    assert abs(z.var() - 1) < 4 * math.sqrt(2 / count)
    assert abs((z**4).mean() - 3) < 4 * math.sqrt(96 / count)
    assert stats.kstest(z, "norm").pvalue > 1e-4
    for edge in (3.0, 4.0):
        expected = 2 * count * ndtr(-edge)
        assert abs((np.abs(z) > edge).sum() - expected) < 5 * math.sqrt(expected)
    for lag in (1, 2, 64):
        assert abs((z[lag:] * z[:-lag]).mean()) < 5 / math.sqrt(count)


def test_agrees_with_the_exact_discrete_gaussian_of_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.f64)
    theirs = np.array(dp.m.make_gaussian(*domain, scale=1000.0)([0] * 20_000), float)
    ours = draws(20_000, 1000.0, "opendp")
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-7  # theirs cannot be seeded


def test_what_is_decided_quickly_is_right():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, 120, dtype=np.uint64)
    tails = (2.0 ** rng.uniform(1, 63, 60)).astype(np.uint64)
    for std in (0.7, 2.0**31 - 1):
        rounded, doubtful = noise._round_quickly(np.concatenate([words, tails]), std)
        for word, quick, doubt in zip([*words, *tails], rounded, doubtful, strict=True):
            for extra in ([0, 0], [2**64 - 1, 2**64 - 1]):  # both ends of the word's interval
                assert doubt or noise._round_exactly(int(word), extra, std) == quick


def test_the_room_for_errors_of_ndtri_is_several_times_what_they_are():
    rng = np.random.default_rng(1)
    words = [*range(20), *rng.integers(0, 2**63, 200), *(2.0 ** rng.uniform(0, 63, 200)).astype(np.uint64)]
    with mpmath.workdps(50):
        for word in words:
            z = -float(ndtri((float(word) + 0.5) * 2.0**-64))
            exact, u = mpmath.mpf(z), (mpmath.mpf(int(word)) + 0.5) / mpmath.mpf(2) ** 64
            for _ in range(3):
                exact += (mpmath.ncdf(-exact) - u) / mpmath.npdf(exact)
            assert 3 * abs(float(exact - z)) < noise._NDTRI_ERROR * (1 + z / 2)


def test_doubtful_draws_are_few_and_take_the_exact_way(monkeypatch):
    asked = []
    exactly = noise._round_exactly
    monkeypatch.setattr(noise, "_round_exactly", lambda *args: asked.append(args) or exactly(*args))
    draws(300_000, 2.0**31, "doubtful")
    assert 0 < len(asked) < 60


@pytest.mark.parametrize("rate", [1e-9, 0.05, 0.5, 1 - 1e-9])
def test_coins_fall_at_their_rate(rate):
    count = 400_000
    heads = STREAM.derive("coins", str(rate)).coins(count, rate).sum()
    assert abs(heads - count * rate) <= 5 * math.sqrt(count * rate * (1 - rate)) + 1
    assert STREAM.coins(5, 1.0).all()


def test_streams_repeat_by_label_and_differ_between_labels_and_keys():
    first, again, other = (STREAM.derive("noise", step).bits(4) for step in (1, 1, 2))
    assert (first == again).all()
    assert not (first == other).any()
    assert not (Randomness.of().bits(4) == Randomness.of().bits(4)).any()
    assert not (Randomness.of(1).bits(4) == Randomness.of(2).bits(4)).any()


@pytest.mark.parametrize("seed", ["1", 1.7, -1, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got"):
        Randomness.of(seed)
    assert not (STREAM.derive("a\0", "b").bits(4) == STREAM.derive("a", "\0b").bits(4)).any()


@pytest.mark.parametrize(("std", "bound", "records"), [(1.3, 1, 10), (1e-3, 5, 10**9), (1e7, 1e-3, 3)])
def test_the_grid_is_far_below_the_noise_and_holds_every_sum(std, bound, records):
    step = grid_step(std, bound, records)
    assert math.frexp(step)[0] == 0.5  # a power of two
    assert records * bound / step <= 2**52
    assert step <= max(std * 2**-30, records * bound * 2**-51)
    assert grid_step(0.0, bound, records) <= step

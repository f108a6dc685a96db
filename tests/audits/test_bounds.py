"""Lower bounds on ε: valid, and tight where they can be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.special import ndtr, ndtri

from vips_core.audits.bounds import Rates, best_rates, one_run_epsilon, one_run_mu, rates_at
from vips_core.privacy import gaussian


def test_clopper_pearson_equals_that_of_scipy():
    exact = stats.binomtest(37, 120).proportion_ci(0.9, method="exact")
    assert Rates(37, 120, 37, 120).bounds(0.9) == pytest.approx((exact.low, exact.high))
    assert Rates(0, 50, 50, 50).bounds(0.9) == (0, 1)


@pytest.mark.parametrize("mu", [0.2, 0.6, 1.5])
def test_bounds_of_a_gaussian_attack_hold_and_come_close(mu):
    rng = np.random.default_rng(round(10 * mu))
    present, absent = mu * (rng.normal(size=50_000) + mu / 2), mu * (rng.normal(size=50_000) - mu / 2)
    claimed = float(gaussian.epsilon(mu, 1e-5))
    tight = rates_at(0.0, present, absent).gaussian_epsilon(1e-5, 0.999)
    assert 0.8 * claimed < tight <= claimed
    assert 0 <= best_rates(present, absent, 1e-5, 0.999).epsilon(1e-5, 0.999) < claimed


def test_bounds_hold_with_the_stated_confidence():
    """A claim that is exactly right is refuted in at most 1 − confidence of the audits."""
    mu, refuted = 1.0, 0
    claimed = float(gaussian.epsilon(mu, 1e-3))
    rng = np.random.default_rng(0)
    for _ in range(300):
        present, absent = rng.normal(mu / 2, 1, 400), rng.normal(-mu / 2, 1, 400)
        refuted += rates_at(0.0, present, absent).gaussian_epsilon(1e-3, 0.9) > claimed
    assert refuted <= stats.binom.ppf(0.999, 300, 0.1)


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 400), st.floats(0.1, 3))
def test_one_run_does_not_refute_randomised_response(guesses, epsilon):
    """Guesses that are right with probability e^ε/(1+e^ε) are what ε allows."""
    rng = np.random.default_rng(guesses)
    right = rng.binomial(guesses, 1 / (1 + math.exp(-epsilon)), 40)
    refuted = sum(one_run_epsilon(guesses, int(count), guesses, 0.0, 0.999) > epsilon for count in right)
    assert refuted <= 4  # more have probability 7e-10


def test_one_run_bound_inverts_the_binomial_tail_and_falls_with_delta():
    bound = one_run_epsilon(200, 170, 1000, 0.0, 0.95)
    tail = stats.binom.sf(169, 200, 1 / (1 + math.exp(-bound)))
    assert tail == pytest.approx(0.05, rel=1e-3)
    assert one_run_epsilon(200, 170, 1000, 1e-4, 0.95) < bound
    with pytest.raises(ValueError, match="right must be a whole number"):
        one_run_epsilon(10, 11, 100, 0.0, 0.95)


def most_likely(guesses, right, canaries, mu):
    """Largest chance of at least `right` right guesses under μ-GDP, by a linear program.

    Flipping a canary's coin makes a right guess wrong: with rᵢ and hᵢ as in `_least_mass`, each
    rᵢ₊₁ ≤ f(hᵢ) for the concave f(x) = Φ(Φ⁻¹(x) + μ), which its tangents bound.
    """
    counts = np.arange(guesses + 1)
    rows, limits = [], []
    for i in range(guesses):
        above, from_here = counts >= i + 1, counts >= i
        r, h = above * counts / canaries, from_here * (guesses - counts) / canaries
        for x in np.linspace(1e-6, guesses / canaries, 400):
            slope = np.exp(-mu * ndtri(x) - mu**2 / 2)
            rows.append(r - slope * h)
            limits.append(ndtr(ndtri(x) + mu) - slope * x)
    return -optimize.linprog(-(counts >= right).astype(float), rows, limits, [np.ones(guesses + 1)], [1]).fun


@pytest.mark.parametrize(("guesses", "right", "canaries"), [(10, 9, 10), (12, 11, 30), (20, 17, 60)])
def test_one_run_mu_inverts_the_largest_chance(guesses, right, canaries):
    """At the bound, the largest probability of such guesses in any μ-GDP run is 1 − confidence."""
    bound = one_run_mu(guesses, right, canaries, 0.95)
    assert bound > 0.1
    assert most_likely(guesses, right, canaries, bound) == pytest.approx(0.05, abs=0.003)


def test_one_run_mu_holds_with_the_stated_confidence_and_shows_two_thirds():
    """Guesses by the best test of independent canaries, of which each moves the release by μ."""
    rng, mu, canaries, guesses = np.random.default_rng(0), 1.0, 1000, 200
    bounds = []
    for _ in range(100):
        coins = rng.random(canaries) < 0.5
        scores = mu * (coins - 0.5) + rng.normal(size=canaries)
        clearest = np.argsort(-np.abs(scores))[:guesses]
        bounds.append(one_run_mu(guesses, int(((scores > 0) == coins)[clearest].sum()), canaries, 0.95))
    assert np.mean(bounds) == pytest.approx(0.65, abs=0.07)
    assert max(bounds) <= mu

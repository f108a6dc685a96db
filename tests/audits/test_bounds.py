"""Lower bounds on ε: valid, and tight where they can be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vips_core.audits.bounds import Rates, best_rates, one_run_epsilon, rates_at
from vips_core.privacy import gaussian


def test_clopper_pearson_is_that_of_scipy():
    exact = stats.binomtest(37, 120).proportion_ci(0.9, method="exact")
    rates = Rates(37, 120, 37, 120)
    assert rates.least_found(0.95) == pytest.approx(exact.low)
    assert rates.most_alarms(0.95) == pytest.approx(exact.high)
    assert Rates(0, 50, 50, 50).least_found(0.95) == 0
    assert Rates(0, 50, 50, 50).most_alarms(0.95) == 1


@pytest.mark.parametrize("mu", [0.2, 0.6, 1.5])
def test_bounds_of_a_gaussian_attack_hold_and_come_close(mu):
    rng = np.random.default_rng(round(10 * mu))
    present, absent = mu * (rng.normal(size=50_000) + mu / 2), mu * (rng.normal(size=50_000) - mu / 2)
    claimed = float(gaussian.epsilon(mu, 1e-5))
    tight = rates_at(0.0, present, absent).gaussian_epsilon(1e-5, 0.999)
    assert 0.8 * claimed < tight <= claimed
    assert 0 <= best_rates(present, absent, 1e-5, 0.999).epsilon(1e-5, 0.999) < claimed


def test_bounds_are_wrong_as_rarely_as_they_say():
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
    assert refuted <= 4  # more are 7e-10 likely


def test_one_run_bound_inverts_the_binomial_tail_and_falls_with_delta():
    bound = one_run_epsilon(200, 170, 1000, 0.0, 0.95)
    tail = stats.binom.sf(169, 200, 1 / (1 + math.exp(-bound)))
    assert tail == pytest.approx(0.05, rel=1e-3)
    assert one_run_epsilon(200, 170, 1000, 1e-4, 0.95) < bound
    with pytest.raises(ValueError, match="right must be a whole number"):
        one_run_epsilon(10, 11, 100, 0.0, 0.95)

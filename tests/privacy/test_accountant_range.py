"""Accountants over the range of plans: a sample of `benchmarks.accountant_range`, and its edge cases."""

import math
import time

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.benchmarks import accountant_range
from tests.privacy import reference
from vips_core.privacy import accountants, gaussian, moments
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.events import SampledGaussian, fewer
from vips_core.privacy.moments import log_moment
from vips_core.privacy.tradeoff import AttackRisk


def test_random_plans_have_no_problems():
    rng = np.random.default_rng(0)
    for _ in range(20):
        events, delta = accountant_range.draw(rng)
        assert accountant_range.problems_of(events, delta)[0] == []
    for _ in range(3):
        assert accountant_range.problems_with_more_noise(accountant_range.draw(rng)[0], 1e-5) == []
        assert accountant_range.problems_of_calibration(rng)[0] == []


@pytest.mark.parametrize(
    ("events", "delta"),
    [
        ([SampledGaussian(0.02, 0.7, 50)], 1e-15),
        ([SampledGaussian(1e-3, 30.0, 10**6)], 1e-5),
        ([SampledGaussian(0.2, 3.0, 9), SampledGaussian(1.0, 8.0, 2), SampledGaussian(1e-4, 0.4, 300)], 1e-9),
    ],
)
def test_nothing_is_below_the_truth(events, delta):
    below, excess, doubt = accountant_range.problems_against_the_truth(events, delta, cells=2**15)
    assert below == []
    assert doubt < 1e-6
    assert 0 <= excess < 1e-3


def test_the_reference_knows_what_is_known():
    """Compared with the closed forms of one step and of full batches, which compose to one Gaussian."""
    epsilon, doubt = reference.true_epsilon([SampledGaussian(0.01, 0.5)], 1e-5, cells=2**15)
    assert doubt < 1e-6
    assert reference.single_step_delta(epsilon, 0.01, 0.5) == pytest.approx(1e-5, rel=1e-5)
    epsilon, _ = reference.true_epsilon([SampledGaussian(1.0, 5.0, 10)], 1e-5, cells=2**15)
    assert epsilon == pytest.approx(float(gaussian.epsilon(math.sqrt(10) / 5, 1e-5)), rel=1e-6)


@pytest.mark.parametrize("name", ACCOUNTANTS)
@pytest.mark.parametrize("delta", [1e-300, 1e-20, 1e-15, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("noise", [1e-3, 1e7, 1e300])
def test_the_ends_of_the_range_and_beyond(name, delta, noise):
    for rate in (1e-300, 1e-9, 1 - 1e-16, 1.0):
        for count in (1, 10**7, 10**15):
            value = accountants.account([SampledGaussian(rate, noise, count)], delta, name).epsilon
            assert value is None or value >= 0


@pytest.mark.parametrize("rate", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("noise", [0.5, 1.0, 20.0])
@pytest.mark.parametrize("order", [1.0001, 1.3, 2.0, 3.0, 7.5, 16.0])
def test_moments_of_small_rates_are_not_below_the_truth(rate, noise, order):
    truth = reference.true_log_moment(rate, noise, order)
    above = moments.renyi_divergence([SampledGaussian(rate, noise)], order) * (mpmath.mpf(order) - 1) / truth
    assert 0 <= above - 1 < 1e-9
    if order == int(order):
        assert 0 <= log_moment(rate, noise, int(order) - 1) / truth - 1 < 1e-9


@pytest.mark.parametrize("order", [1.0001, 1.5, 5.0, 40.0, 3000.0, 4e4])
def test_a_small_epsilon_by_rdp_is_not_below_the_truth(order):
    """Where the terms of the conversion cancel, rounding made ε too small: by 6e-6 of it, and by more."""
    with mpmath.workdps(40):
        whole = mpmath.mpf(order)
        no_epsilon = float((whole - 1) ** (whole - 1) / whole**whole)  # δ at which the terms cancel
        for far in (1e-16, 1e-14, 1e-12, 1e-10, 1e-5, 1.0):
            for divergence in (0.0, 1e-20, 1e-12, 1e-7):
                delta = mpmath.mpf(float(no_epsilon * (1 - far / 2)))
                truth = divergence + mpmath.log1p(-1 / whole) - mpmath.log(delta * whole) / (whole - 1)
                value = moments.rdp_to_epsilon(order, divergence, float(delta))
                assert value >= truth
                assert value <= max(0, truth) + 1e-14 * (1 + 1 / (whole - 1)) + 1e-14 * truth


def test_what_cannot_be_computed_is_infinite(monkeypatch):
    monkeypatch.setattr(moments, "renyi", lambda *_: math.nan)
    event = SampledGaussian(0.1, 1.0, 10)
    assert accountants.epsilon([event], 1e-5, "rdp") == math.inf
    assert moments.rdp_to_epsilon(2.0, math.nan, 1e-5) == math.inf
    assert moments.renyi_divergence([SampledGaussian(0.5, 0.0)], 2.0) == math.inf


@given(st.floats(1e-3, 1e7), st.floats(1e-9, 1, exclude_max=True), st.floats(1e-6, 1e4), st.floats(1e-6, 1e4))
@settings(max_examples=200, deadline=None)
def test_renyi_divergence_rises_with_its_order(noise, rate, first, second):
    low, high = sorted((1 + first, 1 + second))
    event = [SampledGaussian(rate, noise)]
    at_low, at_high = (moments.renyi_divergence(event, order) for order in (low, high))
    assert 0 <= at_low <= high / (2 * noise**2) * (1 + 1e-9)
    if 5 * (high / noise + 22) * max(1, 0.32 / noise) <= 12_000:  # by quadrature, not by a bound
        assert at_low <= at_high * (1 + 1e-9)


def test_a_ledger_of_many_different_releases_is_judged_in_time():
    rng = np.random.default_rng(0)
    events = [
        SampledGaussian(float(rng.uniform(1e-4, 1)), float(rng.uniform(0.5, 50)), int(rng.integers(1, 1000)))
        for _ in range(500)
    ]
    few = fewer(events)
    assert len(few) <= 32
    assert sum(event.count for event in few) == sum(event.count for event in events)
    assert moments.rdp_epsilon(few, 1e-5) >= moments.rdp_epsilon(events, 1e-5)
    start = time.process_time()
    for name in ACCOUNTANTS:
        value = accountants.account(events, 1e-5, name).epsilon
        assert value is None or value >= 0
    assert time.process_time() - start < 2


def test_few_releases_are_left_as_they_are():
    events = [SampledGaussian(0.1, 1.2345, 3), SampledGaussian(1.0, 2.0)]
    assert fewer(events) == events
    near = [SampledGaussian(0.1, 1 + i * 1e-6) for i in range(40)]
    assert fewer(near) == [SampledGaussian(0.1, 1.0, 40)]


def test_attack_risk_without_enough_noise_is_certain():
    risk = AttackRisk([SampledGaussian(0.5, 1e-19, 3)])
    assert risk.advantage == 1
    assert risk.true_positive_rate(0.01) == 1

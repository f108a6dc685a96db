"""Attack risk: compared with the closed form of full batches, and with known special cases."""

import math
import re

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tests.privacy import reference
from vips_core import AttackRisk, PrivacyPlan
from vips_core.privacy import gaussian, pld
from vips_core.privacy.events import SampledGaussian

README = SampledGaussian(0.05, 1.24, 20)


@pytest.mark.parametrize(("noise", "steps"), [(8.0, 10), (2.0, 1), (1.0, 4)])
def test_full_batches_have_the_gaussian_curve(noise, steps):
    mu = np.sqrt(steps) / noise
    risk = AttackRisk([SampledGaussian(1.0, noise, steps)])
    rates = np.array([0.001, 0.01, 0.05, 0.3, 0.7])
    exact = norm.cdf(norm.ppf(rates) + mu)
    assert risk.true_positive_rate(rates) == pytest.approx(exact, rel=2e-3)
    assert (risk.true_positive_rate(rates) >= exact - 1e-9).all()
    assert risk.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-3)
    assert risk.gaussian_mu == pytest.approx(mu, rel=1e-15)
    assert risk.gaussian_regret == 0
    assert risk.gaussian_delta == 0


def test_posterior_is_bayes():
    risk = AttackRisk([SampledGaussian(1.0, 1.0)])
    hit = norm.cdf(norm.ppf(0.01) + 1)
    assert risk.posterior(0.3, 0.01) == pytest.approx(0.3 * hit / (0.3 * hit + 0.7 * 0.01), rel=2e-3)


@settings(max_examples=10, deadline=None)
@given(st.floats(0.01, 1), st.floats(0.6, 10), st.integers(1, 50))
def test_curve_is_a_roc(rate, noise, steps):
    rates, highest = AttackRisk([SampledGaussian(rate, noise, steps)]).curve()
    assert (highest >= rates).all()
    assert (highest <= 1).all()
    assert (np.diff(highest) >= -1e-9).all()


def test_no_noise_no_release_and_bad_values():
    exposed = AttackRisk([SampledGaussian(0.5, 0.0)])
    assert exposed.true_positive_rate(0.01) == 1
    assert exposed.advantage == 1
    assert exposed.gaussian_mu is None
    assert exposed.gaussian_regret is None
    assert "no μ" in exposed.gaussian_claim()
    nothing = AttackRisk([])
    assert nothing.true_positive_rate(0.01) == 0.01
    assert nothing.advantage == 0
    assert (nothing.gaussian_mu, nothing.gaussian_regret) == (0, 0)
    with pytest.raises(ValueError, match="prior must be a number above 0 and below 1, got 1"):
        nothing.posterior(1)
    with pytest.raises(ValueError, match=r"false_positive_rate must be in \[0, 1\], got 2"):
        nothing.true_positive_rate(2)


def test_hopeless_plans_have_a_finite_risk():
    risk = AttackRisk([SampledGaussian(0.05, 0.3, 2000)])
    assert risk.true_positive_rate(0.01) == pytest.approx(1, abs=1e-6)
    assert risk.posterior(0.5) == pytest.approx(1 / 1.01, rel=1e-4)


def test_plain_words_hold_the_number():
    risk = AttackRisk([SampledGaussian(1.0, 1.0)])
    assert f"at most {math.ceil(1000 * norm.cdf(norm.ppf(0.01) + 1)) / 10}" in risk.sentence()
    assert risk.summary()["tpr_at_fpr_1%"] == float(risk.true_positive_rate(0.01))


def test_mu_of_the_readme_bounds_epsilon_at_every_delta():
    """Fitted to the advantage, μ was .203, which implies ε = .74 at δ = 1e-5, where 1.22 is true."""
    mu = AttackRisk([README]).gaussian_mu
    true, doubt = reference.true_epsilon([README], 1e-5, cells=2**15)
    assert true == pytest.approx(1.219, abs=2e-3)
    assert doubt < 1e-6
    assert gaussian.epsilon(mu, 1e-5) >= true
    assert 0.327 < mu < math.sqrt(20) / 1.24  # the least μ for δ ≥ 6e-6, and the least for every δ
    for rate in (1e-8, 1e-4, 1e-2, 0.5):
        assert norm.cdf(norm.ppf(rate) + mu) >= reference.true_positive_rate(0.05, 1.24, 20, rate)


@pytest.mark.parametrize(
    "event",
    [README, SampledGaussian(0.01, 1.0, 300), SampledGaussian(0.3, 5.0, 50), SampledGaussian(0.2, 0.8, 3)],
)
def test_mu_is_the_least_that_bounds_the_whole_profile(event):
    """Compared with Google's PLD, which is above the truth by up to 2e-4 and has another grid."""
    risk = AttackRisk([event])
    loss = privacy_loss_distribution.from_gaussian_mechanism(
        event.noise_multiplier,
        sampling_prob=event.sampling_rate,
        value_discretization_interval=1e-4,
    ).self_compose(event.count)
    epsilons = np.linspace(0, pld.epsilon([event], risk.gaussian_delta), 3001)
    true = np.asarray(loss.get_delta_for_epsilon(epsilons)) * (1 - 2e-4)
    assert true[-1] == pytest.approx(risk.gaussian_delta, rel=1e-3)
    assert (gaussian.delta(epsilons, risk.gaussian_mu) >= true).all()
    assert (gaussian.delta(epsilons, 0.998 * risk.gaussian_mu) < true).any()


@settings(max_examples=25, deadline=None)
@given(
    st.floats(1e-4, 1), st.floats(0.5, 10), st.integers(1, 300), st.sampled_from([1e-3, 1e-6, 1e-9, 1e-13])
)
def test_mu_bounds_epsilon_of_any_plan(rate, noise, steps, delta):
    event = SampledGaussian(rate, noise, steps)
    risk = AttackRisk([event], delta)
    assert risk.gaussian_delta <= delta
    assert 0 < risk.gaussian_mu <= math.sqrt(steps / noise**2)  # the same bits as for full batches
    assert 0 <= risk.gaussian_regret < 0.5
    assert gaussian.epsilon(risk.gaussian_mu, delta) >= 0.999 * pld.epsilon([event], delta)


def test_mu_bounds_one_step_in_closed_form():
    for rate, noise in ((0.01, 0.5), (0.1, 1.0), (1e-4, 2.0)):
        risk = AttackRisk([SampledGaussian(rate, noise)])
        top = pld.epsilon([SampledGaussian(rate, noise)], 1e-10)
        for epsilon in np.linspace(0, top, 101):
            true = reference.single_step_delta(epsilon, rate, noise)
            assert gaussian.delta(epsilon, risk.gaussian_mu) >= true * (1 - 1e-9)


@pytest.mark.parametrize("event", [README, SampledGaussian(0.3, 9.4, 2000), SampledGaussian(0.01, 0.5, 1)])
def test_regret_is_the_least_shift_between_the_curves(event):
    risk = AttackRisk([event])
    rates = np.unique(np.concatenate([np.geomspace(1e-9, 0.1, 2000), np.linspace(0, 1, 4001)]))

    def is_enough(shift):
        missed = 1 - risk.true_positive_rate(np.minimum(rates + shift, 1))
        return (missed - shift <= norm.cdf(norm.isf(rates) - risk.gaussian_mu) + 1e-12).all()

    assert is_enough(risk.gaussian_regret * (1 + 1e-6))
    assert not is_enough(risk.gaussian_regret * 0.99)


def test_mu_of_a_small_delta_holds_there():
    """A plan's own ε and δ follow from its μ, also if δ is smaller than usual."""
    for delta in (1e-5, 1e-12, 1e-15):
        plan = PrivacyPlan(
            records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=delta
        )
        risk = plan.risk()
        assert risk.gaussian_delta == min(delta, 1e-10)
        assert gaussian.epsilon(risk.gaussian_mu, delta) >= plan.epsilon()
        assert f"δ ≥ {risk.gaussian_delta:.0e}" in risk.gaussian_claim()
        assert risk.summary()["gaussian_delta"] == risk.gaussian_delta


@pytest.mark.parametrize(
    "events",
    [
        [SampledGaussian(0.05, 0.3, 2000)],
        [SampledGaussian(0.5, 1e-3, 10**7)],
        [SampledGaussian(0.1, 5.0, 10**9)],
        [SampledGaussian(1e-9, 1e7)],
        [SampledGaussian(1 - 1e-9, 3.0), SampledGaussian(1e-6, 0.5, 5)],
    ],
)
@pytest.mark.parametrize("delta", [1e-10, 1e-15, 1e-300])
def test_mu_of_extreme_plans_is_at_most_that_of_full_batches(events, delta):
    risk = AttackRisk(events, delta)
    assert 0 < risk.gaussian_mu <= math.sqrt(sum(e.count / e.noise_multiplier**2 for e in events))
    assert 0 <= risk.gaussian_regret <= 0.5


def test_a_stated_mu_is_rounded_up():
    risk = AttackRisk([README])
    stated = re.fullmatch(
        r"μ = ([\d.]+) \(Gaussian DP for δ ≥ 1e-10, regret ([\d.]+)\)", risk.gaussian_claim()
    )
    assert 0 <= float(stated[1]) - risk.gaussian_mu < 1e-4
    assert 0 <= float(stated[2]) - risk.gaussian_regret < 1e-3
    assert "for every δ, regret 0)" in AttackRisk([SampledGaussian(1.0, 2.0)]).gaussian_claim()

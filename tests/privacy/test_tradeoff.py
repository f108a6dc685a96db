"""Attack risk: against the closed form of full batches, and against what is known without mathematics."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from vips_core import AttackRisk
from vips_core.privacy.events import SampledGaussian


@pytest.mark.parametrize(("noise", "steps"), [(8.0, 10), (2.0, 1), (1.0, 4)])
def test_full_batches_have_the_gaussian_curve(noise, steps):
    mu = np.sqrt(steps) / noise
    risk = AttackRisk([SampledGaussian(1.0, noise, steps)])
    rates = np.array([0.001, 0.01, 0.05, 0.3, 0.7])
    exact = norm.cdf(norm.ppf(rates) + mu)
    assert risk.true_positive_rate(rates) == pytest.approx(exact, rel=2e-3)
    assert (risk.true_positive_rate(rates) >= exact - 1e-9).all()
    assert risk.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-3)
    assert risk.gaussian_mu == pytest.approx(mu, rel=2e-3)


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
    nothing = AttackRisk([])
    assert nothing.true_positive_rate(0.01) == 0.01
    assert nothing.advantage == 0
    with pytest.raises(ValueError, match=r"prior must be in \(0, 1\), got 1"):
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

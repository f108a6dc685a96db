"""Calibration: the largest batch at fixed epochs, and the least noise for an attack risk."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tests.privacy import reference
from vips_core import PrivacyPlan, RiskLimit
from vips_core.privacy import calibration


@pytest.mark.parametrize(
    ("records", "noise", "epochs", "target"),
    [
        (300, 1.0, 2.5, 1.5),
        (300, 2.0, 10.0, 4.0),
        (200, 0.5, 0.7, 9.0),
        (257, 0.4, 3.0, 60.0),
        (150, 3.0, 1.0, 0.5),
    ],
)
def test_the_largest_batch_is_that_of_trying_them_all(records, noise, epochs, target):
    def make(batch):
        return PrivacyPlan(
            records=records, expected_batch=batch, epochs=epochs, noise_multiplier=noise, delta=1e-4
        )

    most = min(records, math.floor(epochs * records))
    fitting = [batch for batch in range(1, most + 1) if make(batch).epsilon("moments") <= target]
    assert fitting
    batch = calibration.largest_batch(
        lambda batch: make(batch).epsilon("moments") - target, epochs * records, records
    )
    assert batch == max(fitting)


def test_no_batch_that_fits_is_none():
    assert calibration.largest_batch(lambda batch: 1.0, 50.0, 20) == 0
    assert calibration.largest_batch(lambda batch: 0.0, 50.0, 20) == 20
    assert calibration.largest_batch(lambda batch: 0.0, 5.5, 20) == 5  # one step at least


@given(st.integers(1, 10**7), st.integers(0, 10**7), st.integers(1, 10**7), st.booleans())
def test_the_largest_number_is_found_from_any_start_whether_the_excess_jumps_or_rises(
    most, answer, start, jumps
):
    def excess(number):
        assert 1 <= number <= most
        return math.copysign(700.0, number - answer - 0.5) if jumps else math.log(number / (answer + 0.5))

    assert calibration.largest(excess, most, min(start, most)) == min(answer, most)


def test_steps_of_a_jump_are_the_most_and_take_few_looks(monkeypatch):
    """ε is 0 while the probability that a record is drawn is below δ, and tens of thousands above."""
    looks = []
    account = calibration.accountants.account
    monkeypatch.setattr(
        calibration.accountants,
        "account",
        lambda events, delta, name: (name == "pld" and looks.append(events)) or account(events, delta, name),
    )
    plan = PrivacyPlan(
        records=11_006_796, expected_batch=2, steps=1, noise_multiplier=0.0025771284168, delta=0.000981706385
    ).calibrate(0.0095, "pld", "steps")
    assert plan.epsilon("pld") == 0
    assert plan.replace(steps=plan.steps + 1).epsilon("pld") > 1000
    assert len(set(map(tuple, looks))) < 10


def steps_on(rate, steps):
    return PrivacyPlan(records=1000, expected_batch=round(1000 * rate), steps=steps, delta=1e-5)


@pytest.mark.parametrize(
    ("rate", "steps", "found", "alarms"), [(0.05, 20, 0.05, 0.01), (0.01, 1000, 0.1, 0.05)]
)
def test_the_noise_for_a_risk_is_the_least_by_an_independent_test(rate, steps, found, alarms):
    """The Neyman–Pearson test in extended precision shares no code with the accountants."""
    limit = RiskLimit(true_positive_rate=found, false_positive_rate=alarms)
    noise = steps_on(rate, steps).calibrate_to_risk(limit).noise_multiplier
    assert reference.true_positive_rate(rate, noise, steps, alarms) <= found
    assert reference.true_positive_rate(rate, 0.998 * noise, steps, alarms) > found


@pytest.mark.parametrize("steps", [1, 16])
def test_full_batches_take_the_noise_of_the_gaussian_curve(steps):
    plan = steps_on(1.0, steps)
    found = plan.calibrate_to_risk(RiskLimit(true_positive_rate=0.05, false_positive_rate=0.01))
    assert found.noise_multiplier == pytest.approx(
        math.sqrt(steps) / (norm.ppf(0.05) - norm.ppf(0.01)), rel=1e-4
    )
    ahead = plan.calibrate_to_risk(RiskLimit(advantage=0.1))
    assert ahead.noise_multiplier == pytest.approx(math.sqrt(steps) / (2 * norm.ppf(0.55)), rel=1e-4)


def test_one_sampled_step_takes_the_noise_of_its_closed_form():
    """The best test of one step is a threshold on z: FPR = Φ(−c/σ), TPR = (1 − q)·FPR + q·Φ((1 − c)/σ)."""
    plan = steps_on(0.5, 1).calibrate_to_risk(RiskLimit(true_positive_rate=0.05, false_positive_rate=0.01))
    noise = plan.noise_multiplier
    assert 0.5 * 0.01 + 0.5 * norm.cdf(norm.ppf(0.01) + 1 / noise) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(
    "limit",
    [
        RiskLimit(true_positive_rate=0.02, false_positive_rate=0.001),
        RiskLimit(advantage=0.05),
        RiskLimit(posterior=0.6, prior=0.3),
        RiskLimit(posterior=0.011, prior=0.01, false_positive_rate=0.2),
    ],
)
def test_no_attack_exceeds_a_limit_and_less_noise_would_let_one(limit):
    plan = steps_on(0.1, 100).calibrate_to_risk(limit)
    assert limit.excess(plan.risk()) <= 0
    less = plan.replace(noise_multiplier=plan.noise_multiplier * (1 - 1e-4))
    assert limit.excess(less.risk()) > 0


def test_a_posterior_is_bayes():
    plan = steps_on(0.1, 100).calibrate_to_risk(RiskLimit(posterior=0.6, prior=0.3, false_positive_rate=0.05))
    assert plan.risk().posterior(0.3, 0.05) == pytest.approx(0.6, rel=1e-4)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "give one of true_positive_rate, advantage, posterior, got none"),
        ({"advantage": 0.1, "posterior": 0.6}, "got advantage and posterior"),
        (
            {"true_positive_rate": 0.01},
            "true_positive_rate must be a number above 0.01 and below 1, got 0.01",
        ),
        ({"posterior": 0.4}, "posterior must be a number above 0.5 and below 1, got 0.4"),
        ({"posterior": 0.995}, "posterior must be below 0.9901"),
        ({"advantage": 0.1, "prior": 1}, "prior must be a number above 0 and below 1, got 1"),
        ({"true_positive_rate": 0.5, "false_positive_rate": "x"}, "false_positive_rate must be a number"),
    ],
)
def test_limits_that_cannot_be_are_refused(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        RiskLimit(**values)


def test_a_limit_out_of_reach_is_refused():
    plan = PrivacyPlan(records=1000, expected_batch=1000, steps=10**7, delta=1e-5)
    with pytest.raises(ValueError, match="no noise_multiplier up to 1e.07 reaches advantage = 1e-09"):
        plan.calibrate_to_risk(RiskLimit(advantage=1e-9))


def test_a_limit_that_rare_sampling_meets_alone_is_refused():
    """Exposing one of 1,000 people is an advantage of 0.001, but does not protect that one."""
    with pytest.raises(ValueError, match="advantage = 0.01 holds with almost no noise"):
        steps_on(0.001, 1).calibrate_to_risk(RiskLimit(advantage=0.01))

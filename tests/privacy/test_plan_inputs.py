"""Any value in a plan is accepted, or refused in one sentence."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vips_core import PrivacyPlan
from vips_core.privacy.events import SampledGaussian

GOOD = {"records": 1000, "expected_batch": 10, "steps": 5, "noise_multiplier": 1.0, "delta": 1e-5}
EDGES = st.sampled_from(
    [None, True, False, "", "1", "nan", b"1", [], {}, object, 1j, math.nan, math.inf, -math.inf, 0, -0.0, -1]
    + [10**400, -(10**400), 1e308, 5e-324, 1e-3, 1e7, 1e-15, 1e-16, 2**63, 1.5, [1.0], 10**12 + 1]
)
ANYTHING = EDGES | st.floats() | st.integers() | st.text(max_size=5)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from([*GOOD, "epochs", "sampling"]), ANYTHING)
def test_a_plan_takes_it_or_refuses_in_one_sentence(name, value):
    given_values = {**GOOD, name: value}
    if name == "epochs":
        del given_values["steps"]
    try:
        plan = PrivacyPlan(**given_values)
    except ValueError as error:
        _one_sentence(error)
        return
    if plan.noise_multiplier is not None:
        for accountant in ("moments", "rdp", "strong", "basic"):
            assert plan.epsilon(accountant) >= 0


@settings(max_examples=60, deadline=None)
@given(
    ANYTHING,
    st.sampled_from(["noise_multiplier", "steps", "expected_batch"]),
    st.sampled_from(["moments", "rdp", "strong", "basic"]),
)
def test_calibration_takes_it_or_refuses_in_one_sentence(epsilon, solve, accountant):
    try:
        plan = PrivacyPlan(**GOOD).calibrate(epsilon, accountant, solve)
    except ValueError as error:
        _one_sentence(error)
        return
    assert plan.epsilon(accountant) <= epsilon


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["sampling_rate", "noise_multiplier", "count"]), ANYTHING)
def test_an_event_takes_it_or_refuses_in_one_sentence(name, value):
    try:
        event = SampledGaussian(**{"sampling_rate": 0.5, "noise_multiplier": 1.0, name: value})
    except ValueError as error:
        _one_sentence(error)
        return
    assert 0 < event.sampling_rate <= 1
    assert math.isfinite(event.noise_multiplier)
    assert isinstance(event.count, int)


def test_epochs_that_would_take_too_many_steps_are_refused():
    with pytest.raises(
        ValueError, match=r"^epochs must be at most 10,000,000 steps, got 1e\+09 \(1e\+11 steps\)$"
    ):
        PrivacyPlan(records=1000, expected_batch=10, epochs=1e9, delta=1e-5)


def _one_sentence(error):
    text = str(error)
    assert 10 < len(text) < 200, text
    assert "\n" not in text
    assert "must be" in text or "give" in text or "fits" in text or "reaches" in text, text

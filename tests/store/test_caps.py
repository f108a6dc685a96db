"""Caps: which releases fit, without a store."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.releases import DELTA, full
from vips_core.privacy import accountants
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.filter import PrivacyFilter
from vips_core.store import budget
from vips_core.store.budget import Balance, Cap


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.5, 50), st.integers(1, 50)), max_size=4),
    st.integers(0, 99),
)
@settings(max_examples=100, deadline=None)
def test_a_prefix_holds_exactly_the_given_number_of_releases(parts, releases):
    events = [SampledGaussian(*part) for part in parts]
    found = budget.prefix(events, releases)
    one_by_one = [(e.sampling_rate, e.noise_multiplier) for e in events for _ in range(e.count)]
    assert [(e.sampling_rate, e.noise_multiplier) for e in found for _ in range(e.count)] == one_by_one[
        :releases
    ]
    assert budget.from_lists(budget.to_lists(found)) == found


def test_cost_is_that_of_the_composition():
    assert budget.cost([], DELTA) == 0
    one = budget.cost([full(4.0, 4)], DELTA)
    assert one == pytest.approx(accountants.epsilon([full(2.0)], DELTA, "gaussian"))
    mixed = [full(4.0, 4), SampledGaussian(0.05, 1.1, 100)]
    assert one < budget.cost(mixed, DELTA) <= accountants.epsilon(mixed, DELTA, "rdp")


def test_noise_that_differs_by_rounding_is_one_event():
    noise = 1.1
    apart = [SampledGaussian(0.1, noise * (1 + step * 1e-16), 10) for step in range(8)]
    assert budget.cost(apart, DELTA) == budget.cost([SampledGaussian(0.1, noise, 80)], DELTA)


def test_a_run_that_only_pld_allows_fits_only_as_the_first():
    """Issue 15, finding 4: PLD is for a composition planned as a whole, not for adaptively chosen runs."""
    events = [SampledGaussian(0.05, 1.2, 20)]
    pld = budget.cost(events, DELTA)
    cap_filter = PrivacyFilter.for_cap(pld, DELTA)
    assert not cap_filter.fits(events)
    assert Balance(cap_filter).fits(events)
    assert not Balance(PrivacyFilter.for_cap(pld * 0.999, DELTA)).fits(events)
    assert not Balance(PrivacyFilter.for_cap(pld * 1.001, DELTA), (full(1e6),)).fits(events)
    halves = [SampledGaussian(0.05, 1.2, 10)]
    assert Balance(cap_filter).fits(halves)
    assert not Balance(cap_filter, tuple(halves)).fits(halves)


@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.parametrize("noise", [0.0, 1e-300, 1e-19, 1e-12])
def test_a_release_without_noise_never_fits(rate, noise):
    """Issue 15, finding 2: an un-noised run passed a cap of 1."""
    for taken in ((), (full(100.0),)):
        balance = Balance(PrivacyFilter.for_cap(1e6, DELTA), taken)
        assert not balance.fits([SampledGaussian(rate, noise)])


@pytest.mark.parametrize("unknown", [float("nan"), float("inf")])
def test_a_cost_that_cannot_be_computed_never_fits(unknown, monkeypatch):
    monkeypatch.setattr(PrivacyFilter, "share", lambda self, events: unknown)
    monkeypatch.setattr(budget, "cost", lambda events, delta: unknown)
    assert not Balance(PrivacyFilter.for_cap(10.0, DELTA)).fits([full(100.0)])


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-5), (1e7, 1e-5), (float("inf"), 1e-5), (1, 0), (1, 0.7), (-1, 1e-5)]
)
def test_bad_caps(epsilon, delta):
    with pytest.raises(ValueError, match=r"the cap's (epsilon|delta) must be"):
        Cap(epsilon, delta)

"""Caps as filters: never looser than the truth, additive, and closed if ε cannot be computed."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vips_core.privacy import accountants, gaussian
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.filter import PrivacyFilter

RELEASES = st.lists(
    st.builds(
        SampledGaussian,
        st.sampled_from([1.0, 1.0, 0.3, 0.02]),
        st.floats(0.8, 60),
        st.integers(1, 40),
    ),
    min_size=1,
    max_size=4,
)


@given(RELEASES, st.floats(0.1, 8), st.sampled_from([1e-4, 1e-6, 1e-9]))
@settings(max_examples=40, deadline=None)
def test_what_fits_costs_no_more_than_the_cap_by_pld(events, epsilon, delta):
    cap = PrivacyFilter.for_cap(epsilon, delta)
    if cap.fits(events):
        assert accountants.epsilon(events, delta, "pld") <= epsilon * (1 + 1e-6)


@given(RELEASES, RELEASES)
@settings(max_examples=40, deadline=None)
def test_shares_add_up_or_less_and_only_grow(first, second):
    cap = PrivacyFilter.for_cap(2.0, 1e-6)
    together = cap.share([*first, *second])
    assert together >= max(cap.share(first), cap.share(second)) * (1 - 1e-12)
    full = all(event.sampling_rate == 1 for event in [*first, *second])
    if full:
        assert together <= (cap.share(first) + cap.share(second)) * (1 + 1e-12)


def test_full_batches_fill_the_cap_exactly_at_half_of_delta():
    cap = PrivacyFilter.for_cap(1.0, 1e-6)
    noise = 1 / gaussian.mu(1.0, 0.5e-6)
    assert cap.share([SampledGaussian(1.0, noise * 2, 4)]) == pytest.approx(1, rel=1e-9)
    assert not cap.fits([SampledGaussian(1.0, noise * 0.999, 1)])
    assert cap.fits([SampledGaussian(1.0, noise * 1.001, 1)])


def test_sampled_batches_count_at_the_recorded_order_whatever_came_before():
    cap = PrivacyFilter(3.0, 1e-6, order=8.0)
    events = [SampledGaussian(0.05, 1.5, 30), SampledGaussian(1.0, 9.0, 2)]
    divergence = sum(
        count * accountants.moments.renyi_divergence([SampledGaussian(rate, noise, 1)], 8.0)
        for rate, noise, count in ((0.05, 1.5, 30), (1.0, 9.0, 2))
    )
    room = 3.0 - (math.log1p(-1 / 8) - math.log(0.5e-6 * 8) / 7)
    assert cap.share(events) == pytest.approx(divergence / room, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-19, 1e-300])
@pytest.mark.parametrize("rate", [1.0, 0.5, 1e-9])
def test_a_release_without_noise_never_fits(rate, noise):
    cap = PrivacyFilter.for_cap(1000.0, 0.1)
    assert not cap.fits([SampledGaussian(rate, noise, 1)])
    assert cap.left_epsilon([SampledGaussian(rate, noise, 1)]) == 0


def test_left_epsilon_is_what_a_further_run_may_cost():
    cap = PrivacyFilter.for_cap(2.0, 1e-5)
    taken = [SampledGaussian(1.0, 5.0, 3)]
    left = cap.left_epsilon(taken)
    mu = gaussian.mu(left, 1e-5)
    assert cap.fits([*taken, SampledGaussian(1.0, 1.001 / mu, 1)])
    assert not cap.fits([*taken, SampledGaussian(1.0, 0.999 / mu, 1)])
    assert 0.9 * 2.0 < cap.left_epsilon([]) < 2.0


@pytest.mark.parametrize("values", [(0, 1e-6, 2), (1, 0, 2), (1, 1, 2), (1, 1e-6, 1), (math.nan, 1e-6, 2)])
def test_bad_caps_are_refused(values):
    with pytest.raises(ValueError, match="must be a number"):
        PrivacyFilter(*values)

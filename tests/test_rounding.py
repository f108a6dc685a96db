"""Stated numbers are on the safe side of computed ones, by at most one step of the last digit."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vips_core import rounding
from vips_core.privacy.accountants import stated

POSITIVE = st.floats(1e-9, 1e9)


@given(POSITIVE, st.integers(2, 6))
def test_bounds_hold_and_are_near(value, digits):
    above, below = rounding.up(value, digits), rounding.down(value, digits)
    assert below <= value <= above
    step = Fraction(10) ** (1 - digits)  # of the value, at most
    assert Fraction(above) <= Fraction(value) * (1 + 2 * step)
    assert Fraction(below) >= Fraction(value) * (1 - 2 * step)


@given(POSITIVE)
def test_what_is_read_is_what_was_rounded(value):
    for digits in (4, 6):
        assert float(stated(value, digits)) >= value
    assert float(rounding.percent_up(value / 1e9).rstrip("%")) >= value / 1e7 * (1 - 1e-15)


@pytest.mark.parametrize("value", [0.3, 1.0, 12.5, 100.0])
def test_short_numbers_stay_as_they_are(value):
    assert rounding.up(value) == rounding.down(value) == value

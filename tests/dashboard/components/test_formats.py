"""Numbers as text: an upper bound is never rounded down, a lower bound never up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.components import formats
from dashboard.components.formats import at_least, at_most


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (0, "0"),
        (0.9999, "1.00"),
        (1.2345, "1.23"),
        (29.16, "29.2"),
        (1366.0, "1,370"),
        (2.5e-6, "2.50e-06"),
        (3e7, "3.00e+07"),
    ],
)
def test_numbers_for_people(value, text):
    assert formats.number(value) == text


def read(text):
    return float(text.replace(",", ""))


@given(st.floats(1e-6, 1e7))
def test_bounds_hold_as_they_are_read(value):
    assert read(at_least(value)) <= value <= read(at_most(value))


def test_the_edges():
    assert at_most(1.0049) == "1.01"
    assert at_least(1.0099) == "1.00"
    assert at_most(0.99999) == "1.00"
    assert (at_most(None), at_most(math.inf), at_most(math.nan)) == ("–", "∞", "–")

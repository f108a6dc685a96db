"""An ε on a page is never below the one that was earned, what is left never above what there is."""

import math

from hypothesis import given
from hypothesis import strategies as st

from dashboard.components.bounds import at_least, at_most


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

"""Numbers for people."""

import math

import pytest

from dashboard.components import formats


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

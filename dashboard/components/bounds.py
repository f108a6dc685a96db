"""Bounds for people: rounded to the side on which what is read holds."""

from dashboard.components.formats import number
from vips_core import rounding


def at_most(value: float | None) -> str:
    """Write a bound from above, as a spent ε is: rounded up."""
    return number(value if value is None else rounding.up(value, 3))


def at_least(value: float) -> str:
    """Write a bound from below, as what is left of a budget is: rounded down."""
    return number(rounding.down(value, 3))

"""Numbers for people, rounded in the direction that keeps a statement true."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def up(value: float, digits: int = 4) -> float:
    """Round up to significant digits: a stated ε is never below the true one.

    Examples
    --------
    >>> up(1.00001), up(0.9), up(float("inf"))
    (1.001, 0.9, inf)
    """
    return _rounded(value, digits, ROUND_CEILING)


def each_up(values: Iterable[float]) -> list[float]:
    """Return values rounded up to four digits, for curves that people read values from.

    Examples
    --------
    >>> each_up([0.5, 1.00001])
    [0.5, 1.001]
    """
    return [up(float(value)) for value in values]


def down(value: float, digits: int = 4) -> float:
    """Round down to significant digits: a stated remaining budget is never above the true one.

    Examples
    --------
    >>> down(1.9999), down(0.9)
    (1.999, 0.9)
    """
    return _rounded(value, digits, ROUND_FLOOR)


def percent_up(share: float) -> str:
    """Return a share in per cent as text, rounded up to three digits.

    Examples
    --------
    >>> percent_up(0.04871), percent_up(0.08), percent_up(1)
    ('4.88%', '8.00%', '100%')
    """
    return f"{up(100 * share, 3):#.3g}".rstrip(".") + "%"


def brief(value: float) -> str:
    """Return a number that the user chose, such as δ, in its shortest form.

    Examples
    --------
    >>> brief(1e-5), brief(0.25)
    ('1e-5', '0.25')
    """
    return f"{value:g}".replace("e-0", "e-")


def _rounded(value: float, digits: int, towards: str) -> float:
    return float(Context(prec=digits, rounding=towards).create_decimal(repr(float(value))))

"""Numbers for people."""

import math


def number(value: float | None) -> str:
    """Write a number of at least 0 for people: three significant digits."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    if 1e-3 <= rounded < 1e6:
        return f"{rounded:,.{max(0, 2 - math.floor(math.log10(rounded)))}f}"
    return f"{rounded:.2e}"


def signed(value: float) -> str:
    """Write a number of either sign for people."""
    return f"−{number(-value)}" if value < 0 else number(value)


def brief(value: float | str) -> str:
    """Write an exact input as short as it goes: 400,000 or 1.24 or 1e-7."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:g}".replace("e-0", "e-")

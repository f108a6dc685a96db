"""Options of runs and files, each declared once for the command line, config files and pages."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vips_core import validate


@dataclass(frozen=True)
class Option:
    """A value that a request may set.

    Attributes
    ----------
    kind
        int, float or str.
    help
        Its meaning, in a sentence or two.
    default
        Value if the request omits it; None for no default.
    low, high, above
        Bounds of a number, the first two inclusive.
    or_zero
        Whether 0 is also allowed.
    choices
        Allowed texts and their labels; None allows any text.
    label, symbol
        Its name on pages, such as "Noise" and "σ".

    Examples
    --------
    >>> Option(int, "How many groups of words to look for.", 20, low=1, high=1000).check("topics", 0)
    Traceback (most recent call last):
    ...
    ValueError: topics must be a whole number of at least 1 and at most 1,000, got 0
    """

    kind: type
    help: str
    default: Any = None
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    or_zero: bool = False
    choices: Mapping[str, str] | None = None
    label: str = ""
    symbol: str = ""

    @property
    def title(self) -> str:
        """Label and symbol, the caption of an input."""
        return f"{self.label} {self.symbol}".strip()

    @property
    def short_help(self) -> str:
        """Symbol, meaning and default, for `--help`."""
        meaning = self.help.rstrip(".")
        text = f"{self.symbol}: {meaning}" if self.symbol else meaning
        return text if self.default is None else f"{text} (default: {self.default})"

    def check(self, name: str, value: Any) -> Any:
        """Return the value in the option's type; `ValueError` if it is not allowed."""
        if self.kind is int:
            return validate.whole(name, value, self.low, self.high)
        if self.kind is float:
            return validate.number(
                name, value, low=self.low, high=self.high, above=self.above, or_zero=self.or_zero
            )
        if self.choices is not None:
            return validate.one_of(name, value, self.choices)
        return validate.text(name, value)

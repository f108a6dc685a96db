"""Options of a run: one declaration serves the command line, config files and pages."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vips_core.privacy.accountants import ACCOUNTANTS


@dataclass(frozen=True)
class Option:
    """One value that a request may have.

    Attributes
    ----------
    kind
        int, float or str.
    default
        What it is when left out; None where it stays open.
    low, high, above
        Bounds of a number, the first two inclusive.
    choices
        The words allowed; any word where empty.
    """

    kind: type
    help: str
    default: Any = None
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    choices: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> Any:
        """Return the value in its type; `ValueError` with one sentence where it is not allowed."""
        wrong = ValueError(f"{name} must be {self._allowed()}, got {value!r}")
        if self.kind is str:
            if not isinstance(value, str) or (self.choices and value not in self.choices):
                raise wrong
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise wrong
        if self.kind is int and value != int(value):
            raise wrong
        if not (self.low <= value <= self.high and value > self.above):
            raise wrong
        return self.kind(value)

    def _allowed(self) -> str:
        if self.kind is str:
            return f"one of {', '.join(self.choices)}" if self.choices else "a text"
        text = "a whole number" if self.kind is int else "a number"
        if self.above > -math.inf:
            text += f" above {self.above:g}"
        if self.low > -math.inf:
            text += f" of at least {self.low:g}"
        if self.high < math.inf:
            text += f" and at most {self.high:g}"
        return text


SPENDING: Mapping[str, Option] = {
    "epsilon": Option(float, "ε to spend", above=0),
    "noise": Option(float, "σ, noise multiplier, instead of ε; 0 trains without privacy", low=0),
    "delta": Option(float, "δ, well below 1/N", above=0, high=0.5),
    "epochs": Option(float, "passes over the data", above=0),
    "batch": Option(int, "S, expected batch size (default: the model's choice)", low=1),
    "accountant": Option(
        str, "accountant that ε is calibrated by (default: pld)", "pld", choices=tuple(ACCOUNTANTS)
    ),
    "seed": Option(int, "repeat exactly, as a demonstration without guarantee", low=0),
}

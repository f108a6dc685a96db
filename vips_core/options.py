"""Options of a run: one declaration serves the command line, config files and pages."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vips_core import validate
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.events import LEAST_NOISE, MOST_NOISE

__all__ = ["LARGEST_SEED", "PLACE", "SPENDING", "Option"]

LARGEST_SEED = 2**63 - 1  # what a column of the store holds


@dataclass(frozen=True)
class Option:
    """One value that a request may have.

    Attributes
    ----------
    kind
        int, float or str.
    help
        What it means, in a sentence or two.
    default
        What it is when left out; None where it stays open.
    low, high, above
        Bounds of a number, the first two inclusive.
    or_zero
        Whether 0 is allowed besides.
    choices
        The words allowed, each with its label; any word where empty.
    label, symbol
        What pages call it, e.g. "Noise" and "σ".

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
        """Label and symbol, as an input is named."""
        return f"{self.label} {self.symbol}".strip()

    @property
    def short_help(self) -> str:
        """The symbol and what it means, as `--help` says it."""
        meaning = self.help.rstrip(".")
        text = f"{self.symbol}: {meaning}" if self.symbol else meaning
        return text if self.default is None else f"{text} (default: {self.default})"

    def check(self, name: str, value: Any) -> Any:
        """Return the value in its type; `ValueError` with one sentence where it is not allowed."""
        if self.kind is int:
            return validate.whole(name, value, self.low, self.high)
        if self.kind is float:
            return validate.number(
                name, value, low=self.low, high=self.high, above=self.above, or_zero=self.or_zero
            )
        if self.choices is not None:
            return validate.one_of(name, value, self.choices)
        return validate.text(name, value)


SPENDING: Mapping[str, Option] = {
    "epsilon": Option(
        float,
        "The privacy cost of the run. The smaller, the more private.",
        low=1e-3,
        high=1000,
        label="Target",
        symbol="ε",
    ),
    "noise": Option(
        float,
        "Noise multiplier, instead of ε: standard deviation of the noise over what one record can move. "
        "0 trains without privacy.",
        low=LEAST_NOISE,
        high=MOST_NOISE,
        or_zero=True,
        label="Noise",
        symbol="σ",
    ),
    "delta": Option(
        float,
        "Allowed chance that the guarantee fails. Keep it well below 1/N.",
        low=1e-15,
        high=0.1,
        symbol="δ",
    ),
    "epochs": Option(
        float,
        "Passes over the data, in expectation; a method that needs fewer takes fewer.",
        above=0,
        high=10_000,
        label="Epochs",
    ),
    "batch": Option(
        int,
        "Expected records in one step, by default the model's choice. Each record is drawn with "
        "probability S/N.",
        low=1,
        high=10**9,
        label="Batch size",
        symbol="S",
    ),
    "accountant": Option(
        str,
        "The accountant whose ε has to meet the target. Strong composition always uses its own.",
        "pld",
        choices={name: accountant.label for name, accountant in ACCOUNTANTS.items()},
        label="Accountant",
    ),
    "seed": Option(
        int,
        "The same seed gives the same run. Whoever knows it can subtract the noise, so such a run is a "
        "demonstration without guarantee.",
        low=0,
        high=LARGEST_SEED,
        label="Seed",
    ),
}
PLACE: Mapping[str, Option] = {
    "engine": Option(
        str,
        "Where sums are computed: on this machine, or by the cluster that VIPS_CLUSTER names. The result has "
        "the same bits.",
        choices={"threads": "This machine", "cluster": "The cluster"},
        label="Computed by",
    )
}

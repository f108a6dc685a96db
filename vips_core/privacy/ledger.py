"""The ledger of all releases, from which ε can be recomputed without the data or the model."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from vips_core import validate
from vips_core.privacy import accountants
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.noise import DISTANCE

Sampling = Literal["poisson", "fixed"]
FORMAT = "vips-ledger/1"
NEIGHBOURS = (
    "one record, or one person with all records where a column names persons, replaced by nothing, the "
    "public number unchanged (zero-out)"
)
SEEDED = "A known seed was used: this is a demonstration, and the guarantee does not hold."


@dataclass(frozen=True)
class LedgerBlock:
    """One released statistic.

    Parameters
    ----------
    bound
        Largest change by one person, in L2 norm.
    noise_std
        Standard deviation of the noise on each of its cells.
    cells
        Number of its cells.
    grid
        Step of which every released number is a multiple; 0 without a grid, which raises a caution.

    Examples
    --------
    >>> LedgerBlock(bound=1.0, noise_std=2.0, cells=10, grid=2.0**-29).noise_std
    2.0
    """

    bound: float
    noise_std: float
    cells: int
    grid: float = 0.0

    def __post_init__(self) -> None:
        validate.positive("a ledger block's bound", self.bound)
        validate.number("a ledger block's noise_std", self.noise_std, low=0)
        validate.whole("a ledger block's cells", self.cells, low=1, high=2**53)
        validate.number("a ledger block's grid", self.grid, low=0)


@dataclass(frozen=True)
class LedgerEntry:
    """`count` equal steps, each one joint release of its blocks on one batch.

    Parameters
    ----------
    sampling_rate
        q, the probability that a record is in the batch.
    blocks
        Released statistics by name.
    sampling
        "poisson", or "fixed" for batches of fixed size, only to reproduce the paper.
    count
        Number of such steps.

    Examples
    --------
    >>> blocks = {"a": LedgerBlock(1.0, 2.0, 10), "b": LedgerBlock(3.0, 6.0, 10)}
    >>> round(LedgerEntry(0.1, blocks).noise_multiplier, 3)  # 2/√2
    1.414
    """

    sampling_rate: float
    blocks: Mapping[str, LedgerBlock]
    sampling: Sampling = "poisson"
    count: int = 1

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError("a ledger entry must name at least one block, got none")
        validate.one_of("sampling", self.sampling, get_args(Sampling))
        self.event()  # validates rate and count

    @property
    def noise_multiplier(self) -> float:
        """Noise of the joint release over the sensitivity to one record: 1/σ² = Σ (bound/noise_std)²."""
        if any(block.noise_std == 0 for block in self.blocks.values()):
            return 0.0
        signal = math.hypot(*(block.bound / block.noise_std for block in self.blocks.values()))
        return 1 / signal if signal else math.inf

    def event(self) -> SampledGaussian:
        """Return the entry in the accountants' form."""
        return SampledGaussian(self.sampling_rate, self.noise_multiplier, self.count)


@dataclass
class Ledger:
    """The releases of one run, in order. Only the wall records.

    Attributes
    ----------
    records
        N, the public number of records.
    seeded
        True for a demonstration: anyone who knows the seed can compute the noise, so no guarantee holds.
    entries
        Releases so far; equal consecutive ones share an entry with a count.

    Examples
    --------
    >>> ledger = Ledger(1000, entries=[LedgerEntry(1.0, {"a": LedgerBlock(1.0, 5.0, 10)}, count=4)])
    >>> ledger.steps, round(ledger.epsilon(delta=1e-5, accountant="gaussian"), 2)
    (4, 1.55)
    >>> Ledger.from_json(ledger.to_json()) == ledger
    True
    """

    records: int
    seeded: bool = False
    entries: list[LedgerEntry] = field(default_factory=list)

    def record(self, entry: LedgerEntry) -> None:
        """Append one entry."""
        if self.entries and replace(self.entries[-1], count=entry.count) == entry:
            self.entries[-1] = replace(entry, count=self.entries[-1].count + entry.count)
        else:
            self.entries.append(entry)

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.entries)

    @property
    def steps(self) -> int:
        """Number of joint releases."""
        return sum(entry.count for entry in self.entries)

    def events(self) -> list[SampledGaussian]:
        """Return the entries in the accountants' form."""
        return [entry.event() for entry in self.entries]

    def epsilon(self, delta: float, accountant: str = "pld") -> float:
        """Return ε of all releases, at `delta` minus the noise's distance from an ideal Gaussian."""
        return accountants.epsilon(self.events(), self.ideal_delta(delta), accountant)

    def ideal_delta(self, delta: float) -> float:
        """Return the part of δ that remains for accountants, which assume ideal noise."""
        validate.share("delta", delta)
        distance = self.noise_distance
        if delta <= distance:
            raise ValueError(
                f"delta must be above {distance:.2g}, the distance of the noise from ideal noise, got {delta}"
            )
        return delta - distance

    @property
    def noise_distance(self) -> float:
        """Total variation distance between the added noise and ideal noise rounded to the grid."""
        draws = sum(entry.count * block.cells for entry in self.entries for block in entry.blocks.values())
        return draws * DISTANCE

    def cautions(self) -> list[str]:
        """Return a sentence for each violation of the accountants' assumptions."""
        cautions = [SEEDED] if self.seeded else []
        if any(entry.sampling == "fixed" for entry in self.entries):
            cautions.append("Batches of fixed size were used, but ε is computed for Poisson sampling.")
        if any(entry.noise_multiplier == 0 for entry in self.entries):
            cautions.append("A release carried no noise: there is no privacy guarantee.")
        if any(block.grid == 0 for entry in self.entries for block in entry.blocks.values()):
            cautions.append(
                "A release was not on a public grid: the last bits of its numbers may reveal a record."
            )
        return cautions

    def to_json(self) -> str:
        """Return the ledger as JSON; everything in it is public."""
        return json.dumps(
            {
                "format": FORMAT,
                "neighbours": NEIGHBOURS,
                "records": self.records,
                "seeded": self.seeded,
                "entries": [asdict(entry) for entry in self.entries],
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> "Ledger":
        """Read a ledger that `to_json` wrote, and check every value."""
        try:
            content = json.loads(text)
        except RecursionError:
            raise ValueError("the ledger is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"the ledger is not JSON: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"the ledger must be a JSON object whose format is {FORMAT!r}")
        if content.get("neighbours") != NEIGHBOURS:
            raise ValueError(
                f"the ledger's neighbours must be {NEIGHBOURS!r}, got {content.get('neighbours')!r}"
            )
        try:
            entries = [_entry(item) for item in content["entries"]]
            records, seeded = content["records"], content["seeded"]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"the ledger has a missing or malformed field: {' '.join(str(error).split())}"
            ) from None
        if not isinstance(seeded, bool):
            raise ValueError(f"the ledger's seeded must be true or false, got {seeded!r}")
        return cls(validate.whole("the ledger's records", records, low=1, high=2**53), seeded, entries)


def _entry(item: Mapping[str, Any]) -> LedgerEntry:
    blocks = {str(name): LedgerBlock(**block) for name, block in item["blocks"].items()}
    return LedgerEntry(**{**item, "blocks": blocks})

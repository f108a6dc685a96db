"""What passed the wall, entry by entry: enough to recompute ε without the data or the model."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from vips_core.privacy import accountants
from vips_core.privacy.events import SampledGaussian

Sampling = Literal["poisson", "fixed"]
FORMAT = "vips-ledger/1"
SEEDED = "A known seed was used: this is a demonstration, and the guarantee does not hold."


@dataclass(frozen=True)
class LedgerBlock:
    """One released statistic: how far one record can move it, and the noise on each of its cells."""

    bound: float
    noise_std: float
    cells: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.bound) and self.bound > 0):
            raise ValueError(f"a ledger block's bound must be a finite number above 0, got {self.bound}")
        if not (math.isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(
                f"a ledger block's noise_std must be a finite number of at least 0, got {self.noise_std}"
            )
        if self.cells < 1:
            raise ValueError(f"a ledger block's cells must be at least 1, got {self.cells}")


@dataclass(frozen=True)
class LedgerEntry:
    """`count` equal steps, each one joint release of its blocks on one batch."""

    sampling_rate: float
    blocks: Mapping[str, LedgerBlock]
    sampling: Sampling = "poisson"
    count: int = 1

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError("a ledger entry must name at least one block, got none")
        if self.sampling not in get_args(Sampling):
            raise ValueError(f"sampling must be 'poisson' or 'fixed', got {self.sampling!r}")
        self.event()  # validates rate and count

    @property
    def noise_multiplier(self) -> float:
        """Noise of the joint release over what one record can move: 1/σ² = Σ (bound/noise_std)²."""
        if any(block.noise_std == 0 for block in self.blocks.values()):
            return 0.0
        return 1 / math.hypot(*(block.bound / block.noise_std for block in self.blocks.values()))

    def event(self) -> SampledGaussian:
        """Return the entry as accountants see it."""
        return SampledGaussian(self.sampling_rate, self.noise_multiplier, self.count)


@dataclass
class Ledger:
    """The releases of one run, in order. Only the wall records.

    Attributes
    ----------
    records
        N, the public number of records.
    seeded
        True for a demonstration: the noise can be computed by whoever knows the seed, so no guarantee holds.
    entries
        Releases so far; equal consecutive ones share an entry with a count.
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
        """Return the entries as accountants see them."""
        return [entry.event() for entry in self.entries]

    def epsilon(self, delta: float, accountant: str = "pld") -> float:
        """ε of everything released, at `delta`."""
        return accountants.epsilon(self.events(), delta, accountant)

    def cautions(self) -> list[str]:
        """Plain words for whatever in this ledger does not match the accountants' assumptions."""
        found = []
        if self.seeded:
            found.append(SEEDED)
        if any(entry.sampling == "fixed" for entry in self.entries):
            found.append("Batches of fixed size were used, but ε is computed for Poisson sampling.")
        if any(entry.noise_multiplier == 0 for entry in self.entries):
            found.append("A release carried no noise: there is no privacy guarantee.")
        return found

    def to_json(self) -> str:
        """Serialise; everything in it is public."""
        return json.dumps(
            {
                "format": FORMAT,
                "neighbours": "add or remove one record",
                "records": self.records,
                "seeded": self.seeded,
                "entries": [asdict(entry) for entry in self.entries],
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> "Ledger":
        """Read a ledger back, checking every value."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"the ledger is not JSON: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"the ledger must be a JSON object whose format is {FORMAT!r}")
        try:
            entries = [_entry(item) for item in content["entries"]]
            records, seeded = content["records"], content["seeded"]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the ledger has a missing or malformed field: {error}") from None
        if not isinstance(records, int) or isinstance(records, bool) or records < 1:
            raise ValueError(f"the ledger's records must be a whole number of at least 1, got {records!r}")
        if not isinstance(seeded, bool):
            raise ValueError(f"the ledger's seeded must be true or false, got {seeded!r}")
        return cls(records, seeded, entries)


def _entry(item: Mapping[str, Any]) -> LedgerEntry:
    blocks = {str(name): LedgerBlock(**block) for name, block in item["blocks"].items()}
    return LedgerEntry(**{**item, "blocks": blocks})

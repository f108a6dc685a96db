"""What a model must say to be trained behind the wall."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from vips_core.privacy.plan import PrivacyPlan

FloatArray = npt.NDArray[np.floating]
Params = TypeVar("Params")


class Records(Protocol):
    """A data set: a sized collection of records that a boolean mask slices."""

    def __len__(self) -> int: ...

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> Self: ...


Data = TypeVar("Data", bound=Records)
DataIn = TypeVar("DataIn", bound=Records, contravariant=True)


@dataclass(frozen=True)
class Block:
    """One statistic of a release.

    Attributes
    ----------
    bound
        L2 norm that one record can add to the statistic's sum.
    share
        w, the block's part of the step's budget. The squares of a step's shares sum to 1.
    """

    bound: float
    share: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("bound", self.bound), ("share", self.share)):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"a block's {name} must be a finite number above 0, got {value}")


@dataclass(frozen=True)
class Raw:
    """Sums over a batch before noise. They never leave the wall."""

    sums: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Released:
    """Noisy sums over a batch, with all that is known about their noise. Only the wall makes one.

    Attributes
    ----------
    sums
        Block name to noisy sum over the batch.
    noise_std
        Block name to the standard deviation of the noise on each cell of that sum.
    sampling_rate
        q, the chance of each record to be in the batch.
    """

    sums: Mapping[str, FloatArray]
    noise_std: Mapping[str, float]
    sampling_rate: float

    def total(self, block: str) -> FloatArray:
        """Unbiased estimate of the sum over all records: the batch's sum over q, never over its size."""
        return self.sums[block] / self.sampling_rate

    def total_std(self, block: str) -> float:
        """Standard deviation of the noise on each cell of `total`."""
        return self.noise_std[block] / self.sampling_rate


class Model(Protocol[Params, DataIn]):
    """The four questions that the loop asks a model (the paper's Algorithm 2).

    `blocks` may depend on public quantities only. `e_step` computes the blocks that it is given, as sums
    over the batch in which every record is clipped to the block's bound; it keeps no state, draws no
    random numbers, and one record's share depends on that record and `params` alone. `m_step` sees noisy
    sums only. A model may also have `recommend(records, epsilon, delta, epochs)`, its own choice of plan.
    """

    def init(self, plan: "PrivacyPlan", rng: np.random.Generator) -> Params:
        """Parameters before the first step; may not depend on the records."""
        ...

    def blocks(self, plan: "PrivacyPlan", step: int) -> Mapping[str, Block]:
        """Return the statistics that step `step` (from 0) releases, with their bounds and shares."""
        ...

    def e_step(self, params: Params, batch: DataIn, blocks: Mapping[str, Block]) -> Raw:
        """Return the sums over the batch of exactly `blocks`, every record clipped to its bound."""
        ...

    def m_step(self, params: Params, released: Released, step: int) -> Params:
        """Parameters after the step, from noisy sums only."""
        ...

"""The interface of models and the wall: blocks with bounds, raw sums, released sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from vips_core import validate
from vips_core.kernels import Array

if TYPE_CHECKING:
    from vips_core.privacy.plan import PrivacyPlan


class Records(Protocol):
    """A data set: a sized collection of records that can be indexed by a boolean mask."""

    def __len__(self) -> int: ...

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> Self: ...


Data = TypeVar("Data", bound=Records)
DataIn = TypeVar("DataIn", bound=Records, contravariant=True)
ParamsIn = TypeVar("ParamsIn", contravariant=True)


@dataclass(frozen=True)
class Block:
    """One statistic of a release.

    Parameters
    ----------
    bound
        Largest L2 norm that one record can add to the statistic's sum.
    share
        w, the block's part of the step's budget. The squares of a step's shares sum to 1.
    shape
        Shape of the sum; a single number by default.
    grid
        A power of two, which the wall replaces by one that fits the noise. Every record's contribution must
        be a multiple of it, rounded towards 0 so that no norm grows; `vips_core.kernels.exact` does this.

    Examples
    --------
    >>> Block(2.0, shape=(3,))
    Block(bound=2.0, share=1.0, shape=(3,), grid=9.094947017729282e-13)
    """

    bound: float
    share: float = 1.0
    shape: tuple[int, ...] = ()
    grid: float = 2.0**-40

    def __post_init__(self) -> None:
        validate.positive("a block's bound", self.bound)
        validate.positive("a block's share", self.share)


@dataclass(frozen=True)
class Raw:
    """Sums over a batch before noise. They never leave the wall.

    Parameters
    ----------
    sums
        Sum over the batch by block name.

    Examples
    --------
    >>> Raw({"ones": np.ones(2)}).sums["ones"]
    array([1., 1.])
    """

    sums: Mapping[str, Array]


@dataclass(frozen=True)
class Released:
    """Noisy sums over a batch, with the noise's standard deviations. Only the wall creates one.

    Parameters
    ----------
    sums
        Noisy sum over the batch by block name.
    noise_std
        Standard deviation of the noise on each cell of a sum, by block name.
    sampling_rate
        q, the probability that a record is in the batch.

    Examples
    --------
    >>> released = Released({"ones": np.array([3.0])}, {"ones": 0.5}, sampling_rate=0.25)
    >>> released.total("ones"), released.total_std("ones")
    (array([12.]), 2.0)
    """

    sums: Mapping[str, Array]
    noise_std: Mapping[str, float]
    sampling_rate: float

    def total(self, block: str) -> Array:
        """Return the unbiased estimate of the sum over all records: the batch's sum over q, not its size."""
        return self.sums[block] / self.sampling_rate

    def total_std(self, block: str) -> float:
        """Return the standard deviation of the noise on each cell of `total`."""
        return self.noise_std[block] / self.sampling_rate


class Measured(Protocol[ParamsIn, DataIn]):
    """The part of a model that the wall uses; `vips_core.models.base.Model` is the whole protocol."""

    def blocks(self, plan: "PrivacyPlan", step: int) -> Mapping[str, Block]:
        """Return the statistics that step `step` (from 0) releases, with their bounds and shares."""

    def e_step(self, params: ParamsIn, batch: DataIn, blocks: Mapping[str, Block]) -> Raw:
        """Return the sums over the batch of exactly `blocks`, every record clipped to its bound."""

"""A private run on public records, watched from inside the wall: the exact sums and coins of each step.

Nobody may watch a run on private records like this. Audits have to: without the exact sums nobody can say
what the noise was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vips_core.audits.support import on_the_grid
from vips_core.engines.base import StepSums, added
from vips_core.kernels import Array
from vips_core.privacy.blocks import Released
from vips_core.privacy.ledger import Ledger, LedgerEntry
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import blocks_with_noise, release


@dataclass(frozen=True)
class Parts:
    """Records of one type in several pieces, which the wall takes as one data set."""

    pieces: tuple[Any, ...]

    def __len__(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> "Parts":
        ends = np.cumsum([len(piece) for piece in self.pieces])[:-1]
        return Parts(
            tuple(piece[part] for piece, part in zip(self.pieces, np.split(mask, ends), strict=True))
        )


@dataclass(frozen=True)
class WatchedStep:
    """One step of a rehearsal.

    Attributes
    ----------
    number
        Of the step, from 0.
    params
        Parameters that the step started from.
    released, exact
        Noisy sums, and the same without noise.
    took_part
        Of each record, whether it was in the batch.
    entry
        What the ledger says of the step.
    """

    number: int
    params: Any
    released: Released
    exact: Mapping[str, Array]
    took_part: npt.NDArray[np.bool_]
    entry: LedgerEntry


def rehearse(
    model: Any, data: Parts, plan: PrivacyPlan, randomness: Randomness, ledger: Ledger
) -> Iterator[WatchedStep]:
    """Train as `vips_core.fit.fit` does and yield each step.

    Parameters
    ----------
    model
        What is trained.
    data
        Public or generated records, at most as many as the plan is for.
    plan
        With noise.
    randomness
        Of the run.
    ledger
        Where the wall records each release.

    Yields
    ------
    WatchedStep
        Before the next step begins.
    """
    params, witness = model.init(plan, randomness.derive("start").generator()), _Witness()
    for step in range(plan.steps):
        released = release(model, params, data, plan, step, randomness, ledger, witness)
        yield WatchedStep(step, params, released, witness.exact, witness.took_part, list(ledger)[-1])
        params = model.m_step(params, released, step)


def singles(data: Any, most: int | None = None) -> Iterator[Any]:
    """Yield each record of a data set as a data set of its own; of more than `most`, evenly spread ones."""
    size, places = len(data), np.arange(len(data))
    for place in np.unique(np.linspace(0, size - 1, min(most or size, size)).astype(int)):
        yield data[places == place]


def share_of(model: Any, params: Any, records: Any, plan: PrivacyPlan, step: int) -> Mapping[str, Array]:
    """What these records add to each block, without noise: the attacker knows them."""
    _, blocks = blocks_with_noise(model.blocks(plan, step), plan)
    sums: Mapping[str, Array] = model.e_step(params, records, blocks).sums
    return sums


def multiples(released: Released, ledger: Ledger) -> npt.NDArray[np.bool_]:
    """Of each number of the last release: whether it is a multiple of the step that the ledger names."""
    blocks = list(ledger)[-1].blocks
    cells = [on_the_grid(released.sums[name], block.grid).reshape(-1) for name, block in blocks.items()]
    return np.concatenate(cells)


class _Witness:
    """An engine that sums as the default one does, and remembers the sums and who took part."""

    exact: Mapping[str, Array]
    took_part: npt.NDArray[np.bool_]

    def sums(self, data: Parts, step: StepSums) -> Mapping[str, Array]:
        """Return the sums of a step over all pieces."""
        starts = np.cumsum([0, *(len(piece) for piece in data.pieces)])
        self.took_part = step.batch.mask(0, int(starts[-1]))
        self.exact = added(
            step.over(piece, int(start)) for piece, start in zip(data.pieces, starts[:-1], strict=True)
        )
        return self.exact

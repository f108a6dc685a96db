"""The engine's interface, the default engine, and the only place that calls a model's E-step."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.pool import one_blas_thread
from vips_core.privacy.blocks import Block, Raw
from vips_core.privacy.sampling import Batch
from vips_core.records.shards import Sharded

Sums = Mapping[str, Array]


@dataclass(frozen=True, repr=False)
class StepSums:
    """The sums of one step: a model's statistics at given parameters over a batch.

    Attributes
    ----------
    model, params, blocks
        The statistics, and the parameters at which they are computed.
    batch
        The batch, as coins for each record.
    """

    model: Any
    params: Any
    blocks: Mapping[str, Block]
    batch: Batch

    def over(self, records: Any, start: int = 0) -> Sums:
        """Return the sums over the records in the batch; `start` is the number of the first record."""
        chosen = records[self.batch.mask(start, start + len(records))]
        with one_blas_thread():  # models sum in their own threads, so BLAS threads would wait for a core
            raw = self.model.e_step(self.params, chosen, self.blocks)
        return _checked_sums(raw, self.blocks)


# Returns the sums of a step over a data set, in memory or sharded, with the same bits for any engine. Wall,
# noise and ledger stay in the training process.
Engine = Callable[[Any, StepSums], Sums]


def sums_here(data: Any, step: StepSums) -> Sums:
    """Return the sums of a step by the model's own threads; at most two shards are in memory at a time."""
    if isinstance(data, Sharded):
        return added(step.over(records, start) for start, records in data.loaded())
    return step.over(data)


def added(several: Iterable[Sums]) -> Sums:
    """Return the total of several sums, block by block; exact in any order, because all are on a grid."""
    total: dict[str, Array] = {}
    for sums in several:
        for name, values in sums.items():
            total[name] = np.asarray(values, np.float64) + total.get(name, 0.0)
    return total


def _checked_sums(raw: Any, blocks: Mapping[str, Block]) -> Sums:
    """Return the sums; refuse wrong blocks or shapes, a check that does not depend on the records."""
    if not isinstance(raw, Raw) or set(raw.sums) != set(blocks):
        raise TypeError(f"e_step must return Raw with exactly the blocks {sorted(blocks)}")
    for name, block in blocks.items():
        shape = np.shape(raw.sums[name])
        if shape != block.shape:
            raise TypeError(f"e_step must return block {name!r} in the shape {block.shape}, got {shape}")
    return raw.sums

"""Sampling of batches: one coin per record, the same wherever the record is stored.

This is not part of the wall's own file because engines and cluster workers need it too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan


@dataclass(frozen=True, repr=False)
class Batch:
    """The batch of one step, before it is drawn. Whoever holds it can draw it, so it stays behind the wall.

    Parameters
    ----------
    records
        Number of records.
    plan
        The plan, with the sampling rate.
    stream
        Randomness of this step's batch alone: neither other batches nor the noise can be drawn from it.

    Examples
    --------
    >>> plan = PrivacyPlan(records=8, expected_batch=4, steps=1, noise_multiplier=1.0, delta=1e-3)
    >>> batch = Batch(8, plan, Randomness.of(seed=0))
    >>> bool((np.concatenate([batch.mask(0, 3), batch.mask(3, 8)]) == batch.mask(0, 8)).all())
    True
    """

    records: int
    plan: PrivacyPlan
    stream: Randomness

    def mask(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Return which of the records from `start` to `stop` are in the batch."""
        rate = self.plan.sampling_rate
        if self.plan.sampling == "poisson" or rate == 1:
            return self.stream.coins(stop - start, rate, start)
        # Only to reproduce the paper: a fixed number of records, drawn from all records at once.
        chosen = np.zeros(self.records, np.bool_)
        chosen[self.stream.generator().choice(self.records, round(rate * self.records), replace=False)] = True
        return chosen[start:stop]

"""What a step costs on a cluster: seconds from bytes and work, a rough model.

Each of W workers sums its share of the batch; parameters go out and sums come back along trees, every edge
of which carries all cells; the scheduler handles every task; noise is drawn in one place. The time of a
record was measured; bandwidth, latency, spread and the time of a task are assumptions.
"""

import math
from dataclasses import dataclass

from vips_core import validate

FAN = 8  # sums that are added at a time
MANY_LOTS = 256  # so many tasks hardly take the scheduler's time
RECORD_SECONDS = 35e-6  # a document of 100 words with 50 topics: 29,000 a second and core
BANDWIDTH = 1.25e9  # bytes a second between two machines: ten gigabits
LATENCY = 1e-3  # seconds until a message is handled by a process that is awake
TASK_SECONDS = 1e-3  # of the scheduler for a task, and for a worker that receives the parameters
NOISE_SECONDS = 60e-9  # a cell's noise
SPREAD = 0.05  # standard deviation of a worker's time over its mean


@dataclass(frozen=True)
class StepCost:
    """Seconds of one step, by what they go to.

    Attributes
    ----------
    summing
        Of the slowest worker.
    sending, adding
        Parameters to all workers, and sums to one, along trees.
    scheduling
        Of all tasks.
    noise
        In the driver.
    """

    summing: float
    sending: float
    adding: float
    scheduling: float
    noise: float

    @property
    def total(self) -> float:
        """Seconds of the step."""
        return self.summing + self.sending + self.adding + self.scheduling + self.noise

    @property
    def limit(self) -> str:
        """What takes the longest."""
        return max(vars(self), key=vars(self).__getitem__)


def step_cost(workers: int, batch: float, cells: int, record_seconds: float = RECORD_SECONDS) -> StepCost:
    """Return what a step costs.

    Parameters
    ----------
    workers
        W, each of one core.
    batch
        Records in the step.
    cells
        Numbers in the sums, and in the parameters: K·V for topics.
    record_seconds
        Seconds that one core takes for one record.

    Returns
    -------
    StepCost
        Its parts.

    Examples
    --------
    >>> step_cost(10, batch=1e6, cells=400_000).limit, step_cost(10_000, batch=1e6, cells=400_000).limit
    ('summing', 'scheduling')
    """
    validate.whole("workers", workers, low=1, high=10**6)
    hop = 8 * cells / BANDWIDTH + LATENCY
    lots = lots_of(workers)
    slowest = 1 + SPREAD * math.sqrt(2 * math.log(workers))  # the expected largest of W normal times
    return StepCost(
        summing=batch * record_seconds / workers * slowest,
        sending=hop * math.ceil(math.log2(workers + 1)),
        adding=hop * FAN * math.ceil(math.log(lots, FAN)),
        scheduling=TASK_SECONDS * (lots * FAN / (FAN - 1) + workers),
        noise=NOISE_SECONDS * cells,
    )


def lots_of(workers: int) -> int:
    """Return in how many lots a cluster sums: several a worker, to even out, but one where there are many."""
    return max(workers, min(4 * workers, MANY_LOTS))

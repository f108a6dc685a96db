"""The default engine: the models' own threads in this process, out of core where the data are sharded."""

from typing import Any

from vips_core.data.sharded import Sharded
from vips_core.engines.base import StepSums, Sums


class Threads:
    """Sums by this process."""

    def sums(self, data: Any, step: StepSums) -> Sums:
        """Return the sums of a step."""
        return step.over_shards(data) if isinstance(data, Sharded) else step.over(data)

"""The cost model of a cluster against a real one of many small worker processes: see `--help`.

python -m tests.benchmarks.cluster_cost --workers 4 16 --cells 1000 400000

A record takes `--seconds` of sleep, so that two cores can stand for many machines; what is left is what the
cluster adds. Of that the clock tells only on a quiet machine; processor time, without what an idle cluster
takes, tells on any. The constants of `vips_core.engines.cost` that can be compared are printed beside it.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np

import vips_core as vips
from tests.benchmarks.cluster import idle_share, processor_seconds
from tests.toy import BetaBernoulli
from vips_core.engines.cluster import client_of
from vips_core.engines.cost import BANDWIDTH, FAN, TASK_SECONDS, lots_of, step_cost

RECORDS = 8  # for each worker: two in each of its lots


@dataclass(frozen=True)
class Sleeping(BetaBernoulli):
    """Counts pixels; a record takes some sleep."""

    seconds: float = 0.0

    def e_step(self, params, batch, blocks):
        time.sleep(self.seconds * len(batch))
        return super().e_step(params, batch, blocks)


def measured(workers, cells, steps, seconds):
    """Return seconds of a step, and processor seconds of driver with scheduler, and of all workers."""
    data = vips.Images.from_images(np.zeros((workers * RECORDS, cells)), 0.5)
    plan = vips.PrivacyPlan(
        records=len(data), expected_batch=len(data), steps=steps + 1, noise_multiplier=1.0, delta=1e-9
    )
    with client_of(f"local[{workers}]") as client:
        idle = np.array(idle_share(client))
        moments = []

        def on_step(progress):
            moments.append((time.perf_counter(), *processor_seconds(client)))

        vips.fit(Sleeping(cells, 0.5, seconds=seconds), data, plan, seed=0, cluster=client, on_step=on_step)
    clock, *spent = (np.array(moments[-1]) - np.array(moments[0])) / steps
    return clock, *(np.array(spent) - idle * clock)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 8, 16])
    parser.add_argument("--cells", type=int, nargs="+", default=[1000, 400_000])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="of sleep for a record")
    options = parser.parse_args()
    print(f"the model: {1000 * TASK_SECONDS:g} ms a task, {1e9 / BANDWIDTH:.1f} s a gigabyte and edge")
    for workers in options.workers:
        for cells in options.cells:
            cost = step_cost(workers, workers * RECORDS, cells, record_seconds=options.seconds)
            clock, driver, others = measured(workers, cells, options.steps, options.seconds)
            tasks = lots_of(workers) * FAN / (FAN - 1) + workers
            print(
                f"{workers:>4} workers, {cells:>9,} cells: {clock:.2f} s a step (model {cost.total:.2f}); "
                f"processors: driver {1000 * driver:.0f} ms, {1000 * driver / tasks:.2f} a task; "
                f"a worker {1000 * others / workers:.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Kill workers, supervisors, registrations and openings: `python -m tests.benchmarks.crash --kills 500`.

--kills is the number of workers killed at random moments of reservation, release and settlement, with one
supervisor for every ten; --steps that of registrations, and of first openings of a store.
"""

import argparse
import tempfile
import time
from pathlib import Path

from tests.crash.harness import Harness
from tests.crash.killed_steps import kill_creations, kill_registrations

TOGETHER = 25  # registrations killed in one store, whose chain is verified after each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="workers to kill")
    parser.add_argument("--steps", type=int, default=125, help="registrations, and new stores, to kill")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    for kill in (kill_registrations, kill_creations):
        for part in range(0, options.steps, TOGETHER):
            with tempfile.TemporaryDirectory() as folder:
                kill(Path(folder), min(TOGETHER, options.steps - part), options.seed + part)
        print(f"{kill.__name__}: {options.steps}, the store whole after each", flush=True)
    if options.kills:
        kill_workers(options)


def kill_workers(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Path(folder), options.seed)
        try:
            kills = supervisors = 0
            while kills < options.kills:
                harness.keep_busy()
                if harness.kill_worker():
                    kills += 1
                    harness.check_opens()
                if harness.random.random() < 0.1:
                    harness.kill_supervisor()
                    supervisors += 1
                    harness.supervisor = harness.supervise()
            harness.drain()
            totals = harness.check_costs()
        finally:
            harness.close()
    made, recorded = totals["released"], totals["recorded"]
    print(
        f"seed {options.seed}: killed {kills} workers and {supervisors} supervisors in {totals['runs']} runs"
    )
    print(f"{made} releases made, {recorded} recorded ({recorded - made} more, none less)")


if __name__ == "__main__":
    main()

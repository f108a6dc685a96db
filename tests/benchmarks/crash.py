"""Kill workers and supervisors for as long as wanted: `python -m tests.benchmarks.crash --kills 500`."""

import argparse
import tempfile
import time
from pathlib import Path

from tests.crash.harness import Harness


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="workers to kill")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
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

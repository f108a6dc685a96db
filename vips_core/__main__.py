"""`python -m vips_core worker [RUN]` and `python -m vips_core supervisor`: the processes behind runs.

`vips_core.jobs.supervisor` starts them. This module sits above all layers because it imports every kind of
run. The user's command is `vips-explorer`, or `python -m vips_core.cli` without an installation.
"""

import argparse
import sys
from pathlib import Path

from vips_core.audits.job import run_audit
from vips_core.jobs import supervisor, worker
from vips_core.store.rows import AUDIT, FIT, SWEEP
from vips_core.store.store import Store
from vips_core.sweeps.job import run_sweep

JOBS: dict[str, worker.Job] = {FIT: worker.train, SWEEP: run_sweep, AUDIT: run_audit}


def main() -> int:
    """Run a worker or the supervisor; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vips_core", description=__doc__)
    parser.add_argument("process", choices=("worker", "supervisor"))
    parser.add_argument(
        "run_id", metavar="RUN", nargs="?", help="run to execute; without one, a worker waits"
    )
    parser.add_argument("--home", type=Path, help="folder of the store (default: VIPS_HOME)")
    options = parser.parse_args()
    try:
        store = Store(options.home)
        if options.process == "supervisor":
            supervisor.keep_moving(store)
            return 0
        worker.give_way()
        if options.run_id is None:
            worker.serve(store, JOBS)
        else:
            worker.run_one(store, options.run_id, JOBS)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m vips_core worker [RUN]` and `python -m vips_core supervisor`: the processes behind runs.

`vips_core.jobs.supervisor` starts them; here, above all layers, every kind of run is known. The command is
`vips-explorer`, or without an installation `python -m vips_core.cli`.
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
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="a worker without one waits for orders")
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

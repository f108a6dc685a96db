"""`python -m vips_core worker RUN` and `python -m vips_core supervisor`: the processes that runs are done in.

They are started from `vips_core.jobs.supervisor`; here, above all rooms, every kind of run is known.
"""

import sys

from vips_core.audits.job import run_audit
from vips_core.jobs import supervisor, worker
from vips_core.store.rows import AUDIT, FIT, SWEEP
from vips_core.sweeps.job import run_sweep

JOBS: dict[str, worker.Job] = {FIT: worker.train, SWEEP: run_sweep, AUDIT: run_audit}


def main() -> int:
    """Be the process that is asked for."""
    match sys.argv[1:]:
        case ["worker", *arguments]:
            worker.give_way()
            return worker.main(arguments, JOBS)
        case ["supervisor", *arguments]:
            return supervisor.main(arguments)
    print("python -m vips_core: name a process, worker or supervisor", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

"""A worker that waits for runs with everything loaded, as `vips_core.jobs.supervisor` starts it.

The supervisor writes ``RUN THREADS`` to the worker, which answers with an empty line when it is ready and
after each order. The worker ends with its supervisor, or after `IDLE` seconds without an order; it always
finishes a run that it has begun.
"""

import contextlib
import dataclasses
import os
import queue
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from vips_core.jobs import execution, submission
from vips_core.jobs.request import Request
from vips_core.kernels.pool import THREAD_VARIABLES
from vips_core.models.task import TASKS
from vips_core.records import DataSet
from vips_core.records.samples import load_sample, samples_of

if sys.platform != "win32":
    import resource

IDLE = 600.0  # seconds without an order after which a process ends
_MOST_MEMORY = 2**30  # bytes of an idle process; one that has just loaded everything uses a third of that
_RECORDS, _STEPS = 64, 4  # of runs that load code; some code of topics first runs in the fourth step


Lines = queue.SimpleQueue[bytes | None]  # orders to a process; None marks the end


def read_lines() -> Lines:
    """Return a queue of the lines of standard input, and of None at its end."""
    lines: Lines = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def orders(lines: Lines) -> Iterator[tuple[str, int]]:
    """Yield each ordered run with its threads, and report before each that the process is free."""
    answers = os.dup(1)  # standard output goes to the log of each run
    while True:
        with contextlib.suppress(OSError):  # the supervisor is gone; its last orders are still in the queue
            os.write(answers, b"\n")
        try:
            line = lines.get(timeout=IDLE)
        except queue.Empty:
            return
        if line is None:
            return
        run_id, threads = line.decode().split()
        yield run_id, int(threads)


def write_output_to(log: Path) -> None:
    """Send everything that this process prints to a file from now on."""
    with log.open("ab") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)


def use_threads(threads: int) -> None:
    """Compute in this many threads from now on."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    threadpool_limits(threads)


def has_grown() -> bool:
    """Whether this process has used more memory than an idle one should keep."""
    if sys.platform == "win32":
        return False
    if sys.platform == "linux":  # here ru_maxrss starts from the memory of the parent process
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        return _peak_memory(status) > _MOST_MEMORY
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit > _MOST_MEMORY


def _peak_memory(status: str) -> int:
    """Return the peak memory in a Linux process's status, in bytes; 0 if the status lacks it.

    Examples
    --------
    >>> _peak_memory("VmHWM: 2048 kB")
    2097152
    """
    sizes = (1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return next(sizes, 0)


def load_code(enough: Callable[[], bool]) -> None:
    """Load and compile what training needs, by short runs of every variant on public samples."""
    for task in reversed(list(TASKS.values())):  # topics last: they take longest to compile
        name = samples_of(task.kind)[0]
        of_variants = {method.variant: method.name for method in reversed(list(task.methods.values()))}
        for method in of_variants.values():
            if enough():
                return
            whole = load_sample(name)
            data = DataSet(name, _first(whole.train), _first(whole.test), private=False)
            table = {"model": task.name, "data": name, "method": method, "delta": 1e-3, "noise": 1.0}
            prepared = submission.prepare(Request.from_mapping(table | {"seed": 0}), data)
            plan = prepared.wall_plan.replace(steps=_STEPS)
            with tempfile.TemporaryDirectory(prefix="vips-") as folder:
                execution.run(dataclasses.replace(prepared, plan=plan), Path(folder))


def _first(records: Any) -> Any:
    return records[np.arange(len(records)) < _RECORDS]

"""Starts waiting runs as processes of their own and notices those that died.

There is no process in charge: whoever calls `start` (a page, a command, a worker at its end, the loop below)
does what is due, in transactions that let several callers act at once. Workers outlive their starter.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from vips_core.kernels.pool import THREAD_VARIABLES
from vips_core.runs import lifecycle
from vips_core.runs.rows import QUEUED, RUNNING
from vips_core.runs.store import Store

_POLL = 0.5


class Child(Protocol):
    """A process that was started."""

    def poll(self) -> int | None:
        """Return how it ended, None while it lives."""
        ...


_children: list[tuple[str, Child]] = []  # with the run each was started for, so that the dead can be reaped


def limit() -> int:
    """How many runs may train at once: `VIPS_WORKERS` where set, otherwise the number of cores."""
    text = os.environ.get("VIPS_WORKERS", "")
    if not text:
        return os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"VIPS_WORKERS must be a whole number of at least 1, got {text!r}")
    return int(text)


def launch(store: Store, run_id: str, threads: int) -> Child:
    """Start a worker that is independent of this process and writes to the run's log."""
    folder = store.folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "vips_core.runs.worker", run_id, "--home", str(store.home)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)),
        )


def detach(store: Store) -> None:
    """Keep the queue moving from a process of its own, which ends with the last run."""
    with (store.home / "supervisor.log").open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "vips_core.runs.supervisor", "--home", str(store.home)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _children.append(("", child))


def start(store: Store, launch: Callable[[Store, str, int], Child] = launch) -> list[str]:
    """Bury the dead, start what may start, and return the runs that were started."""
    for run_id, child in list(_children):
        if child.poll() is not None:
            _children.remove((run_id, child))
            lifecycle.unclaim(store, run_id)
    lifecycle.bury(store)
    started: list[str] = []
    while store.database.read("SELECT 1 FROM runs WHERE status = 'queued' LIMIT 1"):
        claimed = lifecycle.claim(store, limit())
        if claimed is None:
            break
        run_id, active = claimed
        child = launch(store, run_id, max(1, (os.cpu_count() or 1) // active))
        _children.append((run_id, child))
        started.append(run_id)
    return started


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep the queue moving until no run waits or trains."""
    parser = argparse.ArgumentParser(prog="python -m vips_core.runs.supervisor", description=__doc__)
    parser.add_argument("--home", type=Path, help="folder of the store (default: VIPS_HOME)")
    options = parser.parse_args(arguments)
    try:
        store = Store(options.home)
        while store.runs(status=QUEUED) or store.runs(status=RUNNING):
            start(store)
            time.sleep(_POLL)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

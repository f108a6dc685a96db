"""Forks supervisors, whose workers are forks too: they start within milliseconds instead of seconds.

Each worker writes one byte to a file of its run before each release that it makes, past the store, so that a
test knows what was really released. On stdin, "supervise" asks for one more supervisor; its pid is printed.
"""

import importlib
import os
import sys
import time
import traceback
from pathlib import Path

from vips_core.__main__ import JOBS
from vips_core.jobs import lifecycle, supervisor, worker
from vips_core.store.store import Store

POLL = 0.02
CLAIM = 5.0  # seconds; a fork begins its run within milliseconds, and `drain` waits for claims of the dead


def log_releases(file: Path) -> None:
    """Count releases at the wall itself, before each happens."""
    loop = importlib.import_module("vips_core.fit")  # the package's own name `fit` is the function
    release = loop.release
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def logged(*arguments):
        os.write(descriptor, b".")
        return release(*arguments)

    loop.release = logged


class Fork:
    """A supervisor's child, with the `poll` that `supervisor.start` calls."""

    def __init__(self, pid: int) -> None:
        self.pid, self.code = pid, None

    def poll(self) -> int | None:
        if self.code is None and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.code = 1
        return self.code


def launch(store: Store, run_id: str, threads: int) -> supervisor.Poll:
    """Start a worker as `supervisor.launch` does, but by a fork."""
    pid = os.fork()
    if pid:
        (store.home / "pids" / run_id).write_text(str(pid))
        return Fork(pid).poll
    code = 1
    try:
        os.setsid()
        store.folder(run_id).mkdir(parents=True, exist_ok=True)
        log = os.open(store.folder(run_id) / "worker.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        log_releases(store.home / "released" / run_id)
        worker.run_one(store, run_id, JOBS, then=lambda store: None)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def supervise(home: Path) -> None:
    store = Store(home)
    while True:
        supervisor.start(store, launch)
        time.sleep(POLL)


def main() -> None:
    home = Path(sys.argv[1])
    lifecycle.CLAIM = CLAIM
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "supervise":
            pid = os.fork()
            if pid == 0:
                try:
                    os.setsid()
                    supervise(home)
                finally:
                    os._exit(1)
            print(pid, flush=True)


if __name__ == "__main__":
    main()

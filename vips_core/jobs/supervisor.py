"""Start queued runs in separate processes, and end the runs of processes that died.

There is no process in charge: whoever calls `start` (a page, a command, a worker at its end, the loop below)
does what is due, in transactions that let several callers act at once. Workers outlive their starter. Warm
ones, which the dashboard keeps, wait with everything loaded; `vips_core.jobs.warm` is what they do.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from vips_core import validate
from vips_core.jobs import execution, lifecycle
from vips_core.kernels.pool import THREAD_VARIABLES
from vips_core.store.rows import QUEUED, RUNNING
from vips_core.store.store import Store

_POLL = 0.5


class Child(Protocol):
    """A process that was started."""

    def poll(self) -> int | None:
        """Return how it ended, None while it lives."""
        ...


class WarmWorker:
    """A process that waits for runs of one store."""

    def __init__(self, home: Path, when_ready: Callable[[], object]) -> None:
        self.home = home
        self._given, self._answers, self._when_ready = 0, 0, when_ready
        with (home / "workers.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "vips_core", "worker", "--home", str(home)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answering = self._process.stdin, self._process.stdout
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded everything."""
        return self._answers > 0

    @property
    def is_free(self) -> bool:
        """Whether it lives and has no run; one that still loads will have less to load than another."""
        return self.poll() is None and self._given == max(0, self._answers - 1)

    def poll(self) -> int | None:
        """Return how it ended, None while it lives."""
        return self._process.poll()

    def give(self, run_id: str, threads: int) -> "Order | None":
        """Let it do a run; None where it has just ended."""
        self._given += 1
        try:
            self._orders.write(f"{run_id} {threads}\n".encode())
        except (OSError, ValueError):  # of a pipe that the process, or `_listen` after it, has closed
            return None
        return Order(self, self._given)

    def has_done(self, number: int) -> bool:
        """Whether so many orders were answered."""
        return self._answers > number

    def _listen(self) -> None:
        with self._orders, self._answering as answers:
            for _ in answers:
                self._answers += 1
                if self._answers == 1:
                    self._when_ready()
            self._process.wait()  # no zombie stays


class Order:
    """A run that was given to a warm process; it ends like a process of its own."""

    def __init__(self, worker: WarmWorker, number: int) -> None:
        self._worker, self._number = worker, number

    def poll(self) -> int | None:
        """Return how it ended, None while it is being done."""
        return 0 if self._worker.has_done(self._number) else self._worker.poll()


_children: list[tuple[str, Child]] = []  # with the run each was started for
_warm: list[WarmWorker] = []
_handing_out = threading.Lock()


def limit() -> int:
    """Return how many runs may train at once: `VIPS_WORKERS`, by default the number of cores."""
    return validate.from_environment("VIPS_WORKERS", default=os.cpu_count() or 1, low=1)


def warm_limit() -> int:
    """Return how many warm workers to keep: `VIPS_WARM`, which the dashboard sets; by default none."""
    return min(limit(), validate.from_environment("VIPS_WARM", default=0, low=0))


def keep_warm(store: Store) -> None:
    """Let processes wait for the store's runs, started one after the other; those that died are replaced."""
    if store.database.read_only:
        return
    with _handing_out:
        _warm[:] = [worker for worker in _warm if worker.poll() is None]
        own = [worker for worker in _warm if worker.home == store.home]
        if len(own) < warm_limit() and all(worker.is_ready for worker in own):
            _warm.append(WarmWorker(store.home, when_ready=lambda: keep_warm(store)))


def launch(store: Store, run_id: str, threads: int) -> Child:
    """Give a run to a process that waits, or start one; both are independent of this one."""
    with _handing_out:
        for worker in _warm:
            if worker.home == store.home and worker.is_free and (order := worker.give(run_id, threads)):
                return order
    folder = store.folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    variables = dict.fromkeys(THREAD_VARIABLES, str(threads))
    return _process(store, folder / execution.LOG, "worker", run_id, variables=variables)


def detach(store: Store) -> None:
    """Keep the queue moving from a process of its own, which ends with the last run."""
    _process(store, store.home / "supervisor.log", "supervisor")


def _process(store: Store, log: Path, *what: str, variables: Mapping[str, str] | None = None) -> Child:
    """Start a process that outlives this one and prints to a log."""
    with log.open("ab") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "vips_core", *what, "--home", str(store.home)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=os.environ | (variables or {}),
        )
    threading.Thread(target=child.wait, daemon=True).start()  # no zombie stays
    return child


def start(store: Store, launch: Callable[[Store, str, int], Child] = launch) -> list[str]:
    """End the runs of dead workers, and start as many queued runs as the limit allows.

    Parameters
    ----------
    store
        Whose runs wait.
    launch
        Starts a process for a run, given how many threads it may use.

    Returns
    -------
    list of str
        The runs that were started; none where the store is read-only.
    """
    if store.database.read_only:
        return []
    for run_id, child in list(_children):
        if child.poll() is not None:
            _children.remove((run_id, child))
            lifecycle.drop_claim(store, run_id)
    lifecycle.end_abandoned(store)
    started: list[str] = []
    while (run := next_run(store)) is not None:
        run_id, threads = run
        _children.append((run_id, launch(store, run_id, threads)))
        started.append(run_id)
    return started


def next_run(store: Store) -> tuple[str, int] | None:
    """Claim the longest waiting run, with the threads that it may use; None where none may start."""
    if not store.database.read("SELECT 1 FROM runs WHERE status = 'queued' LIMIT 1"):
        return None
    claimed = lifecycle.claim(store, limit())
    return claimed and (claimed[0], max(1, (os.cpu_count() or 1) // claimed[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep the queue moving until no run waits or trains."""
    parser = argparse.ArgumentParser(prog="python -m vips_core supervisor", description=__doc__)
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

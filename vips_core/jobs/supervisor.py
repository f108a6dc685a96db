"""Start queued runs in separate processes, and end the runs of processes that died.

No process is in charge: pages, commands, workers that end and the loop below all call `start`, and
transactions let them do so at once. Workers outlive the process that starts them. The dashboard keeps warm
workers, which wait for runs with everything loaded (`vips_core.jobs.warm`).
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from vips_core import validate
from vips_core.jobs import execution, lifecycle
from vips_core.kernels.pool import THREAD_VARIABLES
from vips_core.store.rows import QUEUED, RUNNING
from vips_core.store.store import Store

_POLL = 0.5  # seconds between two checks of the queue


Poll = Callable[[], int | None]  # exit code of the started run; None while it runs


def _start_process(home: Path, log: str | Path, *what: str, **options: Any) -> Popen[bytes]:
    """Start a process for a store, which outlives this process and prints to a log."""
    command = [sys.executable, "-m", "vips_core", *what, "--home", str(home)]
    with (home / log).open("ab") as file:
        streams: dict[str, Any] = {"stdin": DEVNULL, "stdout": file, "stderr": file}
        return Popen(command, bufsize=0, start_new_session=True, **streams | options)


class WarmWorker:
    """A process that waits for runs of one store."""

    def __init__(self, home: Path, when_ready: Callable[[], object]) -> None:
        self.home, self._when_ready = home, when_ready
        self._given = self._answers = 0
        self._process = _start_process(home, "workers.log", "worker", stdin=PIPE, stdout=PIPE)
        self.pid, self.poll = self._process.pid, self._process.poll
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded everything."""
        return self._answers > 0

    @property
    def is_free(self) -> bool:
        """Whether it lives and has no run; even while it loads, it will be ready before a new process."""
        return self.poll() is None and self._given == max(0, self._answers - 1)

    def give(self, run_id: str, threads: int) -> Poll | None:
        """Give it a run and return the run's `Poll`; None if the process has just ended."""
        self._given += 1
        number = self._given
        try:
            self._process.stdin.write(f"{run_id} {threads}\n".encode())  # type: ignore[union-attr]
        except (OSError, ValueError):  # the process, or `_listen` after it, has closed the pipe
            return None
        return lambda: 0 if self._answers > number else self.poll()

    def _listen(self) -> None:
        with self._process:  # closes its pipes at the end, and leaves no zombie
            for _ in self._process.stdout:  # type: ignore[union-attr]
                self._answers += 1
                if self._answers == 1:
                    self._when_ready()


_children: list[tuple[str, Poll]] = []  # each with the run that it was started for
_warm: list[WarmWorker] = []
_handing_out = threading.Lock()


def limit() -> int:
    """Return how many runs may train at once: `VIPS_WORKERS`, by default the number of cores."""
    return validate.from_environment("VIPS_WORKERS", default=os.cpu_count() or 1, low=1)


def warm_limit() -> int:
    """Return how many warm workers to keep: `VIPS_WARM`, which the dashboard sets; by default none."""
    return min(limit(), validate.from_environment("VIPS_WARM", default=0, low=0))


def keep_warm(store: Store) -> None:
    """Keep warm workers for the store's runs: start one at a time, and replace those that died."""
    if store.database.read_only:
        return
    with _handing_out:
        _warm[:] = [worker for worker in _warm if worker.poll() is None]
        own = [worker for worker in _warm if worker.home == store.home]
        if len(own) < warm_limit() and all(worker.is_ready for worker in own):
            _warm.append(WarmWorker(store.home, when_ready=lambda: keep_warm(store)))


def launch(store: Store, run_id: str, threads: int) -> Poll:
    """Give a run to a warm worker, or start a process for it; both outlive this process."""
    with _handing_out:
        for worker in _warm:
            if worker.home == store.home and worker.is_free and (poll := worker.give(run_id, threads)):
                return poll
    folder = store.folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    env = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    return _unattended(_start_process(store.home, folder / execution.LOG, "worker", run_id, env=env))


def detach(store: Store) -> None:
    """Keep the queue moving from a process of its own, which ends with the last run."""
    _unattended(_start_process(store.home, "supervisor.log", "supervisor"))


def _unattended(process: Popen[bytes]) -> Poll:
    threading.Thread(target=process.wait, daemon=True).start()  # leaves no zombie
    return process.poll


def start(store: Store, launch: Callable[[Store, str, int], Poll] = launch) -> list[str]:
    """End the runs of dead workers, and start as many queued runs as the limit allows.

    Parameters
    ----------
    store
        Store whose runs wait.
    launch
        Starts a process for a run, given how many threads it may use, and returns its `Poll`.

    Returns
    -------
    list of str
        The runs that were started; none if the store is read-only.
    """
    if store.database.read_only:
        return []
    for run_id, poll in list(_children):
        if poll() is not None:
            _children.remove((run_id, poll))
            lifecycle.drop_claim(store, run_id)
    lifecycle.end_abandoned(store)
    started: list[str] = []
    while (run := next_run(store)) is not None:
        run_id, threads = run
        _children.append((run_id, launch(store, run_id, threads)))
        started.append(run_id)
    return started


def next_run(store: Store) -> tuple[str, int] | None:
    """Claim the longest waiting run, with the threads that it may use; None if none may start."""
    if not store.database.read("SELECT 1 FROM runs WHERE status = 'queued' LIMIT 1"):
        return None
    claimed = lifecycle.claim(store, limit())
    return claimed and (claimed[0], max(1, (os.cpu_count() or 1) // claimed[1]))


def keep_moving(store: Store) -> None:
    """Keep the queue moving until no run waits or trains."""
    while store.runs(status=QUEUED) or store.runs(status=RUNNING):
        start(store)
        time.sleep(_POLL)

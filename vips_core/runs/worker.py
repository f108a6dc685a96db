"""One run in one process: `python -m vips_core.runs.worker RUN_ID`, or `work` in the caller's own process."""

import argparse
import contextlib
import errno
import os
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vips_core.fit import Progress
from vips_core.privacy.ledger import Ledger
from vips_core.runs import alive, execution, lifecycle, supervisor
from vips_core.runs.lifecycle import GivenUpError
from vips_core.runs.request import Request
from vips_core.runs.rows import CANCELLED, DONE, FAILED
from vips_core.runs.store import Store

OnStep = Callable[[Any], object]  # of a fit's Progress or of a sweep's CellProgress
_PAUSE = 0.2  # seconds between two computations of ε so far, which a fast step does not wait for
_NICE = 10  # priority of training, where 0 is that of the pages and 19 the lowest
_WATCHING = 0.25  # share of the time that may go to scores while training


def work(store: Store, run_id: str, on_step: OnStep | None = None) -> None:
    """Do a waiting run to its end, which the store then tells; `on_step` may return True to stop it.

    Mistakes in the run are recorded in the store and not raised. What is raised: `ValueError` where the run
    does not wait or the store cannot be written (the run is then settled later), and `KeyboardInterrupt`.
    """
    folder, worker = store.folder(run_id), secrets.token_hex(8)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with alive.held(folder / "alive"):
            if not lifecycle.begin(store, run_id, worker):
                raise ValueError(f"run {run_id} cannot be started: it is {store.run(run_id).status}")
            _work(store, run_id, worker, on_step)
    except BlockingIOError:
        raise ValueError(f"run {run_id} cannot be started: another process is at it") from None


def _work(store: Store, run_id: str, worker: str, on_step: OnStep | None) -> None:
    job = _sweep if store.run(run_id).kind == "sweep" else _fit
    try:
        job(store, run_id, worker, on_step)
    except GivenUpError:
        _log(store, run_id)
    except KeyboardInterrupt:
        lifecycle.finish(store, run_id, worker, CANCELLED, None)
        raise
    except Exception as error:  # whatever it was: the run ends, its cost is settled, and the user is told
        _log(store, run_id)
        lifecycle.finish(store, run_id, worker, FAILED, None, error=_sentence(error))


def _fit(store: Store, run_id: str, worker: str, on_step: OnStep | None) -> None:
    row = store.run(run_id)
    prepared = execution.prepare(Request.from_mapping(row.request), store.load(row.data))
    reserved = lifecycle.reserved(store, run_id)
    if prepared.data.private and reserved != tuple(prepared.plan.events()):
        raise ValueError("the plan is not the one whose cost was reserved: submit the run again")
    if lifecycle.advance(store, run_id, worker, 0, 1):
        return lifecycle.finish(store, run_id, worker, CANCELLED, (), epsilon=row.epsilon)
    follow = _Follower(store, run_id, worker, prepared, on_step)
    result = execution.run(prepared, store.folder(run_id), follow).result
    spent = result["epsilon"]
    lifecycle.finish(
        store,
        run_id,
        worker,
        CANCELLED if follow.stopped else DONE,
        follow.ledger.events(),
        epsilon=spent.get("pld", spent.get("pure")),
    )


class _Follower:
    """What happens after each step: progress is stored, and the next release announced."""

    def __init__(
        self, store: Store, run_id: str, worker: str, prepared: execution.Prepared, on_step: OnStep | None
    ) -> None:
        self._place = (store, run_id, worker)
        self._prepared = prepared
        self._on_step = on_step
        self._started = self._judged = time.monotonic()
        self._watched = 0.0
        self.ledger = Ledger(prepared.plan.records)
        self.stopped = False

    def __call__(self, progress: Progress[Any]) -> bool:
        self.ledger = progress.ledger
        last = progress.step == progress.plan.steps
        stop = self._on_step is not None and self._on_step(progress) is True and not last
        cancelled = lifecycle.advance(
            *self._place,
            progress.step,
            progress.step + (0 if stop or last else 1),
            epsilon=self._epsilon(progress, last),
            score=self._score(progress, last),
        )
        self.stopped = stop or (cancelled and not last)
        return self.stopped

    def _epsilon(self, progress: Progress[Any], last: bool) -> float | None:
        now = time.monotonic()
        if not self._prepared.request.private or (now - self._judged < _PAUSE and not last):
            return None
        self._judged = now
        return execution.epsilon_so_far(progress)

    def _score(self, progress: Progress[Any], last: bool) -> float | None:
        start = time.monotonic()
        if self._watched > _WATCHING * (start - self._started) and not last:
            return None
        score = execution.watch(self._prepared, progress)
        self._watched += time.monotonic() - start
        return score


def _sweep(store: Store, run_id: str, worker: str, on_step: OnStep | None) -> None:
    from vips_core.sweeps.sweep import CellProgress, execute  # here: a sweep needs the store too

    stopped = False

    def on_cell(progress: CellProgress) -> bool:
        nonlocal stopped
        done = progress.done + progress.failed
        cancelled = lifecycle.advance(store, run_id, worker, done, 0, steps=progress.cells)
        stopped = cancelled or (on_step is not None and on_step(progress) is True)
        return stopped

    end = execute(store, run_id, on_cell)
    if end.failed and not stopped:
        sentence = f"{end.failed} of {end.cells} cells failed; their files say why"
        return lifecycle.finish(store, run_id, worker, FAILED, (), error=sentence)
    lifecycle.finish(store, run_id, worker, CANCELLED if stopped and end.done < end.cells else DONE, ())


def _sentence(error: Exception) -> str:
    """Say what went wrong in one line, without a traceback."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return (
            f"the disk is full: {error.strerror or error}; what was released is counted, its result is lost"
        )
    if isinstance(error, MemoryError):
        return "there is not enough memory for this run"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


def _log(store: Store, run_id: str) -> None:
    """Keep the traceback for those who can read it, where the disk allows."""
    try:
        with (store.folder(run_id) / "worker.log").open("a", encoding="utf-8") as file:
            file.write(traceback.format_exc())
    except OSError as error:
        print(f"the log cannot be written: {error}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None, then: Callable[[Store], object] = supervisor.start) -> int:
    """Do one run, `then` start those that wait; SIGTERM asks it to stop within one step."""
    parser = argparse.ArgumentParser(prog="python -m vips_core.runs.worker", description=__doc__)
    parser.add_argument("run_id", metavar="RUN_ID")
    parser.add_argument("--home", type=Path, help="folder of the store (default: VIPS_HOME)")
    options = parser.parse_args(arguments)
    try:
        asked = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: asked.set())
        store = Store(options.home)
        work(store, options.run_id, lambda progress: asked.is_set())
        then(store)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def give_way() -> None:
    """Let the pages go first. Linux weighs sessions, and a worker has one of its own, before processes."""
    os.nice(_NICE)
    with contextlib.suppress(OSError):  # other systems, and kernels without groups
        Path("/proc/self/autogroup").write_text(str(_NICE), encoding="ascii")


if __name__ == "__main__":
    give_way()
    sys.exit(main())

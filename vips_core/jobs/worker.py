"""One run: `main` in a process of its own (`python -m vips_core worker`), `work` in the caller's."""

import argparse
import contextlib
import errno
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vips_core.fit import Fit, Progress
from vips_core.jobs import execution, lifecycle, lock, room, supervisor, warm
from vips_core.jobs.lifecycle import GivenUpError, RunInHand
from vips_core.jobs.plan import plan_of_releases
from vips_core.jobs.request import Request
from vips_core.jobs.submission import check_private
from vips_core.privacy.accountants import stated
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.plan import PurePlan
from vips_core.rounding import brief
from vips_core.store.database import StoreError
from vips_core.store.rows import CANCELLED, DONE, FAILED, FIT
from vips_core.store.store import Store

OnStep = Callable[[Any], object]  # of a fit's Progress or of a sweep's CellProgress
Job = Callable[[RunInHand, OnStep | None], None]  # what a run of some kind does once it is in hand
_PAUSE = 0.2  # seconds between two computations of ε so far, which a fast step does not wait for
_NICE = 4  # priority of training, 0 being that of the pages: beside another busy process, 0.3 of a core
_WATCHING = 0.1  # share of the time that may go to scores while training


class KeptElsewhereError(ValueError):
    """Results could not be written; the message says what was spent and where they are instead."""


def work(store: Store, run_id: str, on_step: OnStep | None = None, job: Job | None = None) -> None:
    """Do a waiting run to its end, which the store then tells.

    Mistakes in the run are recorded in the store and not raised. What is raised: `ValueError` where the run
    does not wait or the store cannot be written (the run is then settled later), and `KeyboardInterrupt`.

    Parameters
    ----------
    store, run_id
        The run.
    on_step
        Called with the progress; it may return True to stop.
    job
        What a run of its kind does; by default it trains one model.
    """
    folder = store.folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with lock.hold(folder):
            run = lifecycle.begin(store, run_id)
            if run is None:
                raise ValueError(f"run {run_id} cannot be started: it is {store.run(run_id).status}")
            _to_its_end(run, on_step, job or train)
    except BlockingIOError:
        raise ValueError(f"run {run_id} cannot be started: another process is at it") from None


def _to_its_end(run: RunInHand, on_step: OnStep | None, job: Job) -> None:
    try:
        job(run, on_step)
    except GivenUpError:
        _log(run)
    except KeyboardInterrupt:
        run.finish(CANCELLED, None)
        raise
    except Exception as error:  # whatever it was: the run ends, its cost is settled, and the user is told
        _log(run)
        _finish_failed(run, error)


def _finish_failed(run: RunInHand, error: Exception) -> None:
    try:
        run.finish(FAILED, None, error=_sentence(error))
    except StoreError as problem:  # then the store cannot tell where the results are
        kept = f"; {error}" if isinstance(error, KeptElsewhereError) else ""
        raise StoreError(f"{problem}{kept}") from None


def train(run: RunInHand, on_step: OnStep | None) -> None:
    """Train one model, by the plan that was stored with the run."""
    store, row = run.store, run.store.run(run.id)
    request, data = Request.from_mapping(row.request), store.load(row.data)
    plan, reserved = row.plan, lifecycle.reserved(store, row)
    if plan is None and reserved is not None:  # stored by the version before
        plan = plan_of_releases(reserved, len(data.train), request.get("delta"))
    prepared = execution.prepare(request, data, plan)
    if data.private or reserved is not None:  # a table can be edited; the ledger counts
        check_private(request, row.data)
        plan = prepared.wall_plan
        if reserved != tuple(plan.events()) or not plan.is_sampled_as_accounted:
            raise ValueError("the plan is not the one whose cost was reserved: submit the run again")
    room.check(store.home, room.needed(prepared))
    follow = _Follower(run, prepared, on_step, room.set_aside(store.folder(run.id), room.needed(prepared)))
    try:
        if run.advance(0, 1):
            return run.finish(CANCELLED, (), epsilon=row.epsilon)
        result = execution.run(prepared, store.folder(run.id), follow)
    except (OSError, StoreError) as error:
        raise follow.kept_elsewhere(error) from error
    finally:
        follow.give_room()
    spent = result["epsilon"]
    if isinstance(prepared.plan, PurePlan):
        run.advance(1, 1)  # its only answer is there
    run.finish(
        CANCELLED if follow.stopped else DONE,
        follow.ledger.events(),
        epsilon=spent.get("pld", spent.get("pure")),
    )


_JOBS = {FIT: train}


class _Follower:
    """What happens after each step: progress is stored, and the next release announced."""

    def __init__(
        self, run: RunInHand, prepared: execution.Prepared, on_step: OnStep | None, room_file: Path
    ) -> None:
        self._run = run
        self._prepared = prepared
        self._on_step = on_step
        self._room_file = room_file
        self._last: Progress[Any] | None = None
        self._started = self._judged = time.monotonic()
        self._watched = 0.0
        self.ledger = Ledger(prepared.plan.records)
        self.stopped = False

    def __call__(self, progress: Progress[Any]) -> bool:
        self.ledger, self._last = progress.ledger, progress
        last = progress.step == progress.plan.steps
        stop = self._on_step is not None and self._on_step(progress) is True and not last
        cancelled = self._run.advance(
            progress.step,
            progress.step + (0 if stop or last else 1),
            epsilon=self._epsilon(progress, last),
            score=self._score(progress, last),
        )
        self.stopped = stop or (cancelled and not last)
        if self.stopped or last:
            self.give_room()
        return self.stopped

    def give_room(self) -> None:
        """Give back the room that was set aside for the results."""
        self._room_file.unlink(missing_ok=True)

    def kept_elsewhere(self, error: Exception) -> Exception:
        """Keep what was released in another place, and return the error with what was spent and where."""
        last = self._last
        if last is None:
            return error
        fit = Fit(self._prepared.model, last.params, last.ledger, last.plan)
        folder = room.rescue(self._run.id, lambda place: execution.write_release(place, fit))
        cost = ""
        if self._prepared.request.private:
            spent = execution.epsilon_so_far(self._prepared.request, last)
            cost = f", ε = {stated(spent)} at δ = {brief(last.plan.delta)},"
        where = f"was kept in {folder}" if folder else "could be kept nowhere else"
        return KeptElsewhereError(f"{_sentence(error)}; what was released{cost} is counted and {where}")

    def _epsilon(self, progress: Progress[Any], last: bool) -> float | None:
        now = time.monotonic()
        if not self._prepared.request.private or (now - self._judged < _PAUSE and not last):
            return None
        self._judged = now
        return execution.epsilon_so_far(self._prepared.request, progress)

    def _score(self, progress: Progress[Any], last: bool) -> float | None:
        start = time.monotonic()
        if self._watched > _WATCHING * (start - self._started) and not last:
            return None
        score = execution.watch(self._prepared, progress)
        self._watched += time.monotonic() - start
        return score


def _sentence(error: Exception) -> str:
    """Say what went wrong in one line, without a traceback."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the disk is full: {error.strerror or error}"
    if isinstance(error, OSError) and error.filename is not None:  # the log has the path
        return f"a file of this run cannot be used: {str(error.strerror).lower()}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this run"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


def _log(run: RunInHand) -> None:
    """Keep the traceback for those who can read it, where the disk allows."""
    try:
        with (run.store.folder(run.id) / execution.LOG).open("a", encoding="utf-8") as file:
            file.write(traceback.format_exc())
    except OSError as error:
        print(f"the log cannot be written: {error}", file=sys.stderr)


def main(
    arguments: Sequence[str] | None = None,
    jobs: Mapping[str, Job] | None = None,
    then: Callable[[Store], object] = supervisor.start,
) -> int:
    """Do one run, `then` start those that wait; without a run, those that come on standard input.

    SIGTERM asks it to stop within one step. `jobs` says what runs of each kind do; left out, there are only
    those that train one model.
    """
    parser = argparse.ArgumentParser(prog="python -m vips_core worker", description=__doc__)
    parser.add_argument("run_id", metavar="RUN_ID", nargs="?")
    parser.add_argument("--home", type=Path, help="folder of the store (default: VIPS_HOME)")
    options = parser.parse_args(arguments)
    asked = threading.Event()
    try:
        store = Store(options.home)
        if options.run_id is None:
            return _serve(store, asked, jobs or _JOBS)
        signal.signal(signal.SIGTERM, lambda number, frame: asked.set())
        _do(store, options.run_id, asked, jobs or _JOBS)
        then(store)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _do(store: Store, run_id: str, asked: threading.Event, jobs: Mapping[str, Job]) -> None:
    work(store, run_id, lambda progress: asked.is_set(), jobs[store.run(run_id).kind])


def _serve(store: Store, asked: threading.Event, jobs: Mapping[str, Job]) -> int:
    """Do the runs that are ordered, and after each those that wait."""
    orders = warm.Orders()

    def stop(number: int, frame: Any) -> None:
        asked.set()
        orders.stop()

    signal.signal(signal.SIGTERM, stop)
    warm.load_code(enough=orders.has_next)
    for order in orders:
        run: tuple[str, int] | None = order
        while run is not None:
            run_id, threads = run
            store.folder(run_id).mkdir(parents=True, exist_ok=True)
            warm.write_output_to(store.folder(run_id) / execution.LOG)
            warm.use_threads(threads)
            try:
                _do(store, run_id, asked, jobs)
                run = None if asked.is_set() else supervisor.next_run(store)
            except (ValueError, OSError) as error:
                print(error, file=sys.stderr, flush=True)
                run = None
        if warm.has_grown():
            break
    return 0


def give_way() -> None:
    """Let the pages go first. Linux weighs sessions, and a worker has one of its own, before processes."""
    os.nice(_NICE)
    with contextlib.suppress(OSError):  # other systems, and kernels without groups
        Path("/proc/self/autogroup").write_text(str(_NICE), encoding="ascii")

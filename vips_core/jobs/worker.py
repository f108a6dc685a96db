"""Doing runs: `work` in this process, `run_one` and `serve` in worker processes."""

import contextlib
import errno
import functools
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vips_core.fit import Fit, Progress
from vips_core.jobs import execution, lifecycle, supervisor, warm
from vips_core.jobs.lifecycle import ClaimedRun, GivenUpError
from vips_core.jobs.request import Request
from vips_core.jobs.submission import Prepared, check_private, prepare, queue
from vips_core.privacy.accountants import stated
from vips_core.rounding import brief
from vips_core.store.database import StoreError
from vips_core.store.rows import CANCELLED, DONE, FAILED, RunRow
from vips_core.store.store import Store

OnStep = Callable[[Any], object]  # of a fit's Progress or of a sweep's CellProgress
Job = Callable[[ClaimedRun, OnStep | None], None]  # trains, sweeps or audits a run that was claimed
_PAUSE = 0.2  # seconds between two updates of ε so far, so that fast steps do not wait for them
_NICE = 4  # niceness of training (pages have 0): beside a busy process it gets 0.3 of a core
_WATCHING = 0.1  # largest share of the training time that is spent on scores


class KeptElsewhereError(ValueError):
    """Results could not be written; the message says what was spent and where they are instead."""


def work(store: Store, run_id: str, on_step: OnStep | None = None, job: Job | None = None) -> None:
    """Run a queued job to completion and record its status.

    Errors of the run are recorded in the store, not raised. This function raises `ValueError` if the run is
    not queued or the store cannot be written (the run is then settled later), and `KeyboardInterrupt`.

    Parameters
    ----------
    store, run_id
        The run.
    on_step
        Called with the progress; returning True stops the run.
    job
        The job of this kind of run; by default, it trains one model.
    """
    folder = store.folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with lifecycle.hold_lock(folder):
            run = lifecycle.begin(store, run_id)
            if run is None:
                raise ValueError(f"run {run_id} cannot be started: it is {store.run(run_id).status}")
            _run_to_completion(run, on_step, job or train)
    except BlockingIOError:
        raise ValueError(f"run {run_id} cannot be started: another process is running it") from None


def work_in_foreground(
    store: Store, prepared: Prepared, show: Callable[[str], OnStep]
) -> tuple[RunRow, bool]:
    """Queue a prepared run and do it in this process, without reading or hashing its records again.

    The first Ctrl-C stops it after its step, with results; a second one at once. A run that failed raises
    `ValueError`.

    Parameters
    ----------
    store, prepared
        The run.
    show
        Called with the name of the run before it begins; returns the function to call after each step.

    Returns
    -------
    tuple of RunRow and bool
        The run as it ended, and whether Ctrl-C stopped it.
    """
    run_id = queue(store, prepared, held=True)
    try:
        on_step = show(run_id)
    except BaseException:  # a Ctrl-C too: no other process may start a run that the user has given up
        store.cancel(run_id)
        raise
    with noted_interrupts(stop_after_step) as interrupted:

        def stops(progress: Progress[Any]) -> bool:
            return on_step(progress) is True or interrupted.is_set()

        work(store, run_id, stops, functools.partial(train, prepared=prepared))
    row = store.run(run_id)
    if row.status == FAILED:
        raise ValueError(f"run {run_id} failed: {row.error}")
    return row, interrupted.is_set()


def _run_to_completion(run: ClaimedRun, on_step: OnStep | None, job: Job) -> None:
    try:
        job(run, on_step)
    except GivenUpError:
        _log(run)
    except KeyboardInterrupt:
        run.finish(CANCELLED, None)
        raise
    except Exception as error:  # any error ends the run, settles its cost, and is reported to the user
        _log(run)
        try:
            run.finish(FAILED, None, error=_sentence(error))
        except StoreError as problem:  # then the store cannot tell where the results are
            kept = f"; {error}" if isinstance(error, KeptElsewhereError) else ""
            raise StoreError(f"{problem}{kept}") from None


def train(run: ClaimedRun, on_step: OnStep | None, prepared: Prepared | None = None) -> None:
    """Train one model: as `prepared` by the process that queued the run, otherwise as the store says."""
    store, row = run.store, run.store.run(run.id)
    if prepared is None:
        prepared = prepare(Request.from_mapping(row.request), store.load(row.data), row.plan)
    reserved = lifecycle.reserved(store, row, prepared.data.fingerprint)
    if prepared.data.private or reserved is not None:  # a table can be edited; the ledger counts
        check_private(prepared.request, row.data)
        plan = prepared.wall_plan
        if reserved != tuple(plan.events()) or not plan.is_sampled_as_accounted:
            raise ValueError("the plan is not the one whose cost was reserved: submit the run again")
    prepared.check_disk_space(store.home)
    disk_space = prepared.reserve_disk_space(store.folder(run.id))
    follow = _Follower(run, prepared, on_step, disk_space)
    try:
        if run.advance(0, 1):
            return run.finish(CANCELLED, (), epsilon=row.epsilon)
        result = execution.run(prepared, store.folder(run.id), follow)
    except (OSError, StoreError) as error:
        raise follow.kept_elsewhere(error) from error
    finally:
        disk_space.unlink(missing_ok=True)
    spent = result["epsilon"]
    if prepared.request.chosen_method.pure:
        run.advance(1, 1)  # its only release is done
    run.finish(
        CANCELLED if follow.stopped else DONE,
        follow.last.ledger.events() if follow.last else (),
        epsilon=spent.get("pld", spent.get("pure")),
    )


class _Follower:
    """Stores progress after each step and announces the next release.

    The file `disk_space` reserves space for the results, and is deleted just before they are written.
    """

    def __init__(self, run: ClaimedRun, prepared: Prepared, on_step: OnStep | None, disk_space: Path) -> None:
        self._run, self._prepared, self._on_step, self._disk_space = run, prepared, on_step, disk_space
        self._started = self._judged = time.monotonic()
        self._watched = 0.0
        self.last: Progress[Any] | None = None
        self.stopped = False

    def __call__(self, progress: Progress[Any]) -> bool:
        self.last = progress
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
            self._disk_space.unlink(missing_ok=True)
        return self.stopped

    def kept_elsewhere(self, error: Exception) -> Exception:
        """Save the release elsewhere; return the error with the cost and the place."""
        last = self.last
        if last is None:
            return error
        fit = Fit(self._prepared.model, last.params, last.ledger, last.plan)
        folder = execution.rescue(self._run.id, fit)
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
    """Describe an error in one line, without a traceback."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the disk is full: {error.strerror or error}"
    if isinstance(error, OSError) and error.filename is not None:  # the log has the path
        return f"a file of this run cannot be used: {str(error.strerror).lower()}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this run"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


def _log(run: ClaimedRun) -> None:
    """Append the traceback to the run's log, if the disk allows."""
    try:
        with (run.store.folder(run.id) / execution.LOG).open("a", encoding="utf-8") as file:
            file.write(traceback.format_exc())
    except OSError as error:
        print(f"the log cannot be written: {error}", file=sys.stderr)


def run_one(
    store: Store, run_id: str, jobs: Mapping[str, Job], then: Callable[[Store], object] = supervisor.start
) -> None:
    """Do one run, which SIGTERM stops within a step; `then` starts queued runs."""
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: asked.set())
    _do(store, run_id, asked, jobs)
    then(store)


def _do(store: Store, run_id: str, asked: threading.Event, jobs: Mapping[str, Job]) -> None:
    work(store, run_id, lambda progress: asked.is_set(), jobs[store.run(run_id).kind])


def serve(store: Store, jobs: Mapping[str, Job]) -> None:
    """Do the runs ordered on standard input, and after each the queued runs, until SIGTERM."""
    asked, lines = threading.Event(), warm.read_lines()

    def stop(number: int, frame: Any) -> None:
        asked.set()
        lines.put(None)

    signal.signal(signal.SIGTERM, stop)
    warm.load_code(enough=lambda: not lines.empty())
    for order in warm.orders(lines):
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


def give_way() -> None:
    """Give way to the pages. Linux shares the CPU among sessions first, and a worker has its own."""
    os.nice(_NICE)
    with contextlib.suppress(OSError):  # other systems, and kernels without groups
        Path("/proc/self/autogroup").write_text(str(_NICE), encoding="ascii")


@contextlib.contextmanager
def noted_interrupts(
    note: Callable[[threading.Event], object] = threading.Event.set,
) -> Iterator[threading.Event]:
    """Let Ctrl-C call `note` on the returned event (by default, set it) instead of raising.

    The same holds for SIGTERM, which batch systems send at a time limit, unless it has another handler.
    """
    noted = threading.Event()
    with contextlib.ExitStack() as afterwards:
        if threading.current_thread() is threading.main_thread():  # signals reach no other
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.getsignal(number)
                if number == signal.SIGINT or before == signal.SIG_DFL:
                    signal.signal(number, lambda number, frame: note(noted))
                    afterwards.callback(signal.signal, number, before)
        yield noted


def stop_after_step(stopped: threading.Event) -> None:
    """Let the first Ctrl-C end a run after its step, with results; a second one ends it at once."""
    if stopped.is_set():
        raise KeyboardInterrupt
    stopped.set()
    with contextlib.suppress(OSError):  # a closed terminal must not end the run
        print("\nStopping after this step; press Ctrl-C again to stop now.", file=sys.stderr, flush=True)

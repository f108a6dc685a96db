"""A sweep as a run of the store: its submission, and its missing cells run on all cores or on a cluster."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Any

from vips_core.csv_text import to_csv
from vips_core.engines.cluster import Cluster, client_of
from vips_core.jobs.lifecycle import ClaimedRun
from vips_core.jobs.request import Request
from vips_core.jobs.worker import OnStep, noted_interrupts
from vips_core.kernels.pool import THREAD_VARIABLES, set_variables
from vips_core.store.rows import CANCELLED, DONE, FAILED, SWEEP
from vips_core.store.store import Store
from vips_core.sweeps.cells import cell_of_worker, cells_of, run_cell
from vips_core.sweeps.grid import Sweep, canonical
from vips_core.sweeps.results import frame

POLL = 0.5  # seconds between checks for a stop: the longest delay of a click on Stop
AGAIN = "start the sweep again to run the missing cells"


@dataclass(frozen=True)
class CellProgress:
    """Progress of a sweep.

    Attributes
    ----------
    done, failed, cells
        Cells with scores, cells with an error, and all cells.
    """

    done: int
    failed: int
    cells: int


OnCell = Callable[[CellProgress], object]


def run_missing(
    sweep: Sweep, store: Store, on_cell: OnCell | None = None, cluster: Cluster | None = None
) -> CellProgress:
    """Run the cells without scores, on all cores or a cluster; finished cells are never run again.

    Parameters
    ----------
    sweep
        The sweep; `ValueError` if its data are private.
    store
        Store of the data and the cells.
    on_cell
        Called at the start, after cells, and every half second; if it returns True, no further cell starts,
        and running cells are finished.
    cluster
        Its workers run the cells instead. They must see the store if the data are registered in it.

    Returns
    -------
    CellProgress
        Progress at the end.
    """
    cells = cells_of(sweep, store)
    requests, kept = sweep.cells(), sweep.kept()
    missing = [request for request in requests if not cells.finished(request, canonical(request) in kept)]
    done, failed = len(requests) - len(missing), 0

    def progress() -> CellProgress:
        return CellProgress(done, failed, len(requests))

    show = on_cell or (lambda progress: None)
    stop = False
    if show(progress()) is True or not missing:
        return progress()
    places = _workers(cluster) if cluster else _pool(len(missing))
    run = partial(cell_of_worker if cluster else run_cell, str(store.home), cells)
    # An exception from Ctrl-C inside the pool's code would leave its locks held for ever.
    with noted_interrupts() as interrupted, places as pool:
        waiting: dict[futures.Future[Any], Request] = {
            pool.submit(run, request.to_mapping(), canonical(request) in kept): request for request in missing
        }
        while waiting:
            finished, _ = futures.wait(waiting, POLL, futures.FIRST_COMPLETED)
            if interrupted.is_set():
                raise KeyboardInterrupt
            values = [(waiting.pop(future), future.result()) for future in finished]
            errors = [cells.keep(request, *value) if cluster else value for request, value in values]
            failed += sum(error is not None for error in errors)
            done += sum(error is None for error in errors)
            stop = show(progress()) is True or stop
            if stop:
                waiting = {future: request for future, request in waiting.items() if not future.cancel()}
    return progress()


@contextlib.contextmanager
def _workers(cluster: Cluster) -> Iterator[futures.Executor]:
    """Yield the checked workers of a cluster as an executor."""
    with client_of(cluster) as client:
        from distributed import KilledWorker

        from vips_core.engines.dask import Dask

        Dask(client, insecure=cluster.insecure)
        try:
            with client.get_executor(pure=False) as pool:
                yield pool
        except (KilledWorker, futures.CancelledError):
            raise ValueError(f"the cluster lost its scheduler or its workers; {AGAIN}") from None


@contextlib.contextmanager
def _pool(most: int) -> Iterator[futures.ProcessPoolExecutor]:
    """Yield a pool of new one-thread processes: one for each core, and at most `most`.

    They end with this process, and at once on Ctrl-C.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    others = set(multiprocessing.active_children())
    with set_variables(**dict.fromkeys(THREAD_VARIABLES, "1")):  # before a process starts
        pool = futures.ProcessPoolExecutor(min(cores, most), multiprocessing.get_context("spawn"), _start)
        try:
            yield pool
        except BrokenProcessPool:
            raise ValueError(
                f"a process of the sweep was killed, perhaps for lack of memory; {AGAIN}"
            ) from None
        except KeyboardInterrupt:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def submit_sweep(store: Store, table: Mapping[str, Any], *, held: bool = False) -> str:
    """Queue a sweep; private data are refused.

    Parameters
    ----------
    store
        Store of the data and the cells.
    table
        The sweep, as in a config file.
    held
        Whether other processes leave it alone for a while, because the caller starts it.

    Returns
    -------
    str
        The run's name.
    """
    sweep = Sweep.from_mapping(table)
    return store.queue(SWEEP, sweep.to_mapping(), len(sweep.cells()), held=held)


def run_sweep(run: ClaimedRun, on_step: OnStep | None, cluster: Cluster | None = None) -> None:
    """Run the missing cells, here or on a cluster; the run fails if a cell does."""
    stopped = False

    def on_cell(progress: CellProgress) -> bool:
        nonlocal stopped
        cancelled = run.advance(progress.done + progress.failed, 0, steps=progress.cells)
        stopped = cancelled or (on_step is not None and on_step(progress) is True)
        return stopped

    sweep = Sweep.from_mapping(run.store.run(run.id).request)
    end = run_missing(sweep, run.store, on_cell, cluster)
    folder = run.store.folder(run.id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cells.csv").write_bytes(to_csv(frame(sweep, run.store)))
    if end.failed and not stopped:
        sentence = f"{end.failed} of {end.cells} cells failed; the report lists the reasons"
        return run.finish(FAILED, (), error=sentence)
    run.finish(CANCELLED if stopped and end.done < end.cells else DONE, ())

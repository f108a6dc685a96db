"""Run the cells of a sweep that are missing, on all cores."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Any

from vips_core.csv_text import to_csv
from vips_core.engines.cluster import Cluster, client_of
from vips_core.jobs.request import Request
from vips_core.jobs.worker import noted_interrupts
from vips_core.kernels.pool import THREAD_VARIABLES, set_variables
from vips_core.store.store import Store
from vips_core.sweeps.cells import cell_of_worker, cells_of, run_cell
from vips_core.sweeps.grid import Sweep, canonical
from vips_core.sweeps.results import frame

__all__ = ["CellProgress", "OnCell", "execute", "run_missing"]

POLL = 0.5  # seconds between looks at whether to stop
AGAIN = "start the sweep again to run the cells that are missing"


@dataclass(frozen=True)
class CellProgress:
    """Where a sweep stands.

    Attributes
    ----------
    done, failed, cells
        Cells with scores, cells with an error, and all cells.
    """

    done: int
    failed: int
    cells: int


OnCell = Callable[[CellProgress], object]


def execute(
    store: Store, run_id: str, on_cell: OnCell | None = None, cluster: Cluster | None = None
) -> CellProgress:
    """Run the stored sweep `run_id` as `run_missing` does, and keep its frame in the run's folder."""
    sweep = Sweep.from_mapping(store.run(run_id).request)
    progress = run_missing(sweep, store, on_cell, cluster=cluster)
    store.folder(run_id).mkdir(parents=True, exist_ok=True)
    (store.folder(run_id) / "cells.csv").write_bytes(to_csv(frame(sweep, store)))
    return progress


def run_missing(
    sweep: Sweep, store: Store, on_cell: OnCell | None = None, cluster: Cluster | None = None
) -> CellProgress:
    """Run the cells that have no scores yet, on all cores or a cluster; finished ones are never run again.

    Parameters
    ----------
    sweep
        What to run; `ValueError` where its data are private.
    store
        Where data are read and cells kept.
    on_cell
        Called at the start, after cells, and every half second; if it returns True, no further cell starts,
        and those that run are finished.
    cluster
        Whose workers run the cells instead. They must see the store where its data were registered in it.

    Returns
    -------
    CellProgress
        Where the sweep stands at the end.
    """
    cells = cells_of(sweep, store)
    requests, kept = sweep.cells(), sweep.kept()
    missing = [request for request in requests if not cells.finished(request, canonical(request) in kept)]
    done, failed = len(requests) - len(missing), 0
    show = on_cell or (lambda progress: None)
    stop = False
    if show(CellProgress(done, failed, len(requests))) is True or not missing:
        return CellProgress(done, failed, len(requests))
    places = _workers(cluster) if cluster else _pool(min(_cores(), len(missing)))
    run = partial(cell_of_worker if cluster else run_cell, str(store.home), cells)
    # Inside the pool's code, an exception by Ctrl-C would leave locks held for ever.
    with noted_interrupts() as interrupted, places as pool:
        waiting: dict[Future[Any], Request] = {
            pool.submit(run, request.to_mapping(), canonical(request) in kept): request for request in missing
        }
        while waiting:
            finished, _ = wait(waiting, POLL, FIRST_COMPLETED)
            if interrupted.is_set():
                raise KeyboardInterrupt
            values = [(waiting.pop(future), future.result()) for future in finished]
            errors = [cells.keep(request, *value) if cluster else value for request, value in values]
            failed += sum(error is not None for error in errors)
            done += sum(error is None for error in errors)
            stop = show(CellProgress(done, failed, len(requests))) is True or stop
            if stop:
                waiting = {future: request for future, request in waiting.items() if not future.cancel()}
    return CellProgress(done, failed, len(requests))


@contextlib.contextmanager
def _workers(cluster: Cluster) -> Iterator[Executor]:
    """The workers of a cluster, which have been looked at."""
    with client_of(cluster) as client:
        from distributed import KilledWorker

        from vips_core.engines.dask import Dask

        Dask(client, insecure=cluster.insecure)
        try:
            with client.get_executor(pure=False) as pool:
                yield pool
        except (KilledWorker, CancelledError):
            raise ValueError(f"the cluster lost its scheduler or its workers; {AGAIN}") from None


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of new processes, each with one thread; they end with this process, and at once on Ctrl-C."""
    others = set(multiprocessing.active_children())
    with set_variables(**dict.fromkeys(THREAD_VARIABLES, "1")):  # before a process starts
        pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start)
        try:
            yield pool
        except BrokenProcessPool:
            raise ValueError(
                f"a process of the sweep was ended from outside, perhaps for want of memory; {AGAIN}"
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

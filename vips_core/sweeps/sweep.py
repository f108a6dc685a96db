"""Sweeps: run the cells that are missing on all cores, and read what is there as one tidy frame."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vips_core.kernels.pool import THREAD_VARIABLES
from vips_core.runs.request import Request
from vips_core.sweeps.cells import Cells, run_cell
from vips_core.sweeps.grid import Grid, Sweep, canonical

if TYPE_CHECKING:
    import pandas as pd

    from vips_core.runs.store import Store

__all__ = [
    "CellProgress",
    "Sweep",
    "execute",
    "failures",
    "frame",
    "ledgers",
    "run_missing",
    "summarise",
    "traces",
]

POLL = 0.5  # seconds between looks at whether to stop
CONFIDENCE = 0.95


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


def execute(store: "Store", run_id: str, on_cell: OnCell | None = None) -> CellProgress:
    """Run the stored sweep `run_id` as `run_missing` does, and keep its frame in the run's folder."""
    sweep = Sweep.from_mapping(store.run(run_id).request)
    progress = run_missing(sweep, store, on_cell)
    store.folder(run_id).mkdir(parents=True, exist_ok=True)
    frame(sweep, store).to_csv(store.folder(run_id) / "cells.csv", index=False)
    return progress


def run_missing(
    sweep: Sweep, store: "Store", on_cell: OnCell | None = None, processes: int | None = None
) -> CellProgress:
    """Run the cells that have no scores yet, on all cores; finished ones are never run again.

    Parameters
    ----------
    on_cell
        Called at the start, after cells, and every half second; if it returns True, no further cell starts,
        and those that run are finished.
    processes
        How many at a time; all cores that this process may use where left out.
    """
    cells = cells_of(sweep, store)
    requests, kept = sweep.cells(), sweep.kept()
    missing = [request for request in requests if not cells.finished(request, canonical(request) in kept)]
    done, failed = len(requests) - len(missing), 0
    show = on_cell or (lambda progress: None)
    stop = False
    if show(CellProgress(done, failed, len(requests))) is True or not missing:
        return CellProgress(done, failed, len(requests))
    tables = [
        (str(store.home), cells.path(request), request.to_mapping(), canonical(request) in kept)
        for request in missing
    ]
    with _interrupts() as interrupted, _pool(min(processes or _cores(), len(missing))) as pool:
        waiting: set[Future[str | None]] = {pool.submit(run_cell, *table) for table in tables}
        while waiting:
            finished, waiting = wait(waiting, POLL, FIRST_COMPLETED)
            if interrupted.is_set():
                raise KeyboardInterrupt
            try:
                errors = [future.result() for future in finished]
            except BrokenProcessPool:
                raise ValueError(
                    "a process of the sweep was ended from outside, perhaps for want of memory; "
                    "start the sweep again to run the cells that are missing"
                ) from None
            failed += sum(error is not None for error in errors)
            done += sum(error is None for error in errors)
            stop = show(CellProgress(done, failed, len(requests))) is True or stop
            if stop:
                waiting = {future for future in waiting if not future.cancel()}
    return CellProgress(done, failed, len(requests))


def cells_of(sweep: Sweep, store: "Store") -> Cells:
    """Return the sweep's place in the store; sweeps on private data are refused."""
    row = store.data_row(sweep.data)
    if row.private:
        raise ValueError(f"a sweep needs public or generated data, but {sweep.data} is private")
    return Cells(store.home / "cells", row.fingerprint)


def _rows(
    sweep: Sweep, store: "Store", kept_only: bool = False
) -> Iterator[tuple[Grid, Request, dict[str, Any]]]:
    """Return what is known of cells, each once in each series."""
    cells = cells_of(sweep, store)
    seen = set()
    for grid in sweep.grids:
        if kept_only and not grid.keep:
            continue
        for request in grid.requests(sweep.model, sweep.data):
            content = cells.read(request)
            if content is not None and (grid.label, canonical(request)) not in seen:
                seen.add((grid.label, canonical(request)))
                yield grid, request, content


def _settings(grid: Grid, request: Request, content: dict[str, Any]) -> dict[str, Any]:
    """What was asked for and what was done: ε as the method claims it, and by accountants from the ledger."""
    plan, spent = content["plan"], content["epsilon"]
    asked = request.get("epsilon")
    return {
        "series": grid.label or request.method,
        "method": request.method,
        "epsilon": asked if asked is not None else spent.get("pld"),
        "epsilon_pld": spent.get("pld"),
        "epsilon_moments": spent.get("moments"),
        "noise_multiplier": plan["noise_multiplier"],
        "expected_batch": plan["expected_batch"],
        "steps": plan["steps"],
        **{name: request.get(name) for name in ("batch", "epochs", "delta", "accountant")},
        **{name: request.get(name) for name in request.task.options},
        "seed": request.seed,
    }


def frame(sweep: Sweep, store: "Store") -> "pd.DataFrame":
    """Return a tidy frame: one row for each finished cell and held-out score."""
    import pandas as pd

    rows = [
        _settings(grid, request, content) | {"seconds": content["seconds"], "score": name, "value": value}
        for grid, request, content in _rows(sweep, store)
        if content["error"] is None
        for name, value in content["scores"].items()
    ]
    found = pd.DataFrame(rows)
    for name in ("epsilon", "epsilon_pld", "epsilon_moments", "batch"):
        if name in found:
            found[name] = found[name].astype(float)  # a column of None alone would be of objects
    return found


def traces(sweep: Sweep, store: "Store") -> "pd.DataFrame":
    """Return the followed score after steps, of cells whose parameters are kept: one row for each look."""
    import pandas as pd

    rows = [
        {"series": grid.label or request.method, "method": request.method, "seed": request.seed}
        | {"epsilon": _settings(grid, request, content)["epsilon"], "step": step, "value": value}
        for grid, request, content in _rows(sweep, store, kept_only=True)
        if content["error"] is None
        for step, value in content["trace"]
    ]
    return pd.DataFrame(rows)


def ledgers(sweep: Sweep, store: "Store") -> list[dict[str, Any]]:
    """Return each finished cell's request with the ledger of what it released, None where it has none."""
    return [
        {"request": request.to_mapping(), "ledger": content["ledger"]}
        for _, request, content in _rows(sweep, store)
        if content["error"] is None
    ]


def failures(sweep: Sweep, store: "Store") -> list[tuple[Request, str]]:
    """Return the cells that failed, each with its sentence."""
    return [
        (request, content["error"])
        for _, request, content in _rows(sweep, store)
        if content["error"] is not None
    ]


def summarise(cells: "pd.DataFrame", by: Sequence[str] = ()) -> "pd.DataFrame":
    """Return mean, standard deviation and the 95 % t-interval of the mean over seeds, for each setting.

    `by` names the columns that tell settings apart; left out, all but seed, seconds and value. With one seed,
    deviation and interval are unknown (NaN).
    """
    import numpy as np
    from scipy.stats import t

    keys = list(by) or [name for name in cells.columns if name not in ("seed", "seconds", "value")]
    groups = cells.groupby(keys, dropna=False, sort=False)["value"]
    found = groups.agg(mean="mean", sd="std", seeds="count").reset_index()
    freedom = np.maximum(found["seeds"] - 1, 1)
    half = t.ppf((1 + CONFIDENCE) / 2, freedom) * found["sd"] / np.sqrt(found["seeds"])
    return found.assign(low=found["mean"] - half, high=found["mean"] + half)


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Note Ctrl-C rather than raise it: inside the pool's code it would leave locks held for ever."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # signals reach the main thread only
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupted.set())
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of new processes, each with one thread; they end with this process, and at once on Ctrl-C."""
    others = set(multiprocessing.active_children())
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))  # before a process starts
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start)
    try:
        yield pool
    except KeyboardInterrupt:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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

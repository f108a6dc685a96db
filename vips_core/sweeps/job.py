"""A sweep as a run of the store: its submission, and what a worker does with it."""

from collections.abc import Mapping
from typing import Any

from vips_core.engines.cluster import Cluster
from vips_core.jobs.lifecycle import ClaimedRun
from vips_core.jobs.worker import OnStep
from vips_core.store.rows import CANCELLED, DONE, FAILED, SWEEP, NewRun
from vips_core.store.store import Store
from vips_core.sweeps.execution import CellProgress, execute
from vips_core.sweeps.grid import Sweep


def submit_sweep(store: Store, table: Mapping[str, Any], *, held: bool = False) -> str:
    """Queue a sweep; on private data it is refused.

    Parameters
    ----------
    store
        Where its data are and its cells are kept.
    table
        What to run, as in a config file.
    held
        Whether other processes let it be for a while, because the caller starts it itself.

    Returns
    -------
    str
        The run's name.
    """
    sweep = Sweep.from_mapping(table)
    run = NewRun(SWEEP, sweep.to_mapping(), sweep.model, sweep.data, len(sweep.cells()))
    return store.queue(run, held=held)


def run_sweep(run: ClaimedRun, on_step: OnStep | None, cluster: Cluster | None = None) -> None:
    """Run the cells that are missing, here or on a cluster; the run fails where a cell does."""
    stopped = False

    def on_cell(progress: CellProgress) -> bool:
        nonlocal stopped
        cancelled = run.advance(progress.done + progress.failed, 0, steps=progress.cells)
        stopped = cancelled or (on_step is not None and on_step(progress) is True)
        return stopped

    end = execute(run.store, run.id, on_cell, cluster)
    if end.failed and not stopped:
        sentence = f"{end.failed} of {end.cells} cells failed; their files say why"
        return run.finish(FAILED, (), error=sentence)
    run.finish(CANCELLED if stopped and end.done < end.cells else DONE, ())

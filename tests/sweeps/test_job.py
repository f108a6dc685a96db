"""Sweeps as runs: cells that run, cells that do not run again, and refusals."""

import threading

import pandas as pd
import pytest

from tests.sweeps import BASE, without_failure
from tests.toy import tiny_cluster
from vips_core.engines.cluster import Cluster
from vips_core.models.task import TASKS
from vips_core.sweeps import cells, job, results
from vips_core.sweeps.cells import cells_of
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.job import CellProgress, run_missing, submit_sweep


def test_private_data_are_refused(home):
    definition = Sweep.from_mapping(BASE | {"data": "secret", "epsilon": 1.0})
    with pytest.raises(ValueError, match="secret"):
        submit_sweep(home, definition.to_mapping())
    for use in (run_missing, results.frame):
        with pytest.raises(ValueError, match="a sweep needs public or generated data, but secret is private"):
            use(definition, home)


def test_a_failing_cell_keeps_its_sentence_and_stops_no_other(executed):
    store, run_id, definition, seen = executed
    row = store.run(run_id)
    assert (row.status, row.error) == ("failed", "1 of 11 cells failed; the report lists the reasons")
    assert len(pd.read_csv(store.folder(run_id) / "cells.csv")) == 10 * len(TASKS["logistic"].scores)
    assert (seen[0].done, seen[-1].done, seen[-1].failed, seen[-1].cells) == (0, 10, 1, 11)
    ((request, sentence),) = results.failures(definition, store)
    assert request.get("batch") == 3000
    assert sentence == "expected_batch must be at most records (300), got 3000"


def test_finished_cells_are_never_run_again(executed, monkeypatch):
    store, _, definition, _ = executed

    def no_pool(processes):
        raise AssertionError("a process was started")

    monkeypatch.setattr(job, "_pool", no_pool)
    whole = without_failure(definition)
    assert run_missing(whole, store) == CellProgress(10, 0, 10)
    other = Sweep.from_mapping(BASE | {"method": "refined", "epsilon": 2.0, "seeds": [1], "title": "another"})
    assert run_missing(other, store) == CellProgress(1, 0, 1)
    with pytest.raises(AssertionError, match="a process was started"):  # a failed cell is tried again
        run_missing(definition, store)


def test_a_stop_before_the_first_cell_runs_none(executed):
    store, *_ = executed
    definition = Sweep.from_mapping(BASE | {"epsilon": 7.0})
    assert run_missing(definition, store, lambda progress: True) == CellProgress(0, 0, 1)
    assert results.frame(definition, store).empty


def test_the_workers_of_a_cluster_run_cells(home):
    pytest.importorskip("distributed")
    sweep = Sweep.from_mapping(BASE | {"method": "refined", "epsilon": 5.0, "seeds": [8]})
    assert run_missing(sweep, home, cluster=Cluster("local[1]")) == CellProgress(1, 0, 1)
    there = results.frame(sweep, home)
    (cell,) = sweep.cells()
    cells_of(sweep, home).path(cell).unlink()
    assert run_missing(sweep, home) == CellProgress(1, 0, 1)
    assert there.drop(columns="seconds").equals(results.frame(sweep, home).drop(columns="seconds"))


STARTED, MAY_GO_ON = [], threading.Event()


def one_cell_then_wait(*arguments):
    """Run a cell on a worker of this process; all but the first wait until they are released."""
    STARTED.append(arguments)
    if len(STARTED) > 1:
        MAY_GO_ON.wait(60)
    return cells.cell_of_worker(*arguments)


def test_a_sweep_whose_scheduler_is_gone_can_be_started_again(home, monkeypatch):
    dask, _ = pytest.importorskip("dask"), pytest.importorskip("distributed")
    sweep = Sweep.from_mapping(BASE | {"method": "refined", "epsilon": 6.0, "seeds": [1, 2, 3]})
    monkeypatch.setattr(job, "cell_of_worker", one_cell_then_wait)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        tiny_cluster(protocol="tcp", host="127.0.0.1") as workers,
    ):

        def end_the_scheduler(progress):
            if progress.done == 1:
                workers.sync(workers.scheduler.close)

        try:
            with pytest.raises(ValueError, match="lost its scheduler or its workers; start the sweep again"):
                run_missing(sweep, home, end_the_scheduler, cluster=Cluster(workers.scheduler_address))
        finally:
            MAY_GO_ON.set()
    assert run_missing(sweep, home, lambda progress: True) == CellProgress(1, 0, 3)  # the first was kept

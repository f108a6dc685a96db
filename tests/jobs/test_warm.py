"""Processes that wait for runs: they take runs, survive errors, are replaced, and end by themselves."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from tests.jobs import STEPS, releases, request
from vips_core.__main__ import JOBS
from vips_core.jobs import supervisor, warm, worker
from vips_core.jobs.submission import submit


def wait_for(condition, seconds=120.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_there(pid):
    """Whether a process lives or is a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def one_warm(store, monkeypatch):
    monkeypatch.setenv("VIPS_WARM", "1")
    monkeypatch.setenv("VIPS_WORKERS", "1")
    monkeypatch.setattr(supervisor, "_children", [])
    monkeypatch.setattr(supervisor, "_warm", [])
    supervisor.keep_warm(store)
    yield supervisor._warm[0]
    for process in supervisor._warm:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not any(is_there(process.pid) for process in supervisor._warm))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX signals")
def test_runs_are_done_one_after_the_other_until_the_process_is_killed(store, one_warm):
    first, second = submit(store, request()), submit(store, request())
    assert supervisor.start(store) == [first]
    assert not one_warm.is_free
    wait_for(lambda: one_warm.is_free)  # it took the second run by itself
    assert [store.run(run).status for run in (first, second)] == ["done", "done"]
    assert [releases(store, run) for run in (first, second)] == [STEPS, STEPS]

    long = submit(store, request(epochs=5000, noise=2000.0))
    assert supervisor.start(store) == [long]
    wait_for(lambda: store.run(long).step > 2)
    supervisor.keep_warm(store)
    assert supervisor._warm == [one_warm]
    os.kill(one_warm.pid, signal.SIGKILL)
    wait_for(lambda: not is_there(one_warm.pid))  # it leaves no zombie
    supervisor.start(store)
    assert store.run(long).status == "failed"
    assert store.run(long).step < releases(store, long) <= 2 * store.run(long).step
    supervisor.keep_warm(store)
    (other,) = supervisor._warm
    assert other is not one_warm
    assert other.is_free
    assert store.verify() == []


def test_a_killed_process_takes_no_order(store, one_warm):
    os.kill(one_warm.pid, signal.SIGTERM)
    wait_for(lambda: one_warm.poll() is not None)
    assert not one_warm.is_free
    assert one_warm.give("run", 1) is None


def test_mistakes_are_in_the_log_of_their_run_and_the_next_order_is_done(store, monkeypatch):
    cancelled, waiting = submit(store, request()), submit(store, request())
    store.cancel(cancelled)
    logs = []
    monkeypatch.setattr(warm, "read_lines", lambda: None)
    monkeypatch.setattr(warm, "orders", lambda lines: iter([(cancelled, 1), (waiting, 2)]))
    monkeypatch.setattr(warm, "load_code", lambda enough: None)
    monkeypatch.setattr(warm, "write_output_to", logs.append)
    monkeypatch.setattr(warm, "use_threads", lambda threads: None)
    monkeypatch.setattr(warm, "has_grown", lambda: False)  # other tests have used memory
    monkeypatch.setattr(worker.signal, "signal", lambda *arguments: None)
    worker.serve(store, JOBS)
    assert logs == [store.folder(run) / "worker.log" for run in (cancelled, waiting)]
    assert store.run(waiting).status == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="where memory is inherited")
def test_a_process_is_not_blamed_for_the_memory_of_the_one_that_started_it():
    child = "from vips_core.jobs import warm; print(warm.has_grown())"
    parent = (
        "import subprocess, sys, numpy; large = numpy.ones(150_000_000);"
        f"print(subprocess.run([sys.executable, '-c', {child!r}], capture_output=True, text=True).stdout)"
    )
    told = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False"]


def test_orders_end_after_a_long_pause(monkeypatch):
    over = threading.Event()

    def lines():
        over.wait()
        yield from ()

    monkeypatch.setattr(warm.sys, "stdin", SimpleNamespace(buffer=lines()))
    monkeypatch.setattr(warm.os, "write", lambda descriptor, answer: None)
    monkeypatch.setattr(warm, "IDLE", 0.01)
    assert list(warm.orders(warm.read_lines())) == []
    over.set()


def test_code_is_loaded_by_short_runs_of_every_model(monkeypatch):
    prepared = []
    monkeypatch.setattr(warm.execution, "run", lambda run, folder: prepared.append(run))
    warm.load_code(enough=lambda: len(prepared) == 5)
    assert [(run.request.model, run.request.method) for run in prepared] == [
        ("sbn", "refined"),
        ("sbn", "paper"),
        ("logistic", "refined"),
        ("logistic", "paper"),
        ("lda", "refined"),
    ]
    assert {len(run.data.train) for run in prepared} == {64}
    assert len(prepared) == 5


def test_a_result_has_the_scores_that_its_task_declares(monkeypatch):
    results, run = [], warm.execution.run
    monkeypatch.setattr(
        warm.execution,
        "run",
        lambda prepared, folder: results.append((prepared.request.task, run(prepared, folder))),
    )
    warm.load_code(enough=lambda: False)
    assert len(results) == 6
    for task, result in results:
        assert set(result["held_out"]) == set(task.scores)


@pytest.mark.parametrize("text", ["many", "-1"])
def test_bad_number_of_waiting_processes(text, monkeypatch):
    monkeypatch.setenv("VIPS_WARM", text)
    with pytest.raises(ValueError, match="VIPS_WARM must be a whole number of at least 0"):
        supervisor.warm_limit()

"""Supervisors: which runs start, how many at once, and what happens when workers die."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.jobs import STEPS, releases, request
from vips_core.__main__ import JOBS
from vips_core.jobs import lifecycle, supervisor, worker
from vips_core.jobs.submission import prepare, queue, submit
from vips_core.store.store import Store


class Launcher:
    """Records the runs that it is to start, and starts nothing."""

    def __init__(self, ends=None):
        self.runs, self.ends = [], ends

    def __call__(self, store, run_id, threads):
        self.runs.append(run_id)
        return lambda: self.ends


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", "2")
    monkeypatch.setattr(supervisor, "_children", [])


def test_the_queue_is_first_come_first_served_and_limited(store, few):
    runs, launcher = [submit(store, request()) for _ in range(4)], Launcher()
    assert supervisor.start(store, launcher) == runs[:2]
    assert supervisor.start(Store(), launcher) == []
    worker.work(store, runs[0])
    assert supervisor.start(store, launcher) == [runs[2]]
    assert launcher.runs == runs[:3]


def test_at_the_limit_start_waits_for_no_writer(store, few):
    for _ in range(3):
        submit(store, request())
    assert len(supervisor.start(store, Launcher())) == 2
    with Store().database.write():  # as during a worker's step
        assert supervisor.start(store, Launcher()) == []


def test_a_worker_starts_the_next_run_at_its_end(store, few):
    runs, launcher = [submit(store, request()) for _ in range(3)], Launcher()
    assert supervisor.start(store, launcher) == runs[:2]
    worker.run_one(store, runs[0], JOBS, then=lambda store: supervisor.start(store, launcher))
    assert launcher.runs == runs


def test_supervisors_at_once_start_each_run_once(store, few, monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", "100")
    runs, launcher = [submit(store, request()) for _ in range(12)], Launcher()
    threads = [threading.Thread(target=lambda: supervisor.start(Store(), launcher)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(launcher.runs) == sorted(runs)


def test_a_run_whose_processes_never_begin_fails_and_costs_nothing(store, few):
    run, launcher = submit(store, request()), Launcher(ends=1)
    for _ in range(lifecycle.LAUNCHES):
        assert supervisor.start(store, launcher) == [run]
    assert supervisor.start(store, launcher) == []
    assert store.run(run).error == "no worker could be started; the log says why"
    assert releases(store, run) == 0


def test_a_claim_from_a_fast_clock_blocks_no_run(store, few, monkeypatch):
    run = submit(store, request())
    with monkeypatch.context() as ahead:
        tomorrow = time.time() + 86_400
        ahead.setattr(lifecycle.time, "time", lambda: tomorrow)
        assert lifecycle.claim(store, 1)[0] == run
        assert lifecycle.claim(store, 1) is None
    assert lifecycle.claim(store, 1)[0] == run


def test_a_claim_ends_after_a_while(store, few, monkeypatch):
    run = queue(store, prepare(request(), store.load("flips")), held=True)
    launcher = Launcher()
    assert supervisor.start(store, launcher) == []
    monkeypatch.setattr(lifecycle, "CLAIM", 0.0)
    assert lifecycle.claim(store, 1)[0] == run


@pytest.mark.parametrize("text", ["0", "many", "-1"])
def test_bad_number_of_workers(text, monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", text)
    with pytest.raises(ValueError, match="VIPS_WORKERS must be a whole number of at least 1"):
        supervisor.limit()


def wait_for(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_processes_train_stop_when_asked_and_are_given_up_when_killed(store, home, few):
    """With real processes: one run to its end, one asked to stop by SIGTERM, one killed."""
    long = request(epochs=5000, noise=2000.0)
    done, stopped, killed = submit(store, request()), submit(store, long), submit(store, long)
    loop = subprocess.Popen([sys.executable, "-m", "vips_core", "supervisor", "--home", str(home)])
    try:
        wait_for(lambda: store.run(stopped).step > 2)
        os.kill(worker_of(stopped), signal.SIGTERM)
        wait_for(lambda: store.run(killed).step > 2)
        os.kill(worker_of(killed), signal.SIGKILL)
        assert loop.wait(60) == 0
    finally:
        if loop.poll() is None:
            loop.kill()
            loop.wait()
    assert [store.run(run).status for run in (done, stopped, killed)] == ["done", "cancelled", "failed"]
    assert releases(store, done) == STEPS
    assert releases(store, stopped) == store.run(stopped).step
    assert store.run(killed).step < releases(store, killed) <= 2 * store.run(killed).step
    assert store.verify() == []


def worker_of(run_id):
    """The process that trains a run, whichever process started it."""
    processes = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True).stdout
    (line,) = [line for line in processes.splitlines() if f"vips_core worker {run_id}" in line]
    return int(line.split()[0])

"""Workers and supervisors: progress, cancel, failure, death, and never a release that was not announced."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.toy import coin_flips
from vips_core.runs import alive, budget, execution, lifecycle, supervisor, worker
from vips_core.runs.budget import Cap
from vips_core.runs.database import StoreError
from vips_core.runs.request import Request
from vips_core.runs.store import Store

STEPS = 8


def request(**values):
    table = {"model": "sbn", "data": "flips", "method": "paper", "hidden": 2, "delta": 1e-5, "epochs": STEPS}
    return Request.from_mapping(table | {"noise": 20.0} | values)


@pytest.fixture
def store(home):
    found = Store()
    found.add_data("flips", coin_flips(), coin_flips(seed=1), cap=Cap(50.0, 1e-5), unit="one image")
    return found


def releases(store, run):
    (use,) = [use for use in budget.uses(store.ledger("flips")) if use.run == run]
    assert use.settled
    return sum(event.count for event in use.events)


def intended(store, run):
    return store.database.read("SELECT intended FROM runs WHERE id = ?", [run])[0][0]


# One run


def test_progress_is_stored_at_every_step(store):
    run, seen = store.submit(request()), []

    def on_step(progress):
        row = store.run(run)
        seen.append((progress.step, row.status, row.step, intended(store, run)))

    worker.work(store, run, on_step)
    # While step t runs, the store says that t - 1 are done and that the t-th release is intended.
    assert seen == [(step, "running", step - 1, step) for step in range(1, STEPS + 1)]
    row = store.run(run)
    assert (row.status, row.step, row.error) == ("done", STEPS, None)
    assert row.created <= row.started <= row.ended
    assert [step for step, _ in row.scores][-1] == STEPS
    assert all(0 <= value <= 1 for _, value in row.scores)
    assert releases(store, run) == STEPS
    prepared = execution.prepare(request(), store.load("flips"))
    fit = execution.restore(prepared, store.folder(run))
    assert fit.epsilon("pld") == pytest.approx(row.epsilon)
    assert not alive.lives(store.folder(run) / "alive")


def test_a_run_is_cancelled_within_one_step(store):
    run = store.submit(request())
    worker.work(store, run, lambda progress: store.cancel(run) if progress.step == 3 else None)
    row = store.run(run)
    assert (row.status, row.step, releases(store, run)) == ("cancelled", 3, 3)
    assert (store.folder(run) / "params.npz").exists()  # what was paid for is kept


def test_a_run_that_is_cancelled_before_its_first_release_costs_nothing(store, monkeypatch):
    run = store.submit(request())
    load = store.load

    def cancel_then_load(name):
        store.cancel(run)
        return load(name)

    monkeypatch.setattr(store, "load", cancel_then_load)
    worker.work(store, run)
    assert (store.run(run).status, releases(store, run)) == ("cancelled", 0)


def test_a_run_on_public_data_needs_no_ledger(store):
    store.add_data("open", coin_flips(seed=3), private=False, unit="one image")
    run = store.submit(request(data="open", noise=0.0, seed=1))
    worker.work(store, run)
    row = store.run(run)
    assert (row.status, row.epsilon, row.seed, row.scores) == ("done", None, 1, [])
    assert [entry.kind for entry in store.ledger("open")] == ["data"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("step 2 is\nbad"), "step 2 is bad"),
        (ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full: No space left on device"),
        (MemoryError(), "there is not enough memory for this run"),
    ],
)
def test_a_mistake_ends_the_run_in_one_sentence_and_is_paid_for(store, error, sentence):
    run = store.submit(request())

    def fail(progress):
        if progress.step == 2:
            raise error

    worker.work(store, run, fail)
    row = store.run(run)
    assert row.status == "failed"
    assert row.error.startswith(sentence)
    assert "\n" not in row.error
    assert releases(store, run) == 2
    assert row.epsilon == pytest.approx(store.budget("flips").spent_epsilon)
    assert "Traceback" in (store.folder(run) / "worker.log").read_text()


def test_an_interrupt_settles_the_run(store):
    run = store.submit(request())

    def interrupt(progress):
        if progress.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.work(store, run, interrupt)
    assert (store.run(run).status, releases(store, run)) == ("cancelled", 4)


def test_only_a_waiting_run_can_be_started(store):
    run = store.submit(request())
    store.cancel(run)
    with pytest.raises(ValueError, match=f"run {run} cannot be started: it is cancelled"):
        worker.work(store, run)
    with pytest.raises(ValueError, match="there is no run 'nothing'"):
        worker.work(store, "nothing")


def test_a_worker_that_was_given_up_wrongly_releases_nothing_more(store, monkeypatch):
    """A laptop that slept: the heartbeat is old, another process buries the run, and the worker wakes up."""
    run, steps = store.submit(request()), []

    def on_step(progress):
        steps.append(progress.step)
        if progress.step == 3:
            with monkeypatch.context() as patch:
                patch.setattr(alive, "STALE", -1.0)
                assert lifecycle.bury(Store()) == [run]

    worker.work(store, run, on_step)
    row = store.run(run)
    assert steps == [1, 2, 3]
    assert (row.status, row.error) == ("failed", f"its worker died after 2 of {STEPS} steps")
    assert releases(store, run) == 3
    assert [entry.kind for entry in store.ledger("flips")].count("settle") == 1


# Full disks


def test_results_that_do_not_fit_on_the_disk_are_paid_for(store, monkeypatch):
    def full(*arguments, **arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    run = store.submit(request())
    monkeypatch.setattr(execution.np, "savez_compressed", full)
    worker.work(store, run)
    assert store.run(run).error.startswith("the disk is full")
    assert releases(store, run) == STEPS


def test_a_store_that_cannot_grow_refuses_in_one_sentence_and_loses_nothing(store):
    run = store.submit(request())
    pages = store.database.read("PRAGMA page_count")[0][0]
    store.database.read(f"PRAGMA max_page_count = {pages}")
    accepted = 0

    def submit_many():
        nonlocal accepted
        for _ in range(100):
            store.submit(request())
            accepted += 1

    with pytest.raises(StoreError, match=r"the disk that holds .* is full or failing") as error:
        submit_many()
    assert "\n" not in str(error.value)
    assert len(store.runs()) == 1 + accepted == len(budget.uses(store.ledger("flips")))
    assert store.verify() == []
    assert store.run(run).status == "queued"
    assert Store().submit(request())  # another connection has no such limit


def test_a_run_whose_store_is_full_stops_and_is_settled_later(store, monkeypatch):
    run, advance, steps = store.submit(request()), lifecycle.advance, []

    def full(*arguments, **values):
        raise StoreError("the disk is full")

    def on_step(progress):
        steps.append(progress.step)
        if progress.step == 3:
            monkeypatch.setattr(lifecycle, "advance", full)
            monkeypatch.setattr(lifecycle, "finish", full)

    with pytest.raises(StoreError, match="the disk is full"):
        worker.work(store, run, on_step)
    monkeypatch.setattr(lifecycle, "advance", advance)
    assert store.run(run).status == "running"
    assert lifecycle.bury(store) == [run]
    assert steps == [1, 2, 3]
    assert releases(store, run) == 3


# Supervisors


class Launcher:
    """Notes what it is asked to start, and starts nothing."""

    def __init__(self, ends=None):
        self.runs, self.ends = [], ends

    def __call__(self, store, run_id, threads):
        self.runs.append(run_id)
        return self

    def poll(self):
        return self.ends


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", "2")
    monkeypatch.setattr(supervisor, "_children", [])


def test_the_queue_is_first_come_first_served_and_limited(store, few):
    runs, launcher = [store.submit(request()) for _ in range(4)], Launcher()
    assert supervisor.start(store, launcher) == runs[:2]
    assert supervisor.start(Store(), launcher) == []
    worker.work(store, runs[0])
    assert supervisor.start(store, launcher) == [runs[2]]
    assert launcher.runs == runs[:3]


def test_a_worker_starts_the_next_run_at_its_end(store, few):
    runs, launcher = [store.submit(request()) for _ in range(3)], Launcher()
    assert supervisor.start(store, launcher) == runs[:2]
    code = worker.main([runs[0], "--home", str(store.home)], lambda store: supervisor.start(store, launcher))
    assert code == 0
    assert launcher.runs == runs


def test_supervisors_at_once_start_each_run_once(store, few, monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", "100")
    runs, launcher = [store.submit(request()) for _ in range(12)], Launcher()
    threads = [threading.Thread(target=lambda: supervisor.start(Store(), launcher)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(launcher.runs) == sorted(runs)


def test_a_run_whose_processes_never_begin_fails_and_costs_nothing(store, few):
    run, launcher = store.submit(request()), Launcher(ends=1)
    for _ in range(lifecycle.LAUNCHES):
        assert supervisor.start(store, launcher) == [run]
    assert supervisor.start(store, launcher) == []
    assert store.run(run).error == "no worker could be started; its log says why"
    assert releases(store, run) == 0


def test_a_claim_ends_after_a_while(store, few, monkeypatch):
    run, launcher = store.submit(request(), held=True), Launcher()
    assert supervisor.start(store, launcher) == []
    monkeypatch.setattr(lifecycle, "CLAIM", 0.0)
    assert lifecycle.claim(store, 1)[0] == run


@pytest.mark.parametrize("text", ["0", "many", "-1"])
def test_bad_number_of_workers(text, monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", text)
    with pytest.raises(ValueError, match="VIPS_WORKERS must be a whole number of at least 1"):
        supervisor.limit()


def test_a_file_shows_life_only_while_it_is_held(tmp_path, monkeypatch):
    path = tmp_path / "alive"
    assert not alive.lives(path)
    with alive.held(path):
        assert alive.lives(path)
        monkeypatch.setattr(alive, "STALE", -1.0)
        assert not alive.lives(path)
        monkeypatch.undo()
    assert not alive.lives(path)


def wait_for(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_processes_train_stop_when_asked_and_are_buried_when_killed(store, home, few):
    """The real thing: one run to its end, one asked to stop by SIGTERM, one killed."""
    long = request(epochs=5000, noise=2000.0)
    done, stopped, killed = store.submit(request()), store.submit(long), store.submit(long)
    loop = subprocess.Popen([sys.executable, "-m", "vips_core.runs.supervisor", "--home", str(home)])
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
    assert releases(store, killed) == store.run(killed).step + 1
    assert store.verify() == []


def worker_of(run_id):
    """The process that trains a run, whoever started it."""
    found = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True)
    (line,) = [line for line in found.stdout.splitlines() if f"vips_core.runs.worker {run_id}" in line]
    return int(line.split()[0])


def test_seeds_repeat_a_run_whatever_trains_it(store):
    store.add_data("open", coin_flips(seed=3), private=False, unit="one image")
    runs = [store.submit(request(data="open", seed=7)) for _ in range(2)]
    for run in runs:
        worker.work(store, run)
    one, two = (np.load(store.folder(run) / "params.npz") for run in runs)
    assert all(np.array_equal(one[name], two[name]) for name in one.files)

"""Cluster faults: bits do not change, no ε is spent twice, and a release recorded before a kill counts."""

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import vips_core as vips
from tests.jobs import STEPS, releases, request
from tests.models.test_contract import plan_for
from tests.toy import BetaBernoulli, coin_flips, tiny_cluster
from vips_core.engines.base import sums_here
from vips_core.jobs import lifecycle, worker
from vips_core.jobs.submission import submit
from vips_core.models.check import _equal
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.noise import Randomness
from vips_core.privacy.wall import release
from vips_core.store.budget import Cap
from vips_core.store.store import Store

distributed = pytest.importorskip("distributed")
engine = pytest.importorskip("vips_core.engines.dask")

# A driver that is killed after receiving the sums of a step and before releasing them.
KILLED_DRIVER = """
import os, signal, sys
from vips_core.engines.dask import Dask
from vips_core.jobs import worker
from vips_core.store.store import Store

sums, steps = Dask.sums, []

def until_the_third(self, data, step):
    steps.append(sums(self, data, step))
    if len(steps) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return steps[-1]

Dask.sums = until_the_third
worker.work(Store(), sys.argv[1])
"""


@pytest.fixture
def workers():
    """Two workers that other processes can reach."""
    with tiny_cluster(2, protocol="tcp", host="127.0.0.1") as cluster:
        yield cluster


@pytest.fixture
def client(workers):
    with distributed.Client(workers) as client:
        yield client


def test_a_driver_that_is_killed_is_settled_and_can_be_started_again(home, workers, monkeypatch):
    monkeypatch.setenv("VIPS_CLUSTER", workers.scheduler_address)
    store = Store()
    store.add_data("flips", coin_flips(), coin_flips(seed=1), cap=Cap(50.0, 1e-5), unit="one image")
    killed = submit(store, request(engine="cluster"))
    driver = subprocess.run([sys.executable, "-c", KILLED_DRIVER, killed], env=dict(os.environ), timeout=300)
    assert driver.returncode == -9
    assert lifecycle.end_abandoned(store) == [killed]
    assert (store.run(killed).status, releases(store, killed)) == ("failed", 3)
    again = submit(store, request(engine="cluster"))
    worker.work(store, again)
    assert (store.run(again).status, releases(store, again)) == ("done", STEPS)
    assert store.verify() == []


OTHERS_ARE_DONE = threading.Event()


@dataclass(frozen=True)
class Slow(BetaBernoulli):
    """A model for which the worker with the first record waits until the other worker has finished."""

    def e_step(self, params, batch, blocks):
        if batch.bits[0, 0] & 128:
            OTHERS_ARE_DONE.wait(60)
        else:
            OTHERS_ARE_DONE.set()
        return super().e_step(params, batch, blocks)


def test_a_slow_worker_changes_nothing(client, tmp_path):
    images = np.zeros((20, 12))
    images[:10, 0] = 1  # one worker's half
    data = vips.Images.from_images(images, 0.5)
    plan = vips.PrivacyPlan(records=20, expected_batch=20, steps=2, noise_multiplier=1.0, delta=1e-3)
    here = vips.fit(BetaBernoulli(12, 0.5), data, plan, seed=3)
    sharded = vips.Sharded.write(tmp_path / "shards", data, records_per_shard=10)
    there = vips.fit(Slow(12, 0.5), sharded, plan, seed=3, cluster=client)
    assert _equal(here.params, there.params)
    assert here.ledger == there.ledger


@dataclass(frozen=True)
class Twice:
    """An engine that computes every task twice."""

    engine: Any

    def __call__(self, data, step):
        first, again = (self.engine(data, step) for _ in range(2))
        assert all(np.array_equal(first[name], again[name]) for name in step.blocks)
        return again


def test_a_task_that_is_computed_twice_has_the_same_bits_and_costs_once(client):
    data, model = coin_flips(), BetaBernoulli(12, 0.5)
    plan, ledgers, released = plan_for(data), [], []
    for sums in (sums_here, Twice(engine.Dask(client).sums)):
        ledgers.append(Ledger(plan.records, seeded=True))
        params = model.init(plan, np.random.default_rng(0))
        released.append(release(model, params, data, plan, 0, Randomness.of(3), ledgers[-1], sums))
    assert all(np.array_equal(released[0].sums[name], released[1].sums[name]) for name in released[0].sums)
    assert ledgers[0] == ledgers[1]
    assert ledgers[1].steps == 1


def test_a_worker_that_comes_later_is_looked_at_too(client, workers, monkeypatch):
    data, own = coin_flips(), engine.facts()
    answers = iter([own])  # the driver's facts; all later ones are the new worker's

    def join(progress):
        workers.scale(3)
        client.wait_for_workers(3)
        monkeypatch.setattr(engine, "facts", lambda: next(answers, {**own, "numpy": "0.0.1"}))

    with pytest.raises(ValueError, match="has another numpy than this process: install the same"):
        vips.fit(BetaBernoulli(12, 0.5), data, plan_for(data), cluster=client, on_step=join)

"""Sums by Dask workers: the same bits for any number of workers, and a sentence for each fault."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

import vips_core as vips
from tests.models.test_contract import ALL, plan_for
from tests.toy import BetaBernoulli, coin_flips, tiny_cluster
from vips_core.engines.cluster import client_of
from vips_core.models.check import _equal
from vips_core.records import Sharded

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
engine = pytest.importorskip("vips_core.engines.dask")


@pytest.fixture(scope="module", params=[1, 2, 5])
def client(request):
    with (
        tiny_cluster(request.param) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@ALL
def test_a_cluster_has_the_bits_of_this_process(case, client, tmp_path):
    model, data = case.model(), case.data()
    plan = plan_for(data, steps=3)
    here = vips.fit(model, data, plan, seed=3)
    sharded = Sharded.write(tmp_path / "shards", data, records_per_shard=len(data) // 7)
    there = vips.fit(model, sharded, plan, seed=3, cluster=client)
    assert _equal(here.params, there.params)
    assert here.ledger == there.ledger


def test_records_in_memory_go_to_the_workers(client):
    model, data = BetaBernoulli(12, 0.5), coin_flips()
    plan = plan_for(data)
    runs = [vips.fit(model, data, plan, seed=3, cluster=cluster).params for cluster in (None, client)]
    assert _equal(*runs)


@pytest.fixture(scope="module")
def processes():
    with client_of("local[2]") as client:
        yield client


@dataclass(frozen=True)
class Deadly(BetaBernoulli):
    """A model whose E-step kills the worker that computes it, once."""

    fuse: str = ""

    def e_step(self, params, batch, blocks):
        try:
            Path(self.fuse).unlink()  # the worker that removes the fuse dies, so only one of two workers does
        except FileNotFoundError:
            return super().e_step(params, batch, blocks)
        os._exit(1)


@dataclass(frozen=True)
class Telling(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raise ValueError(f"the record is {batch.bits[0]}")


def test_a_worker_that_dies_in_a_step_changes_nothing(processes, tmp_path):
    data, fuse = coin_flips(), tmp_path / "fuse"
    plan, sharded = plan_for(data), Sharded.write(tmp_path / "shards", data, records_per_shard=9)
    here = vips.fit(BetaBernoulli(12, 0.5), data, plan, seed=3)

    def light(progress):
        if progress.step == 2:
            fuse.touch()

    for records in (sharded, data):
        model = Deadly(12, 0.5, fuse=str(fuse))
        there = vips.fit(model, records, plan, seed=3, cluster=processes, on_step=light)
        assert not fuse.exists()
        assert _equal(here.params, there.params)
        assert here.ledger == there.ledger


def test_a_worker_with_another_version_is_refused(processes, monkeypatch):
    own = engine.facts()
    monkeypatch.setattr(engine, "facts", lambda: {**own, "vips-explorer": "0.0.1"})
    with pytest.raises(ValueError, match="has another vips-explorer than this process: install the same"):
        engine.Dask(processes)


def test_an_error_tells_nothing_of_a_record(processes):
    data = coin_flips()
    with pytest.raises(RuntimeError, match="^the E-step failed on a worker with ValueError$"):
        vips.fit(Telling(12, 0.5), data, plan_for(data), cluster=processes)


def test_a_missing_shard_is_named(processes, tmp_path):
    data = coin_flips()
    sharded = Sharded.write(tmp_path / "shards", data, records_per_shard=50)
    (tmp_path / "shards" / sharded.shards[2].file).unlink()
    with pytest.raises(ValueError, match=r"the shard .*part-000002.npz cannot be read"):
        vips.fit(BetaBernoulli(12, 0.5), sharded, plan_for(data), cluster=processes)


def test_a_scheduler_that_is_gone_ends_the_run(monkeypatch):
    data, quickly = coin_flips(), dask.config.set({"distributed.comm.timeouts.connect": "500ms"})
    with quickly, tiny_cluster() as workers, distributed.Client(workers) as client:

        def end(progress):
            monkeypatch.setattr(engine, "PATIENCE", 0.5)
            client.sync(workers.scheduler.close)

        with pytest.raises(ValueError, match="the cluster's scheduler can no longer be reached"):
            vips.fit(BetaBernoulli(12, 0.5), data, plan_for(data), cluster=client, on_step=end)


def test_a_cluster_without_workers_ends_the_run(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 0.5)
    with tiny_cluster() as workers, distributed.Client(workers) as client:
        workers.scale(0)
        client.sync(workers._correct_state)
        with pytest.raises(ValueError, match="no worker for 0.5 seconds"):
            engine.Dask(client)


def test_a_worker_that_spills_is_refused():
    with (
        dask.config.set({"distributed.worker.memory.spill": 0.7}),
        tiny_cluster(memory_limit="1GB") as workers,
        distributed.Client(workers) as client,
        pytest.raises(ValueError, match="may write raw sums to its disk"),
    ):
        engine.Dask(client)

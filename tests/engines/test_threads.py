"""BLAS has one thread while an engine sums, so seeded runs have the bits of one thread."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

import vips_core as vips
from tests.kernels.test_pool import blas_threads, two_blas_threads
from tests.toy import BetaBernoulli, coin_flips, tiny_cluster

__all__ = ["two_blas_threads"]  # a fixture of all tests here


@dataclass(frozen=True)
class Watched(BetaBernoulli):
    """A model that records BLAS's threads in its E-steps, and can fail in a given step."""

    seen: list = field(default_factory=list)
    failing: int = -1

    def e_step(self, params, batch, blocks):
        self.seen.append(set(blas_threads()))
        if len(self.seen) == self.failing:
            raise RuntimeError("failed")
        return super().e_step(params, batch, blocks)


def plan():
    return vips.PrivacyPlan(records=200, expected_batch=50, steps=3, noise_multiplier=1.0, delta=1e-5)


def test_blas_has_one_thread_in_e_steps_and_its_own_afterwards():
    model, after = Watched(12, 0.5), []
    vips.fit(model, coin_flips(), plan(), seed=0, on_step=lambda progress: after.append(set(blas_threads())))
    assert model.seen == [{1}] * 3
    assert after == [{2}] * 3


def test_blas_gets_its_threads_back_when_an_e_step_fails():
    model = Watched(12, 0.5, failing=2)
    with pytest.raises(RuntimeError, match="failed"):
        vips.fit(model, coin_flips(), plan(), seed=0)
    assert model.seen == [{1}] * 2
    assert set(blas_threads()) == {2}


def test_out_of_core_too(tmp_path):
    model = Watched(12, 0.5)
    vips.fit(
        model, vips.Sharded.write(tmp_path / "shards", coin_flips(), records_per_shard=60), plan(), seed=0
    )
    assert model.seen == [{1}] * 12
    assert set(blas_threads()) == {2}


SEEN_BY_WORKERS = []


class WatchedByWorkers(BetaBernoulli):
    """The same for workers that are threads of this process and get copies of the model."""

    def e_step(self, params, batch, blocks):
        SEEN_BY_WORKERS.append(set(blas_threads()))
        return super().e_step(params, batch, blocks)


def test_workers_that_sum_at_the_same_time_too():
    distributed = pytest.importorskip("distributed")
    SEEN_BY_WORKERS.clear()
    with tiny_cluster(3) as workers, distributed.Client(workers) as client:
        vips.fit(WatchedByWorkers(12, 0.5), coin_flips(), plan(), seed=0, cluster=client)
    assert len(SEEN_BY_WORKERS) > 3
    assert set(map(frozenset, SEEN_BY_WORKERS)) == {frozenset({1})}
    assert set(blas_threads()) == {2}


HASH = """
import hashlib
import numpy as np
import vips_core as vips
rng, found = np.random.default_rng(0), hashlib.sha256()
x = rng.normal(size=(400, 300))
rows = vips.Table(x, x[:, 0] > 0, [f"x{j}" for j in range(300)], 300**0.5)
for variant, noise in (("paper", 1.0), ("refined", 0.0), ("refined", 1e-3)):
    plan = vips.PrivacyPlan(records=400, expected_batch=400, steps=5, noise_multiplier=noise, delta=1e-5)
    model = vips.BayesianLogistic(rows.feature_names, rows.norm_bound, variant)
    params = vips.fit(model, rows, plan, seed=0).params
    found.update(params.mean.tobytes() + params.covariance.tobytes())
print(found.hexdigest())
"""


def test_a_seeded_run_has_the_same_bits_for_any_number_of_blas_threads():
    """The size is one at which two threads change the last bits of eigenvectors and products."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", HASH],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert runs[0] == runs[1]

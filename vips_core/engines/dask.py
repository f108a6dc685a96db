"""Sums by the workers of a Dask cluster: a step sends out parameters and returns one sum; shards stay put.

The batch is drawn from the step's own key, so a lot that is recomputed, on any worker, draws the same batch.
A lost, slow or duplicated worker changes no bit, and recomputing a step costs no ε.
"""

import asyncio
import functools
import hashlib
import importlib.metadata
import itertools
import math
import platform
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, KilledWorker, get_worker

from vips_core.engines.base import StepSums, Sums, added
from vips_core.engines.cluster import require_private
from vips_core.kernels.pool import one_thread
from vips_core.records.shards import Shard, Sharded, ShardError, bytes_of

PATIENCE = 30.0  # seconds without a worker or scheduler after which a run fails
PATIENCE_TO_SEND = 600.0  # seconds for sending the finished sum to this process
ATTEMPTS = 5  # attempts at one step
FAN = 8  # most sums that one task adds
MANY_LOTS = 256  # lots above which each worker gets only one, because more slow the scheduler noticeably
_PACKAGES = ("vips-explorer", "numpy", "scipy", "numba")  # packages whose versions determine the bits of sums
_ROOMS = ("engines", "kernels", "models", "privacy", "records")  # folders whose code determines them


class Dask:
    """Engine of a cluster, whose workers are checked before they receive anything.

    Parameters
    ----------
    client
        Client of the cluster.
    insecure
        Whether raw sums may cross a network without TLS.
    """

    def __init__(self, client: Client, *, insecure: bool = False) -> None:
        self._client, self._insecure = client, insecure
        self._trusted: set[str] = set()
        self._data: Any = None
        self._lots: list[list[Any]] = []
        require_private(client.scheduler.address, insecure)
        self._workers()

    def sums(self, data: Any, step: StepSums) -> Sums:
        """Return the sums of a step; work lost with a worker is repeated on the same batch."""
        for _ in range(ATTEMPTS):
            try:
                return self._sums(data, step)
            except KilledWorker:
                raise ValueError("workers die while summing, perhaps for lack of memory") from None
            except _LOST:
                self._lots = []  # some may be lost, so all are placed anew
                self._require_scheduler()
        raise ValueError(f"the cluster lost its workers {ATTEMPTS} times in one step: giving up")

    def _sums(self, data: Any, step: StepSums) -> Sums:
        workers = self._workers()
        if data is not self._data or not self._lots:
            self._data, self._lots = data, self._place(data, workers)
        mark, submit = secrets.token_hex(8), self._client.submit
        shared = self._client.scatter(step, broadcast=True, hash=False, workers=workers)
        sums = [
            [
                submit(_lot_sums, lot, shared, key=f"vips-sum-{mark}-{place}-{number}", workers=workers)
                for number, lot in enumerate(own)
            ]
            for place, own in enumerate(self._lots)
        ]
        for level in itertools.count():  # sums on the same worker are added first
            totals = [
                submit(added, group, key=f"vips-add-{mark}-{level}-{place}", workers=workers)
                for place, group in enumerate(sums)
            ]
            if len(totals) == 1:
                break
            sums = [totals[start : start + FAN] for start in range(0, len(totals), FAN)]
        return self._wait_for(totals[0], set(workers))

    def _wait_for(self, total: Any, workers: set[str]) -> Sums:
        """Wait for the sum and return it; `_LostError` if no worker is left to compute it."""
        done, since = threading.Event(), time.monotonic()
        total.add_done_callback(lambda future: done.set())
        while not done.wait(1):
            self._require_scheduler()
            present = set(self._client.nthreads())
            if workers & present:
                since = time.monotonic()
            elif present or time.monotonic() - since > PATIENCE:
                raise _LostError
        if total.status in ("cancelled", "lost"):
            raise _LostError
        sums: Sums = total.result(timeout=PATIENCE_TO_SEND)
        return sums

    def _workers(self) -> list[str]:
        """Return the present workers, all of them checked; wait until there is one."""
        since = time.monotonic()
        while not (present := set(self._client.nthreads())):
            self._require_scheduler()
            if time.monotonic() - since > PATIENCE:
                raise ValueError(f"the cluster has had no worker for {PATIENCE:g} seconds: start one")
            time.sleep(0.1)
        strangers = sorted(present - self._trusted)
        for address in strangers:
            require_private(address, self._insecure)
        if strangers:
            _check_facts(self._client, strangers)
        self._trusted |= present
        return sorted(present)

    def _require_scheduler(self) -> None:
        since = time.monotonic()
        while self._client.status != "running":
            if self._client.status == "closed" or time.monotonic() - since > PATIENCE:
                raise ValueError("the cluster's scheduler can no longer be reached")
            time.sleep(0.1)

    def _place(self, data: Any, workers: list[str]) -> list[list[Any]]:
        """Return the lots of the data for each worker; a lot stays with its worker while the worker lives."""
        # Several lots per worker balance the load; with many workers, one each spares the scheduler.
        number = max(len(workers), min(4 * len(workers), MANY_LOTS))
        mark = secrets.token_hex(8)
        if isinstance(data, Sharded):
            lots = [
                self._client.submit(
                    Lot,
                    part,
                    key=f"vips-lot-{mark}-{place}",
                    workers=workers[place % len(workers)],
                    allow_other_workers=True,
                )
                for place, part in enumerate(data.lots(number))
            ]
        else:
            size = -(-len(data) // number)
            place = np.arange(len(data)) // size
            parts = [Part(data[place == which], int(which) * size) for which in range(int(place[-1]) + 1)]
            lots = self._client.scatter(parts, hash=False, workers=workers)
        return [lots[first :: len(workers)] for first in range(min(len(workers), len(lots)))]


class _LostError(Exception):
    """No worker is left that could compute a sum."""


# Dask leaves its result unbound when the connection is cut while it waits (`distributed.utils.sync`).
_LOST = (_LostError, OSError, TimeoutError, CancelledError, asyncio.CancelledError, UnboundLocalError)


@dataclass(frozen=True, repr=False)
class Lot:
    """Several shards, read by the worker that sums them. Dask knows their size, so tasks go to the data."""

    data: Sharded

    def loaded(self) -> Iterator[tuple[int, Any]]:
        """Yield the number of each shard's first record and its records, cached in memory if they fit."""
        start = self.data.start
        for shard in self.data.shards:
            yield start, _cached_records(self.data, shard)
            start += shard.records

    def __sizeof__(self) -> int:
        return sum(shard.size for shard in self.data.shards)


@dataclass(frozen=True, repr=False)
class Part:
    """Some of the records that this process holds in memory."""

    records: Any
    start: int

    def loaded(self) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first record, and the records."""
        yield self.start, self.records

    def __sizeof__(self) -> int:
        return bytes_of(self.records)


def _lot_sums(lot: Lot | Part, step: StepSums) -> Sums:
    """Return the sums of one lot on a worker. Dask logs errors, so these must not reveal any record."""
    try:
        with one_thread():  # a worker of several threads sums several lots at a time
            return added(step.over(records, start) for start, records in lot.loaded())
    except ShardError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise RuntimeError(f"the E-step failed on a worker with {kind}")


_cache: OrderedDict[tuple[str, str], Any] = OrderedDict()
_cache_lock = threading.Lock()


def _cached_records(data: Sharded, shard: Shard) -> Any:
    """Return a shard's records, and cache them for the next step in up to half of a worker's memory."""
    key = (data.folder, shard.sha256)
    with _cache_lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    records = data.load(shard)
    most = (get_worker().memory_manager.memory_limit or math.inf) / 2
    with _cache_lock:
        if bytes_of(records) + sum(map(bytes_of, _cache.values())) <= most:
            _cache[key] = records  # the first stay cached: in repeated passes, evicting the oldest never hits
    return records


def _check_facts(client: Client, workers: list[str]) -> None:
    """Refuse workers whose code differs, and workers that may write raw sums to a disk."""
    own = facts()
    try:
        theirs = client.run(_worker_facts, workers=workers)
    except (ImportError, AttributeError):
        raise ValueError(
            "a worker cannot import this version of vips_core: install the same on all workers"
        ) from None
    for address, (facts_there, spills) in theirs.items():
        other = [name for name in own if facts_there.get(name) != own[name]]
        if other:
            raise ValueError(
                f"the worker {address} has another {' and '.join(other)} than this process: install the same"
            )
        if spills:
            raise ValueError(
                f"the worker {address} may write raw sums to its disk: start it with "
                "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False"
            )


def _worker_facts(dask_worker: Any = None) -> tuple[dict[str, str], bool]:
    memory = dask_worker.memory_manager
    spills = memory.memory_limit and (memory.memory_target_fraction or memory.memory_spill_fraction)
    return facts(), bool(spills)


@functools.cache
def facts() -> dict[str, str]:
    """Return everything besides input that determines the bits of sums: versions and a hash of our code."""
    package = Path(__file__).parents[1]
    code = hashlib.sha256()
    for file in sorted(file for room in _ROOMS for file in (package / room).rglob("*.py")):
        code.update(hashlib.sha256(file.read_bytes()).digest())
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {**versions, "Python": platform.python_version(), "code of vips_core": code.hexdigest()}


facts()  # cached at import, because later edits do not change the code that this process runs

"""The life of a run in the store: claimed, begun, advanced, finished, or ended after its worker died.

A worker may release only what it has announced: `advance` writes each release into the ledger before it
happens (often several at once), in a transaction that fails once the run was taken from the worker. So a run
that is settled to what it announced is charged at least what it released, whenever its worker dies and
whatever was changed in the table of runs. A worker that was given up wrongly cannot release anything more.
"""

import contextlib
import math
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vips_core.privacy.events import SampledGaussian
from vips_core.store import ledger_chain as chain
from vips_core.store.database import find
from vips_core.store.home import try_lock
from vips_core.store.rows import CANCELLED, FAILED, QUEUED, RUNNING, RunRow
from vips_core.store.store import Store, end, reserved_in

CLAIM = 60.0  # seconds that a process has to begin the run that it was started for
LAUNCHES = 3  # processes started for a run before it fails because none of them began it
BLOCKS = 20  # a killed run is overcharged by at most 1/20 of its planned releases (rounded up), and twofold
DISK_SPACE = "disk-space"  # file in a run's folder that keeps disk space free for its results
BEAT = 1.0  # seconds between two heartbeats
STALE = 60.0  # seconds without a heartbeat after which a worker counts as dead, even if its lock is held
LOCK_FILE = "alive"  # in the folder of a run
_LOCK_TRIES = 50  # more than one, because `is_lock_held` takes a free lock for a moment


class GivenUpError(Exception):
    """The worker has lost the run, and must release nothing more."""


def claim(store: Store, limit: int) -> tuple[str, int] | None:
    """Claim the longest waiting run for a process that the caller starts; at most `limit` run at once.

    Returns the run and how many are active with it, or None if nothing may start.
    """
    now = time.time()
    lately = "coalesce(abs(claimed - ?) < ?, 0)"  # a claim from the future comes from a wrong clock
    unclaimed = f"status = 'queued' AND NOT {lately}"
    count_active = f"SELECT count(*) FROM runs WHERE status = 'running' OR (status = 'queued' AND {lately})"
    if store.database.read(count_active, [now, CLAIM])[0][0] >= limit:
        return None  # without the write lock, which training needs at each step
    with store.database.write() as connection:
        active = connection.execute(count_active, [now, CLAIM]).fetchone()[0]
        waiting = store.database.read(f"SELECT * FROM runs WHERE {unclaimed} ORDER BY number", [now, CLAIM])
        for row in waiting:
            if row["launches"] >= LAUNCHES:
                end(connection, row, FAILED, (), error="no worker could be started; the log says why")
                continue
            if active >= limit:
                break
            connection.execute(
                "UPDATE runs SET claimed = ?, launches = launches + 1 WHERE id = ?", [now, row["id"]]
            )
            return row["id"], min(limit, active + len(waiting))
    return None


def drop_claim(store: Store, run_id: str) -> None:
    """Release the claim on a run whose process ended before it began the run."""
    waits = "id = ? AND status = 'queued' AND claimed IS NOT NULL"
    if store.database.read(f"SELECT 1 FROM runs WHERE {waits}", [run_id]):
        with store.database.write() as connection:
            connection.execute(f"UPDATE runs SET claimed = NULL WHERE {waits}", [run_id])


@dataclass
class ClaimedRun:
    """A run that one worker trains. Every method raises `GivenUpError` once the worker has lost the run."""

    store: Store
    id: str
    worker: str
    _announced: float = field(default=0, init=False)  # releases; ∞ on public data, where none has to be

    def advance(
        self,
        step: int,
        releases: int,
        *,
        epsilon: float | None = None,
        score: float | None = None,
        steps: int | None = None,
    ) -> bool:
        """Record progress and announce a total of `releases`; return True if the run must stop instead.

        If it must stop, nothing is announced.
        """
        with self.store.database.write() as connection:
            row = self._row(connection)
            connection.execute(
                "UPDATE runs SET step = ?, epsilon = coalesce(?, epsilon), steps = ? WHERE id = ?",
                [step, epsilon, steps or row["steps"], self.id],
            )
            if score is not None:
                connection.execute("INSERT OR REPLACE INTO scores VALUES (?, ?, ?)", [self.id, step, score])
            stop = bool(row["cancel"])
            announced = self._announced
            if not stop and releases > announced:
                announced = _announce(connection, self.id, releases, int(announced))
        if self._announced < announced < math.inf:
            self.store.keep_head()
        self._announced = announced
        return stop

    def finish(
        self,
        status: str,
        released: Sequence[SampledGaussian] | None,
        *,
        epsilon: float | None = None,
        error: str | None = None,
    ) -> None:
        """End the run and settle it to `released`, or if None to what it announced."""
        with self.store.database.write() as connection:
            end(connection, self._row(connection), status, released, epsilon=epsilon, error=error)
        self.store.keep_head()

    def _row(self, connection: sqlite3.Connection) -> sqlite3.Row:
        row = find(connection, "runs", id=self.id)
        if row is None or row["status"] != RUNNING or row["worker"] != self.worker:
            raise GivenUpError(f"run {self.id} was taken from this worker")
        return row


def begin(store: Store, run_id: str) -> ClaimedRun | None:
    """Start a queued run as this process's own; None if it is no longer queued."""
    worker = secrets.token_hex(8)
    with store.database.write() as connection:
        changed = connection.execute(
            "UPDATE runs SET status = ?, worker = ?, started = ? WHERE id = ? AND status = ?",
            [RUNNING, worker, time.time(), run_id, QUEUED],
        )
    return ClaimedRun(store, run_id, worker) if changed.rowcount == 1 else None


def reserved(store: Store, run: RunRow, fingerprint: str) -> tuple[SampledGaussian, ...] | None:
    """Return the releases that a run reserved, None for a run on public data; refuse a run that has begun.

    The table of runs can be edited, and a name can pass to other records. So the reservation must be for the
    records with this fingerprint, which are about to be used.
    """
    with store.database.reading() as connection:
        rows = chain.rows_of(connection, run.id)
    if any(row.kind == "settle" for row in rows):
        raise ValueError("the reservation of this run was settled already: submit it again")
    if any(row.kind == "announce" for row in rows):
        raise ValueError("this run may have released something already: submit it again")
    if rows and rows[0].fingerprint != fingerprint:
        raise ValueError("the reservation of this run is for other records: submit it again")
    return reserved_in(rows) if rows else None


def end_abandoned(store: Store) -> list[str]:
    """End the runs of dead workers, settled to the releases that they announced, and return their names."""
    if store.database.read_only:
        return []
    ended = []
    for (run_id,) in store.database.read("SELECT id FROM runs WHERE status = 'running'"):
        if is_lock_held(store.folder(run_id)):
            continue
        with store.database.write() as connection:
            row = find(connection, "runs", id=run_id)
            if row is not None and row["status"] == RUNNING:
                status = CANCELLED if row["cancel"] else FAILED
                error = f"its worker died after {row['step']} of {row['steps']} steps"
                end(connection, row, status, None, error=error)
                ended.append(run_id)
        (store.folder(run_id) / DISK_SPACE).unlink(missing_ok=True)
    if ended:
        store.keep_head()
    return ended


def _announce(connection: sqlite3.Connection, run_id: str, releases: int, before: int) -> float:
    """Announce releases of a run in the ledger before they happen; return the total that is announced.

    Further ones are announced at once, so that a long run does not fill the ledger.
    """
    rows = chain.rows_of(connection, run_id)  # not the table of runs, which can be edited
    if not rows:  # on public data nothing was reserved
        return math.inf
    total = sum(event.count for event in reserved_in(rows))
    ahead = min(2 * before, before + math.ceil(total / BLOCKS))
    announced = min(total, max(releases, ahead))
    content = {"releases": announced}
    chain.append(connection, "announce", rows[0].fingerprint, rows[0].data, content, run_id)
    return announced


@contextlib.contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder while the body runs; `BlockingIOError` if another process holds it."""
    path = folder / LOCK_FILE
    with path.open("w") as file:
        for _ in range(_LOCK_TRIES):
            if try_lock(file.fileno()):
                break
            time.sleep(0.02)
        else:
            raise BlockingIOError(f"another process has locked {path}")
        ended = threading.Event()
        heart = threading.Thread(target=_beat, args=(path, ended), daemon=True)
        heart.start()
        try:
            yield
        finally:
            ended.set()
            heart.join()


def is_lock_held(folder: Path) -> bool:
    """Whether a live worker holds the lock of a run's folder: one with a recent heartbeat."""
    path = folder / LOCK_FILE
    try:
        with path.open("r+") as file:
            if try_lock(file.fileno(), shared=True):
                return False
            if not _is_fresh(path):
                time.sleep(2 * BEAT)  # if the machine slept or its clock was set, the heart beats again
            return _is_fresh(path)
    except FileNotFoundError:
        return False


def _is_fresh(path: Path) -> bool:
    return time.time() - path.stat().st_mtime < STALE


def _beat(path: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT):
        with contextlib.suppress(OSError):  # a missed beat is no reason to stop
            os.utime(path)

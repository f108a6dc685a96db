"""Registrations, and first openings of a store, killed at random moments: nothing is under-counted."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.toy import coin_flips
from vips_core.store.budget import Cap
from vips_core.store.people import Sources
from vips_core.store.store import Store

CAP = Cap(3.0, 1e-5)


def strike(step: Callable[[], object], seconds: float) -> bool:
    """Do a step in a process of its own and kill it after a while; return whether it was killed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            step()
            code = 0
        finally:
            os._exit(code)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def kill_registrations(folder: Path, kills: int, seed: int) -> None:
    """Kill registrations, each of which shares a row with the previous one."""
    register(folder, 0)
    seconds = _seconds(partial(register, folder, 1))
    chance, killed, number = random.Random(seed), 0, 1
    while killed < kills:
        number += 1
        killed += strike(partial(register, folder, number), chance.uniform(0, seconds))
        after_kill = opened(folder)
        used = {row["file"] for row in after_kill.database.read("SELECT file FROM data")}
        assert {path.name for path in (folder / "data").iterdir()} == used  # and no raw rows besides
        assert list((folder / "tmp").glob("*")) == []
        after_kill.database.close()
        register(folder, number)  # nothing is stuck, and all share one pool
        store = opened(folder)
        assert store.load(f"images {number}").private
        assert store.data_row(f"images {number}").cap == CAP
        assert len(store.overlap_sentences("images 0")) == number
        store.database.close()


def register(home: Path, number: int) -> None:
    """Register records that share a row with those of the previous number."""
    rows = Sources([f"row {row}".encode() for row in (number - 1, number)])
    cap = CAP if number == 0 else None
    store = Store(home)
    about = {"cap": cap, "unit": "one image", "sources": rows, "share_budget": True}
    store.add_data(f"images {number}", coin_flips(20, seed=number), **about)
    store.database.close()


def kill_creations(folder: Path, kills: int, seed: int) -> None:
    """Kill the process that makes a store: the next one makes it, or finds it intact."""
    seconds = _seconds(partial(Store, folder / "whole"))
    chance, killed = random.Random(seed), 0
    while killed < kills:
        home = folder / "killed"
        killed += strike(partial(Store, home), chance.uniform(0, seconds))
        store = opened(home)
        store.add_data("flips", coin_flips(20), cap=CAP, unit="one image")
        assert store.budget("flips").left_share == 1
        store.database.close()
        shutil.rmtree(home)


def _seconds(step: Callable[[], object]) -> float:
    start = time.monotonic()
    step()
    return time.monotonic() - start


def opened(home: Path) -> Store:
    """Open a store that must be intact."""
    store = Store(home)
    assert store.verify() == []
    assert store.database.read("PRAGMA integrity_check")[0][0] == "ok"
    return store

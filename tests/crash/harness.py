"""Kills workers and supervisors at random moments and compares the ledger with the actual releases."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.toy import coin_flips
from vips_core.jobs import supervisor
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store import budget
from vips_core.store.budget import Cap
from vips_core.store.rows import STATUSES
from vips_core.store.store import Store

PATIENCE = 2.0  # seconds to wait for releases, at most
CAP = Cap(1e6, 1e-5)
REQUEST = Request.from_mapping(
    {
        "model": "sbn",
        "data": "flips",
        "method": "paper",
        "hidden": 2,
        "noise": 30.0,
        "delta": 1e-5,
        "epochs": 20,
    }
)


class Harness:
    """A store with a private data set, kept under load by supervisors that the test may kill."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.random = home, random.Random(seed)
        for name in ("pids", "released"):
            (home / name).mkdir()
        Store(home).add_data("flips", coin_flips(), coin_flips(seed=1), cap=CAP, unit="one image")
        self.zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"VIPS_WORKERS": "4", "OPENBLAS_NUM_THREADS": "1", "VIPS_THREADS": "1"},
        )
        ready = self.zygote.stdout.readline()
        if not ready:
            self.zygote.communicate()
            raise RuntimeError("the zygote did not start; its stderr says why")
        self.supervisor = self.supervise()

    def supervise(self) -> int:
        """Start a supervisor."""
        self.zygote.stdin.write("supervise\n")
        self.zygote.stdin.flush()
        return int(self.zygote.stdout.readline())

    def kill_supervisor(self) -> None:
        """Kill it, whatever it is doing."""
        os.kill(self.supervisor, signal.SIGKILL)

    def keep_busy(self, runs: int = 4) -> None:
        """Queue more than can run, and cancel one now and then."""
        store = Store(self.home)
        waiting = store.runs(status="queued")
        for _ in range(runs - len(waiting)):
            submit(store, REQUEST)
        running = store.runs(status="running")
        if running and self.random.random() < 0.1:
            with contextlib.suppress(ValueError):  # it may have ended since
                store.cancel(self.random.choice(running).id)

    def kill_worker(self) -> bool:
        """Kill a live worker after a random number of releases by all; return False if none is alive."""
        until, enough = time.monotonic() + PATIENCE, self.released() + self.random.randrange(25)
        while self.released() < enough and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(self.random.uniform(0, 0.02))
        workers = [int(file.read_text() or 0) for file in (self.home / "pids").iterdir()]
        workers = [pid for pid in workers if pid and works(pid)]
        if not workers:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(workers), signal.SIGKILL)
            return True
        return False

    def released(self) -> int:
        """Return the number of releases so far."""
        return sum(file.stat().st_size for file in (self.home / "released").iterdir())

    def check_opens(self) -> None:
        """The store opens cleanly, and its ledger is intact."""
        store = Store(self.home)
        assert store.verify() == []
        assert store.database.read("PRAGMA integrity_check")[0][0] == "ok"
        assert {run.status for run in store.runs()} <= set(STATUSES)

    def drain(self, seconds: float = 60) -> None:
        """Wait until everything has ended."""
        store, until = Store(self.home), time.monotonic() + seconds
        while store.runs(status="queued") or store.runs(status="running"):
            assert time.monotonic() < until, [run for run in store.runs() if run.ended is None]
            time.sleep(0.1)

    def check_costs(self) -> dict[str, int]:
        """Check that each run is settled to what it released or one release more; return totals."""
        store = Store(self.home)
        supervisor.start(store)
        assert not store.runs(status="running")
        settled = {use.run: use for use in budget.uses(store.ledger("flips"))}
        really, counted = [], []
        for run in store.runs():
            file = self.home / "released" / run.id
            released = file.stat().st_size if file.exists() else 0
            use = settled[run.id]
            assert use.settled, run
            recorded = sum(event.count for event in use.events)
            assert released <= recorded <= released + 1, (run, released, recorded)
            if run.status == "done":
                assert released == recorded == run.steps
            really.append(released)
            counted.append(recorded)
        plan = budget.from_lists([[1.0, REQUEST.get("noise"), max(1, sum(really))]])
        assert store.budget("flips").planned_epsilon >= budget.cost(plan, CAP.delta) * (1 - 1e-9)
        return {"runs": len(really), "released": sum(really), "recorded": sum(counted)}

    def close(self) -> None:
        """End all processes that were started."""
        with contextlib.suppress(ProcessLookupError):
            self.kill_supervisor()
        for file in (self.home / "pids").iterdir():
            pid = int(file.read_text() or 0)
            if pid and works(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.zygote.stdin.close()
        self.zygote.wait(10)
        self.zygote.stdout.close()


def works(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

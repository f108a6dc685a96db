"""Faults of a cluster of real processes, as `dask scheduler` and `dask worker` start them: see `--help`.

python -m tests.benchmarks.cluster_faults [worker stopped scheduler version]

In the middle of a step a worker is killed, stopped for some seconds or joined by one with other code, or the
scheduler is killed. Prints how the run ended: with the bits of a run without a cluster, or with one sentence.
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import distributed

import vips_core as vips
from tests.toy import BetaBernoulli, coin_flips
from vips_core.engines import dask as engine
from vips_core.models.check import _equal

HERE = Path(__file__).resolve().parents[2]
IN_MEMORY = {f"DASK_DISTRIBUTED__WORKER__MEMORY__{name}": "False" for name in ("TARGET", "SPILL")}
FAULTS = ("worker", "stopped", "scheduler", "version")


@dataclass(frozen=True)
class Sleeping(BetaBernoulli):
    """Counts pixels and sleeps for each record, so that a fault can strike in the middle of a step."""

    seconds: float = 0.0

    def e_step(self, params, batch, blocks):
        time.sleep(self.seconds * len(batch))
        return super().e_step(params, batch, blocks)


class Processes:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder):
        self.folder, self.stack = folder, contextlib.ExitStack()
        self.address_file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        self.workers = [self.start_worker() for _ in range(2)]

    def start_worker(self, code=HERE):
        return self._start("worker", "--nthreads", "1", "--no-nanny", code=code)

    def _start(self, *arguments, code=HERE):
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        process = subprocess.Popen(
            [*command, "--scheduler-file", str(self.address_file)],
            env=os.environ | IN_MEMORY | {"PYTHONPATH": str(code)},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def other_code(self):
        """Return a copy of the package whose code differs by a comment."""
        shutil.copytree(
            HERE, self.folder / "other", ignore=shutil.ignore_patterns(".*", "sample_data", "__pycache__")
        )
        with (self.folder / "other" / "vips_core" / "kernels" / "pool.py").open("a") as file:
            file.write("# another version\n")
        return self.folder / "other"


def cause(fault, processes, client):
    """Cause a fault; called in the middle of a step."""
    if fault == "worker":
        processes.workers[0].kill()
    elif fault == "stopped":
        processes.workers[0].send_signal(signal.SIGSTOP)
        time.sleep(5)
        processes.workers[0].send_signal(signal.SIGCONT)
    elif fault == "scheduler":
        processes.scheduler.kill()


def outcome(fault):
    data, model = coin_flips(), BetaBernoulli(12, 0.5)
    plan = vips.PrivacyPlan(records=200, expected_batch=50, steps=6, noise_multiplier=1.0, delta=1e-3)
    here = vips.fit(model, data, plan, seed=3)
    with tempfile.TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        with processes.stack, distributed.Client(scheduler_file=processes.address_file, timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
            steps = []

            def on_step(progress):
                steps.append(progress.step)
                if progress.step == 2 and fault == "version":
                    processes.start_worker(processes.other_code())
                    client.wait_for_workers(3, timeout=120)
                elif progress.step == 2:
                    threading.Timer(0.1, cause, (fault, processes, client)).start()

            start = time.perf_counter()
            try:
                slow = Sleeping(12, 0.5, seconds=0.02)
                there = vips.fit(slow, data, plan, seed=3, cluster=client, on_step=on_step)
                same = _equal(here.params, there.params) and here.ledger == there.ledger
                ended = "the same bits and ledger" if same else "OTHER BITS"
            except ValueError as error:
                ended = f"after {len(steps)} steps: {error}"
            return f"{ended} ({time.perf_counter() - start:.0f} s)"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("faults", nargs="*", default=FAULTS, help=f"of {', '.join(FAULTS)}; by default all")
    parser.add_argument("--patience", type=float, default=engine.PATIENCE, help="seconds")
    options = parser.parse_args()
    engine.PATIENCE = options.patience
    for fault in options.faults:
        print(f"{fault}: {outcome(fault)}", flush=True)


if __name__ == "__main__":
    main()

"""A disk that is really full: a clear error, and nothing under-counted. Needs the right to mount a tmpfs."""

import subprocess
import sys

import pytest

from tests.toy import coin_flips
from vips_core.runs import budget, lifecycle, worker
from vips_core.runs.budget import Cap
from vips_core.runs.database import StoreError
from vips_core.runs.request import Request
from vips_core.runs.store import Store

REQUEST = Request.from_mapping(
    {
        "model": "sbn",
        "data": "flips",
        "method": "paper",
        "hidden": 2,
        "noise": 20.0,
        "delta": 1e-5,
        "epochs": 400,
    }
)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if not sys.platform.startswith("linux") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no right to mount a tmpfs; tests/test_worker.py has stand-ins")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder):
    """Take all space that is left, and return the file that holds it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass
    return filler


def test_a_full_disk_is_said_clearly_and_under_counts_nothing(small_disk):
    store = Store(small_disk)
    store.add_data("flips", coin_flips(), cap=Cap(500.0, 1e-5), unit="one image")
    run, steps = store.submit(REQUEST), []

    def fill_at_three(progress):
        steps.append(progress.step)
        if progress.step == 3:
            fill(small_disk)

    with pytest.raises(StoreError, match=r"the disk that holds .* is full or failing .*: make room") as error:
        worker.work(store, run, fill_at_three)
    assert "\n" not in str(error.value)
    with pytest.raises(StoreError, match="is full or failing"):
        store.submit(REQUEST)
    (small_disk / "filler").unlink()
    fresh = Store(small_disk)
    assert fresh.verify() == []
    assert lifecycle.bury(fresh) == [run]
    assert fresh.run(run).status == "failed"
    (use,) = budget.uses(fresh.ledger("flips"))
    assert use.settled
    assert steps[-1] <= sum(event.count for event in use.events) <= steps[-1] + 1
    assert fresh.submit(REQUEST)

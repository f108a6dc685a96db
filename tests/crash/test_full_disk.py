"""A disk that is really full: a clear error, and nothing under-counted. Needs the right to mount a tmpfs."""

import subprocess
import sys

import pytest

from tests.toy import coin_flips
from vips_core.jobs import lifecycle, worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store import budget
from vips_core.store.budget import Cap
from vips_core.store.store import Store

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
        pytest.skip("no right to mount a tmpfs; tests/jobs/test_worker.py has stand-ins")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder):
    """Fill the remaining space, and return the file that holds it."""
    filler = folder / f"filler-{len(list(folder.glob('filler*')))}"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass
    return filler


def test_a_full_disk_is_reported_and_nothing_is_under_counted(small_disk, tmp_path, monkeypatch):
    monkeypatch.setenv("VIPS_RESCUE", str(tmp_path))
    store = Store(small_disk)
    store.add_data("flips", coin_flips(), cap=Cap(500.0, 1e-5), unit="one image")
    run, steps = submit(store, REQUEST), []

    def fill_at_three(progress):
        steps.append(progress.step)
        if progress.step == 3:
            fill(small_disk)

    worker.work(store, run, fill_at_three)  # the reserved space is enough to record its end
    error = store.run(run).error
    assert "is full or failing" in error
    assert error.endswith(f"is counted and was kept in {tmp_path / f'vips-run-{run}'}")
    assert "\n" not in error
    fill(small_disk)
    with pytest.raises(ValueError, match="nothing was spent, free some space and try again"):
        submit(store, REQUEST)
    for filler in small_disk.glob("filler*"):
        filler.unlink()
    fresh = Store(small_disk)
    assert fresh.verify() == []
    assert lifecycle.end_abandoned(fresh) == []
    assert fresh.run(run).status == "failed"
    (use,) = budget.uses(fresh.ledger("flips"))
    assert use.settled
    assert steps[-1] <= sum(event.count for event in use.events) <= steps[-1] + 1
    assert submit(fresh, REQUEST)

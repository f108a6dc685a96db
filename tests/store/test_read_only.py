"""A store on a disk that is really read-only. Needs the right to mount."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.store import request
from vips_core.jobs import lifecycle, supervisor, worker
from vips_core.jobs.submission import submit
from vips_core.store.database import StoreError
from vips_core.store.store import Store


@pytest.fixture
def read_only(tmp_path):
    """Yield folders on a read-only disk."""
    place = tmp_path / "read-only"
    place.mkdir()

    def mount(folder):
        commands = (["--bind", str(folder), str(place)], ["-o", "remount,bind,ro", str(place)])
        for options in commands:
            if not sys.platform.startswith("linux") or subprocess.run(["mount", *options]).returncode:
                pytest.skip("no right to mount; tests/cli/test_cli_runs.py has a stand-in")
        return place

    yield mount
    subprocess.run(["umount", "--lazy", str(place)], capture_output=True)


def test_an_auditor_sees_everything_and_changes_nothing(store, home, read_only):
    run = submit(store, request())
    worker.work(store, run)
    submit(store, request(epsilon=0.1))
    copy = Store(read_only(home))  # while the store is in use
    assert (copy.verify(), copy.notes()) == ([], [])
    assert (copy.ledger(), copy.runs(), copy.data_sets()) == (store.ledger(), store.runs(), store.data_sets())
    assert copy.budget("flips") == store.budget("flips")
    assert len(copy.load("flips").train) == 200
    assert (lifecycle.end_abandoned(copy), supervisor.start(copy)) == ([], [])
    with pytest.raises(StoreError, match="is read-only here: nothing can be changed"):
        copy.delete(run)


def test_a_copy_of_a_store_in_use_without_its_index_is_refused_in_one_sentence(store, tmp_path, read_only):
    copied = shutil.copytree(store.home, tmp_path / "copied")
    assert (copied / "store.db-wal").stat().st_size > 0
    (copied / "store.db-shm").unlink()
    place = read_only(copied)
    with pytest.raises(StoreError, match="was copied while it was in use, and its last changes cannot be"):
        Store(place)


def test_the_database_is_the_users_alone(tmp_path):
    """It holds the key with which guesses about who is in a data set can be tested."""
    tmp_path.chmod(0o755)  # a folder that was there before
    Store(tmp_path).database.close()
    assert os.stat(tmp_path / "store.db").st_mode & 0o077 == 0

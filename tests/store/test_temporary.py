"""Temporary folders for records: readable by their owner only, and removed with their process."""

import os
import subprocess
import sys

import pytest

from vips_core.store.store import Store

KILLED = """
import os, signal
from vips_core.files import new_private_file
from vips_core.store.store import Store

with Store().temporary_folder() as folder, new_private_file(folder / "rows") as file:
    file.write(b"raw rows")
    file.flush()
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def open_to_all():
    """Make new files readable by everybody by default."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("open_to_all")
def test_a_folder_is_private_and_goes_with_its_block(home):
    with Store(home / "deep" / "store").temporary_folder() as folder:
        parents = [folder, *folder.parents]
        assert {mode(path) for path in parents[: parents.index(home)]} == {0o700}
        (folder / "inner").mkdir()
        (folder / "inner" / "rows").write_bytes(b"raw rows")
    assert list(folder.parent.iterdir()) == []


def test_folders_of_a_killed_process_are_removed_when_the_store_is_opened(home):
    killed = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -9
    left = home / "tmp" / killed.stdout.strip()
    assert (left / "rows").read_bytes() == b"raw rows"
    (home / "tmp" / "orphan").mkdir()  # whose lock was removed by a process that was killed then
    with Store().temporary_folder() as own:
        assert sorted((home / "tmp").iterdir()) == sorted([own, own.with_suffix(".lock")])


def test_folders_of_live_processes_stay(home):
    with Store().temporary_folder() as own:
        (own / "rows").write_bytes(b"raw rows")
        opened = subprocess.run([sys.executable, "-c", "from vips_core.store.store import Store; Store()"])
        Store()
        assert opened.returncode == 0
        assert (own / "rows").read_bytes() == b"raw rows"


def test_a_folder_swept_before_it_is_locked_is_made_again(home, monkeypatch):
    """Cleaning up may come between the creation of the file and its lock."""
    from vips_core.store import home as module

    lock, seen, store = module.try_lock, [], Store(home)

    def swept_first(descriptor):
        seen.append(descriptor)
        if len(seen) == 1:
            monkeypatch.setattr(module, "try_lock", lock)
            module._remove_abandoned(home)
            monkeypatch.setattr(module, "try_lock", swept_first)
        return lock(descriptor)

    monkeypatch.setattr(module, "try_lock", swept_first)
    with store.temporary_folder() as own:
        assert len(seen) == 2
        assert sorted((home / "tmp").iterdir()) == sorted([own, own.with_suffix(".lock")])

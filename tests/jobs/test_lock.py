"""The lock that shows whether a worker still works."""

import os
import time

from vips_core.jobs import lock


def test_a_lock_counts_only_while_it_is_held(tmp_path, monkeypatch):
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        monkeypatch.setattr(lock, "BEAT", 0.01)
        monkeypatch.setattr(lock, "STALE", -1.0)
        assert not lock.is_held(tmp_path)
        monkeypatch.undo()
    assert not lock.is_held(tmp_path)


def test_a_worker_is_not_dead_because_the_machine_slept(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "BEAT", 0.2)
    with lock.hold(tmp_path):
        an_hour_ago = time.time() - 3600
        os.utime(tmp_path / lock.LOCK_FILE, (an_hour_ago, an_hour_ago))  # what all see who wake up at once
        assert lock.is_held(tmp_path)

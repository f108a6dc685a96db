"""The lock that shows whether a worker still works."""

import os
import time

from vips_core.jobs import lifecycle


def test_a_lock_counts_only_while_it_is_held(tmp_path, monkeypatch):
    assert not lifecycle.is_lock_held(tmp_path)
    with lifecycle.hold_lock(tmp_path):
        assert lifecycle.is_lock_held(tmp_path)
        monkeypatch.setattr(lifecycle, "BEAT", 0.01)
        monkeypatch.setattr(lifecycle, "STALE", -1.0)
        assert not lifecycle.is_lock_held(tmp_path)
        monkeypatch.undo()
    assert not lifecycle.is_lock_held(tmp_path)


def test_a_worker_is_not_dead_because_the_machine_slept(tmp_path, monkeypatch):
    monkeypatch.setattr(lifecycle, "BEAT", 0.2)
    with lifecycle.hold_lock(tmp_path):
        an_hour_ago = time.time() - 3600
        os.utime(tmp_path / lifecycle.LOCK_FILE, (an_hour_ago, an_hour_ago))  # as seen on waking up
        assert lifecycle.is_lock_held(tmp_path)

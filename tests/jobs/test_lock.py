"""The lock that shows whether a worker still works."""

from vips_core.jobs import lock


def test_a_lock_counts_only_while_it_is_held(tmp_path, monkeypatch):
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        monkeypatch.setattr(lock, "STALE", -1.0)
        assert not lock.is_held(tmp_path)
        monkeypatch.undo()
    assert not lock.is_held(tmp_path)

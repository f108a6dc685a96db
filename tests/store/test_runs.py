"""Runs: listed, pinned, cancelled and deleted; the ledger keeps their cost."""

import numpy as np
import pytest

from tests.store import request
from vips_core.jobs.submission import submit


def test_runs_are_listed_pinned_and_deleted(store):
    first, second = submit(store, request()), submit(store, request(data="mnist", noise=0.0))
    assert [row.id for row in store.runs()] == [second, first]
    assert [row.id for row in store.runs(data="flips", model="sbn", status="queued", kind="fit")] == [first]
    assert store.runs(model="lda") == []
    assert store.run(second).epsilon is None
    assert store.run(first).epsilon == 0
    assert store.run(first).versions["numpy"] == np.__version__
    store.pin(first, True)
    assert store.run(first).pinned
    with pytest.raises(ValueError, match="cannot be deleted while it is queued: cancel it first"):
        store.delete(first)
    store.cancel(first)
    with pytest.raises(ValueError, match="cannot be cancelled: it is cancelled already"):
        store.cancel(first)
    store.folder(first).mkdir()
    rows = store.ledger()
    store.delete(first)
    assert not store.folder(first).exists()
    assert store.ledger() == rows
    for action in (store.run, store.cancel, store.delete):
        with pytest.raises(ValueError, match="there is no run"):
            action(first)


def test_public_facts_about_records_outlive_them(store):
    run = submit(store, request())
    before = store.data_of(store.run(run))
    store.cancel(run)
    store.remove_data("flips")
    after = store.data_of(store.run(run))
    for name in ("name", "kind", "records", "private", "fingerprint", "unit", "person_column"):
        assert getattr(after, name) == getattr(before, name)
    assert after.kind == "images"

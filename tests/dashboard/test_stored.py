"""What pages know of the store."""

from types import SimpleNamespace

import pytest

from dashboard import stored


@pytest.mark.parametrize(("records", "delta"), [(60, 1e-3), (1000, 1e-4), (18_963, 1e-6), (60_000, 1e-6)])
def test_suggested_delta(records, delta):
    assert stored.suggested_delta(SimpleNamespace(cap=None, records=records)) == delta
    assert delta <= 0.1 / records * (1 + 1e-9) < 10 * delta * (1 + 1e-6)
    cap = SimpleNamespace(delta=1e-4)
    assert stored.suggested_delta(SimpleNamespace(cap=cap, records=records)) == 1e-4

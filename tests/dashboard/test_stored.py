"""What pages read from the store."""

from types import SimpleNamespace

import pytest

from dashboard import stored
from tests.dashboard.topics_page import documents


@pytest.mark.parametrize(("records", "delta"), [(60, 1e-3), (1000, 1e-4), (18_963, 1e-6), (60_000, 1e-6)])
def test_suggested_delta(records, delta):
    assert stored.suggested_delta(SimpleNamespace(cap=None, records=records)) == delta
    assert delta <= 0.1 / records * (1 + 1e-9) < 10 * delta * (1 + 1e-6)
    cap = SimpleNamespace(delta=1e-4)
    assert stored.suggested_delta(SimpleNamespace(cap=cap, records=records)) == 1e-4


def test_held_out_records_that_are_registered_later_are_read():
    """Pages kept the data set without them, because its fingerprint is that of the training records."""
    letters, unit = documents(50, 3), "one document"
    stored.store().add_data("letters", letters, private=False, unit=unit)
    assert stored.data("letters").test is None
    stored.store().add_data("letters", letters, documents(9, 4), private=False, unit=unit)
    assert len(stored.data("letters").test) == 9

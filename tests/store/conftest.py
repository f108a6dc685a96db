"""Fixtures of the store."""

import pytest

from tests.store import CAP
from tests.toy import coin_flips
from vips_core.store.store import Store


@pytest.fixture
def store(home):
    """A store with one private data set."""
    made = Store()
    assert made.home == home
    made.add_data("flips", coin_flips(), coin_flips(seed=1), cap=CAP, unit="one image")
    return made

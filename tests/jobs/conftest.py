"""Fixtures of jobs."""

import pytest

from tests.toy import coin_flips
from vips_core.store.budget import Cap
from vips_core.store.store import Store


@pytest.fixture
def store(home):
    """A store with one private data set."""
    made = Store()
    made.add_data("flips", coin_flips(), coin_flips(seed=1), cap=Cap(50.0, 1e-5), unit="one image")
    return made

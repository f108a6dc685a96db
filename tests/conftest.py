"""Fixtures of all tests."""

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """A store of the test's own: no test reads or writes the user's."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("VIPS_HOME", str(folder))
    return folder

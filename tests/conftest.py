"""Fixtures of all tests, and how hypothesis looks for examples."""

import os
import sys

import pytest
from hypothesis import settings

# The same examples every time, whatever the machine's load; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Many tests start processes: let them find the core compiled, even where the environment keeps no bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """A store of the test's own: no test reads or writes the user's."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("VIPS_HOME", str(folder))
    return folder


@pytest.fixture
def scratch(tmp_path_factory):
    """A private folder for rows on their way to their shard."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(autouse=True)
def same_main_module(monkeypatch):
    """Streamlit's AppTest leaves its script as `__main__`, which processes of later tests would run."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])

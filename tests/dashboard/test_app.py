"""The app: its pages, what they load, and settings that every page needs."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard import pages
from tests.pages import checked, opened

HOME = Path(dashboard.__file__).parent


def test_every_page_is_there():
    for name in pages.TITLES:
        assert callable(importlib.import_module(f"dashboard.views.{name}.page").show)


def test_the_start_page_shows_before_the_core_is_loaded():
    code = (
        "import sys; from dashboard import pages, state; from dashboard.components import layout;"
        "import dashboard.views.start.page;"
        "print([name for name in ('vips_core', 'numba', 'pandas') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize("name", pages.TITLES)
def test_pages_are_thin(name):
    path = HOME / "views" / name / "page.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize("address", [{}, {"prior": 0.5}], ids=["start", "plan"])
def test_a_setting_that_cannot_be_used_is_said_on_every_page(address, monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", "many")
    at = opened(AppTest.from_file(HOME / "app.py", default_timeout=60), **address)
    assert "must be a whole number of at least 1" in at.error[0].value
    assert bool(at.title) == (address == {})  # Start introduces VIPS even then
    monkeypatch.setenv("VIPS_WORKERS", "2")
    assert not checked(at.run()).error

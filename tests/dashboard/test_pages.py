"""What a server loads before a page asks for it."""

import pytest

from dashboard import pages


@pytest.fixture
def loaded(monkeypatch):
    """The modules that are loaded ahead, at once instead of later."""

    class Timer:
        def __init__(self, seconds, function):
            self.start = function

    modules = []
    monkeypatch.setattr(pages.threading, "Timer", Timer)
    monkeypatch.setattr(pages.importlib, "import_module", modules.append)
    monkeypatch.setattr(pages.gc, "freeze", lambda: modules.append("freeze"))
    pages.load_ahead.cache_clear()
    yield modules
    pages.load_ahead.cache_clear()


def test_a_server_with_warm_workers_loads_every_page_ahead_once(loaded, monkeypatch):
    monkeypatch.setenv("VIPS_WARM", "1")
    pages.load_ahead()
    pages.load_ahead()
    assert [name for name in loaded if name.startswith("dashboard.")] == [
        f"dashboard.views.{name}.page" for name in pages.TITLES
    ]
    assert loaded.count("freeze") == 1


@pytest.mark.parametrize("number", ["0", ""])
def test_others_load_a_page_when_it_is_drawn(number, loaded, monkeypatch):
    monkeypatch.setenv("VIPS_WARM", number)
    pages.load_ahead()
    assert loaded == []

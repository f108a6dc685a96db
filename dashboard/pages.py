"""The pages of the app by name; a page's module is imported when it is first drawn, or ahead of that."""

import functools
import gc
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable
from typing import Any

import streamlit as st

TITLES = {
    "start": ("Start", ":material/home:"),
    "plan": ("Plan", ":material/tune:"),
    "topics": ("Topics", ":material/subject:"),
    "risk": ("Risk", ":material/monitor_heart:"),
    "images": ("Images", ":material/image:"),
    "frontier": ("Frontier", ":material/show_chart:"),
    "audit": ("Audit", ":material/policy:"),
    "runs": ("Runs", ":material/history:"),
    "learn": ("Learn", ":material/school:"),
}
OWN_GRID = "own"  # of Frontier's presets: a sweep that the visitor sets up
_WITH_RESULTS = ("sklearn.metrics", "scipy.stats", "scipy.optimize", "scipy.fft")  # or with a first ε
_FIRST_PAGE = 2.0  # seconds that a server's first page has for itself
_loading = threading.Lock()


def page(name: str) -> Any:
    """Return a page, to register it or to link to it."""
    title, icon = TITLES[name]
    return st.Page(_drawer(name), title=title, icon=icon, url_path=name, default=name == "start")


@functools.cache
def of_model(model: str) -> str:
    """Return the name of the page that trains a model: the one whose definition names its task."""
    for name in TITLES:
        definition = f"dashboard.views.{name}.definition"
        if (
            importlib.util.find_spec(definition)
            and importlib.import_module(definition).PAGE.task.name == model
        ):
            return name
    raise ValueError(f"no page trains the model {model!r}")


@functools.cache
def load_ahead() -> None:
    """Let a server that has warm workers load, once and in the background, what its pages will need."""
    if os.environ.get("VIPS_WARM", "") not in ("", "0"):
        timer = threading.Timer(_FIRST_PAGE, _load_everything)
        timer.daemon = True
        timer.start()


def _load_everything() -> None:
    for module in (*(f"dashboard.views.{name}.page" for name in TITLES), *_WITH_RESULTS):
        _load(module)
    gc.collect()
    gc.freeze()  # Streamlit looks for garbage after each run of a page; code is none


def _load(module: str) -> Any:
    """Import one module at a time: two threads in packages that import in circles may see half a module."""
    with _loading:
        return importlib.import_module(module)


def _drawer(name: str) -> Callable[[], None]:
    def draw() -> None:
        _load(f"dashboard.views.{name}.page").show()

    return draw

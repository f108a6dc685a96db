"""The pages of the app by name; a page's module is imported when it is first drawn, or ahead of that."""

import functools
import gc
import importlib
import os
import sys
import threading
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
OF_MODEL = {"lda": "topics", "logistic": "risk", "sbn": "images"}  # models with a page of their own
OWN_GRID = "own"  # the preset of Frontier that the visitor sets up
_ANY = "model-"  # start of the name of a model's generic page
_TASKS = "vips_core.models.task"
# Needed by the first result or the first ε.
_WITH_RESULTS = ("sklearn.metrics", "scipy.stats", "scipy.optimize", "scipy.fft")
_FIRST_PAGE = 2.0  # seconds in which a server's first page loads undisturbed
_loading = threading.Lock()


def names() -> list[str]:
    """Return the names of all pages: generic ones only once the core is loaded, as Start shows before it."""
    if f"/{_ANY}" in (st.context.url or ""):
        _load("vips_core")
    registered = list(sys.modules[_TASKS].TASKS) if _TASKS in sys.modules else []
    return [*TITLES, *(of_model(model) for model in registered if model not in OF_MODEL)]


def page(name: str) -> Any:
    """Return a page, to register it or to link to it."""
    if name.startswith(_ANY):
        title, icon = sys.modules[_TASKS].TASKS[name.removeprefix(_ANY)].title, ":material/model_training:"
    else:
        title, icon = TITLES[name]
    return st.Page(
        functools.partial(draw, name), title=title, icon=icon, url_path=name, default=name == "start"
    )


def of_model(model: str) -> str:
    """Return the name of the page that trains a model: its own, or the generic one."""
    return OF_MODEL.get(model, f"{_ANY}{model}")


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
    gc.freeze()  # Streamlit collects garbage after each run of a page; loaded code is never garbage


def _load(module: str) -> Any:
    """Import one module at a time: two threads in packages that import in circles may see half a module."""
    with _loading:
        return importlib.import_module(module)


def draw(name: str) -> None:
    """Load a page's module and draw the page."""
    if name.startswith(_ANY):
        _load("dashboard.model_page.page").show_any(name.removeprefix(_ANY))
    else:
        _load(f"dashboard.views.{name}.page").show()

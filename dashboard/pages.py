"""The pages of the app by name; a page's module is imported when the page is first drawn."""

import functools
import importlib
import importlib.util
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


def _drawer(name: str) -> Callable[[], None]:
    def draw() -> None:
        importlib.import_module(f"dashboard.views.{name}.page").show()

    return draw

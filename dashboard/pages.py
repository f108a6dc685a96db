"""The pages of the app by name; a page's module is imported when the page is first drawn."""

import importlib
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
    "runs": ("Runs", ":material/history:"),
    "learn": ("Learn", ":material/school:"),
}


def page(name: str) -> Any:
    """Return a page, to register it or to link to it."""
    title, icon = TITLES[name]
    return st.Page(_drawer(name), title=title, icon=icon, url_path=name, default=name == "start")


def _drawer(name: str) -> Callable[[], None]:
    def draw() -> None:
        importlib.import_module(f"dashboard.views.{name}").show()

    return draw

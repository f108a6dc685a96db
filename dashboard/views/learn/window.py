"""Whether the visitor's window has room for plots beside each other: only the browser knows."""

from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import state

_KEY = "window"


def is_narrow() -> bool:
    """Ask the browser; a window is wide until it says otherwise, and then the page is drawn again."""
    known = bool(state.visit.get(_KEY, {}).get("narrow"))
    with st.container(key="window-width"):
        _component()(key=_KEY, data={"narrow": known}, on_narrow_change=lambda: None)
    return known


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return st.components.v2.component("vips_window", js=script)

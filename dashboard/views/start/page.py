"""Start: VIPS in three sentences and one picture, with three examples."""

from base64 import b64encode
from pathlib import Path

import streamlit as st

from dashboard import pages
from dashboard.components import layout

_TITLE = "Learn from many, reveal no one"
_SENTENCES = (
    "VIPS trains Bayesian models on people's records while the records stay behind a wall. Only sums over "
    "many records pass it: each person's effect is capped, then hidden by noise. A ledger records every "
    "release and gives one number, **ε**: the smaller it is, the less anyone can learn about one person."
)
_EXAMPLES = (
    (
        "topics",
        "What were 230 years of speeches about?",
        "Ten topics of the State of the Union addresses at ε = 3, next to topics without privacy.",
        "Find the topics",
    ),
    (
        "risk",
        "Who is at risk of a stroke?",
        "Risk factors from a national health survey, with honest uncertainty, at a stated privacy cost.",
        "Estimate the risk",
    ),
    (
        "images",
        "Can a network learn digits through noise?",
        "Handwritten digits, encoded and reconstructed by a network that learns only from noisy totals.",
        "Reconstruct the digits",
    ),
)
_MORE = (
    ("plan", "Plan a privacy budget"),
    ("frontier", "Compare privacy with utility"),
    ("learn", "Take the course"),
)


_ALT = (
    "Records stay behind the wall. Only capped sums with noise pass it. A ledger records every release, and "
    "ε follows from the ledger. Everything computed outside costs no privacy."
)
_HERE = Path(__file__).parent
_INK, _INK_ON_DARK = "#1C2733", "#E6EBF0"


def show() -> None:
    """Draw the page."""
    line = st.container()
    st.title(_TITLE, anchor=False)
    text, _ = st.columns([3, 1])
    text.markdown(_SENTENCES)
    with st.container(border=True):
        st.html(_picture(_INK_ON_DARK if st.context.theme.type == "dark" else _INK))
    st.header("Three examples, one click each", anchor=False)
    columns = st.container(key="examples").columns(3, gap="medium")
    for column, (name, title, about, action) in zip(columns, _EXAMPLES, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.caption(about)
            st.page_link(
                pages.page(name), label=action, icon=":material/arrow_forward:", query_params={"example": "1"}
            )
    st.header("Or go further", anchor=False)
    for column, (name, about) in zip(layout.narrow_columns("more", 3), _MORE, strict=True):
        column.page_link(pages.page(name), label=about)
    with line:  # last: the page shows without waiting for the core
        layout.check_store()
        layout.status_line()


def _picture(ink: str) -> str:
    """Return the picture in two widths, with the style that shows the one that fits."""
    style = (_HERE / "start.css").read_text(encoding="utf-8")
    walls = {name: (_HERE / f"wall_{name}.svg").read_text(encoding="utf-8") for name in ("wide", "narrow")}
    images = [
        f'<img class="vips-{name}-wall" alt="{_ALT}" src="data:image/svg+xml;base64,'
        f'{b64encode(wall.replace(_INK, ink).encode()).decode()}">'
        for name, wall in walls.items()
    ]
    return f"<style>{style}</style>{''.join(images)}"

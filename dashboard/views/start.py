"""Start: what VIPS does, in three sentences and one picture, and three examples to begin with."""

import streamlit as st

from dashboard import layout, pages, picture

_TITLE = "Learn from many, reveal no one"
_SENTENCES = (
    "VIPS trains Bayesian models on people's records while these stay behind a wall. Only sums over many "
    "records pass it, so bounded that no one moves them much, and with noise that hides what anyone does. "
    "A ledger remembers each release, and one number follows from it, **ε**: the smaller, the less can be "
    "learned about any one person."
)
_EXAMPLES = (
    (
        "topics", "What were 230 years of speeches about?",
        "Ten topics of the State of the Union addresses at ε = 3, beside those without privacy.",
        "Find the topics",
    ),
    (
        "risk", "Who is at risk of a stroke?",
        "Risk factors from a national health survey, with honest uncertainty, at a stated privacy cost.",
        "Estimate the risk",
    ),
    (
        "images", "Can noise learn to draw?",
        "Handwritten digits taken apart and put together again by a network that never sees one clearly.",
        "Reconstruct the digits",
    ),
)  # fmt: skip
_MORE = (
    ("plan", "Plan a privacy budget"),
    ("frontier", "What each ε buys"),
    ("learn", "Seven lessons"),
)


_STYLE = """<style>
.st-key-narrow-examples [data-testid="stPageLink"] a { background: #0F6FB0; padding: 0.4rem 0.9rem; }
.st-key-narrow-examples [data-testid="stPageLink"] a * { color: #FFFFFF !important; }
.st-key-narrow-examples [data-testid="stPageLink"] a:hover { filter: brightness(1.12); }
.st-key-picture img { max-height: 20rem; }
</style>"""


def show() -> None:
    """Draw the page."""
    line = st.container()
    st.html(_STYLE)
    st.title(_TITLE, anchor=False)
    text, _ = st.columns([3, 1])
    text.markdown(_SENTENCES)
    with st.container(border=True, key="picture"):
        ink = "#E6EBF0" if st.context.theme.type == "dark" else "#1C2733"
        st.image(picture.wall(ink), width="stretch", alt=picture.ALT)
    st.subheader("Three examples, one click each", anchor=False)
    columns = layout.narrow_columns("examples", 3, "medium")
    for column, (name, title, about, action) in zip(columns, _EXAMPLES, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.caption(about)
            st.page_link(
                pages.page(name), label=action, icon=":material/arrow_forward:", query_params={"example": "1"}
            )
    st.subheader("Or go further", anchor=False)
    for column, (name, about) in zip(layout.narrow_columns("more", 3), _MORE, strict=True):
        column.page_link(pages.page(name), label=about)
    with line:  # last: the page shows without waiting for the core
        layout.check_store()
        layout.status_line()

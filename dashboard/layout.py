"""Where things stand on a page: its head, cards, columns, problems.

Nothing here needs the core, so that the first page can show before it is loaded.
"""

import re
from collections.abc import Hashable
from typing import Any

import streamlit as st

from dashboard import session

# A bell curve behind a wall, in a blue that reads on light and dark; inline, so that nothing is fetched.
_BELL = (
    '<path d="M3 26C10 26 11 6 16 6S22 26 29 26" fill="none" stroke="#1F83C4" stroke-width="3.4" '
    'stroke-linecap="round"/><path d="M16 2V30" stroke="#D55E00" stroke-width="3" stroke-linecap="round"/>'
)
MARK = f'<svg viewBox="0 0 32 32" xmlns="http://www.w3.org/2000/svg">{_BELL}</svg>'
LOGO = (
    f'<svg viewBox="0 0 190 32" width="190" height="32" xmlns="http://www.w3.org/2000/svg">{_BELL}'
    '<text x="40" y="23" font-family="Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif" '
    'font-size="19" font-weight="700" fill="#1F83C4">VIPS Explorer</text></svg>'
)

# Columns get a least width, below which they wrap, so that pages read well beside the sidebar at 800 px.
STYLE = """<style>
[data-testid="stMain"] [data-testid="stColumn"] { min-width: min(100%, 20rem); }
[data-testid="stMain"] [class*="st-key-narrow"] [data-testid="stColumn"] { min-width: 8rem; }
.st-key-narrow-headline [data-testid="stMetricValue"] { font-size: 3rem; line-height: 1.2; }
[data-testid="stMainBlockContainer"] { padding-top: 3rem; padding-bottom: 3rem; max-width: 90rem; }
@media (max-width: 1000px) { [data-testid="stTable"] :is(td, th) { padding: 0.3rem; font-size: 0.8rem; } }
</style>"""


def header(title: str, introduction: str) -> None:
    """Show the status line and the page's title, and what was wrong with the values it was given."""
    status_line()
    st.title(title, anchor=False)
    st.caption(introduction)
    place = st.empty()  # one place, however many there are: nothing below moves when they come or go
    if session.problems():
        with place.container():
            for sentence in session.problems():
                problem(sentence)


def status_line() -> None:
    """Show the data set, what is left of its budget and running jobs."""
    from dashboard import status  # here: it loads the core

    status.show()


def check_store() -> None:
    """Say so and stop where the store or a setting cannot be used: no page works without it."""
    from dashboard import library  # here: it loads the core
    from vips_core.runs import supervisor

    try:
        library.store()
        supervisor.limit()
    except ValueError as unusable:
        problem(str(unusable))
        st.stop()


def fresh(name: str, shape: Hashable) -> Any:
    """Return a container for a `with` block that forgets what was in it when its `shape` has changed.

    While a page waits inside its run, the browser would go on showing what the previous run drew and this one
    did not replace.
    """
    key = f"shape:{name}"
    place = st.empty().container() if session.state.get(key) != shape else st.container()
    session.state[key] = shape  # last: a run that is abandoned before has forgotten nothing
    return place


def card(title: str, caption: str = "") -> Any:
    """Return a bordered container with a heading, for a `with` block."""
    container = st.container(border=True, height="stretch")
    container.subheader(title, anchor=False)
    if caption:
        container.caption(caption)
    return container


def metric(label: str, value: str | None, place: Any = st) -> None:
    """Show a large number, or that it is being computed."""
    place.metric(label, "…" if value is None else value)


def narrow_columns(
    name: str, spec: int | list[int], gap: str = "small", vertical_alignment: str = "top"
) -> Any:
    """Return columns for short numbers, which stay beside each other for longer than charts do."""
    return st.container(key=f"narrow-{name}").columns(spec, gap=gap, vertical_alignment=vertical_alignment)


def problem(sentence: str) -> None:
    """Show one sentence about what cannot be done; it may quote the visitor, so nothing in it is markup."""
    st.error(plain(sentence[:1].upper() + sentence[1:]), icon=":material/error:")


def plain(text: str) -> str:
    """Return Markdown that shows a text as it is."""
    return re.sub(r"([^\w\s,;.'])", r"\\\1", text).replace("_", "\\_")

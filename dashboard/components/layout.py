"""Layout of a page: header, glossary, cards, columns, problems.

Nothing here needs the core, so that the first page can show before it is loaded.
"""

import mimetypes
import re
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import state

_HERE = Path(__file__).parent
STYLE = _HERE / "style.css"
# A bell curve behind a wall, in a blue that is visible on light and dark; inline, so that nothing is fetched.
MARK, LOGO = ((_HERE / f"{name}.svg").read_text(encoding="utf-8") for name in ("mark", "logo"))

TERMS = {
    "ε": "Privacy cost. One person's record makes any published result at most e^ε times as likely. Smaller "
    "is more private; 0 reveals nothing about anyone.",
    "δ": "Probability by which the guarantee of ε may be missed. Keep it far below 1/N.",
    "σ": "Noise multiplier: standard deviation of the noise divided by one person's largest effect.",
    "N": "Number of records. It is public.",
    "S": "Batch size: average number of records in a training step.",
    "q": "Sampling rate: the probability that a step uses a given record, S/N.",
    "T": "Number of training steps.",
}


def header(title: str, introduction: str, status: bool = True) -> None:
    """Show the page's title, status line and glossary, and problems and notes about values."""
    if status:
        status_line()
    st.title(title, anchor=False)
    st.caption(introduction)
    if status:
        with st.popover("What the symbols mean", type="tertiary", icon=":material/dictionary:"):
            st.markdown("\n".join(f"- **{letter}**: {meaning}" for letter, meaning in TERMS.items()))
    place = st.empty()  # one place for all of them, so that nothing below moves
    if state.problems() or state.notes():
        with place.container():
            for sentence in state.problems():
                problem(sentence)
            for sentence in state.notes():
                st.info(plain(sentence), icon=":material/info:")


def status_line() -> None:
    """Show the data set, what is left of its budget and running jobs."""
    from dashboard.components import status  # here: it loads the core

    status.show()


def check_store() -> None:
    """Stop with a sentence if the store or a setting cannot be used: no page works without them."""
    from dashboard import stored  # here: it loads the core
    from vips_core.jobs import supervisor
    from vips_core.store import ledger_chain

    try:
        stored.store()
        supervisor.warm_limit()
        ledger_chain.signing_key()
    except ValueError as unusable:
        problem(str(unusable))
        st.stop()


def draw(page: Callable[[], object]) -> None:
    """Draw a page, or a sentence in its place if the store turns out to be damaged or edited."""
    try:
        page()
    except ValueError as error:
        from vips_core.store.database import StoreError  # here: it loads the core

        if not isinstance(error, StoreError):
            raise
        problem(str(error))


def protected(unit: str) -> str:
    """State what a guarantee protects: a data set's unit of privacy."""
    return f"This protects {plain(unit)}."


def fresh(name: str, shape: Hashable) -> DeltaGenerator:
    """Return a container for a `with` block that is emptied when its `shape` changes.

    Otherwise, while a page waits inside its run, the browser would keep showing what only the previous run
    drew.
    """
    key = f"shape:{name}"
    before, last = state.visit.get(key, (None, 0))
    place: int = last if before == shape else 1 - last
    # Two places take turns, one of them empty: Streamlit sends clearing and filling one place as filling.
    places = [st.empty() if number != place else st.container() for number in (0, 1)]
    state.visit[key] = (shape, place)  # last, so that a run abandoned earlier forgets nothing
    return places[place]


def card(title: str, caption: str = "") -> DeltaGenerator:
    """Return a bordered container with a heading, for a `with` block."""
    container = st.container(border=True, height="stretch")
    container.header(title, anchor=False)
    if caption:
        container.caption(caption)
    return container


def download_button(label: str, content: Callable[[], bytes], file_name: str, **more: Any) -> None:
    """Offer a file, made on request; its name is unique on the page and determines its type."""
    kind, _ = mimetypes.guess_type(file_name)
    more = {"key": f"download:{file_name}", "icon": ":material/download:", **more}
    st.download_button(label, content, file_name, kind, on_click="ignore", **more)


def metric(label: str, value: str | None, place: Any = st) -> None:
    """Show a large number, or … while it is being computed."""
    place.metric(label, "…" if value is None else value)


def narrow_columns(
    name: str,
    spec: int | list[int],
    gap: Literal["small", "medium"] = "small",
    vertical_alignment: Literal["top", "center", "bottom"] = "top",
) -> list[DeltaGenerator]:
    """Return columns for short numbers, which stay side by side on narrower screens than charts."""
    return st.container(key=f"narrow-{name}").columns(spec, gap=gap, vertical_alignment=vertical_alignment)


def problem(sentence: str) -> None:
    """Show a sentence about what cannot be done, without markup since it may quote the visitor."""
    from vips_core import validate  # here: it loads the core

    short = validate.sentence(sentence)
    st.error(plain(short[:1].upper() + short[1:]), icon=":material/error:")


def failed(methods: Sequence[str]) -> str:
    """Return the start of a sentence about methods that did worse than a trivial baseline.

    Examples
    --------
    >>> failed(["As published", "DP-SGD"])
    '**As published** and **DP-SGD** have failed here'
    """
    names = [f"**{method}**" for method in methods]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed} {'has' if len(names) == 1 else 'have'} failed here"


def plain(text: str) -> str:
    """Return Markdown that shows a text literally."""
    return re.sub(r"(?![,;.'])([!-/:-@\[-`{-~])", r"\\\1", text)

"""Own data: the form that asks for a file and for what must be public about it, and its registration."""

import math
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import background, layout, library, received, session
from dashboard.formats import brief
from vips_core.runs.budget import Cap
from vips_core.runs.tasks import TASKS

RECORD = {"lda": "document", "logistic": "row", "sbn": "image"}
_FILES = {
    "lda": ("Documents", ["txt", "csv", "npz"], "A text file with one document per line, a CSV with a column "
            "of texts, or an .npz with the arrays indptr, indices, counts and vocabulary."),
    "logistic": ("Rows", ["csv"], "A CSV with a header, one row per record, and a column that is 0 or 1."),
    "sbn": ("Images", ["png", "npz"], "PNG files of one size, or an .npz with an array images (n × h × w)."),
}  # fmt: skip
_VOCABULARY = (
    "Words come from a public list, one per line. A list made from the documents themselves would reveal "
    "rare words. Without a file, the 6,000 most common English words are used."
)
_RANGES = (
    "Say which values are possible, from knowledge and not from the file: a range read off the data would "
    "reveal its most extreme person. Values outside are moved to the nearest end. Columns that are not used "
    "need no range."
)
_THRESHOLD = "Grey values above this become 1, the others 0. Choose it without looking at the images."
_CAP = (
    "All runs on these records together may spend this much, and no more. You can raise it later, on record."
)
_PRIVATE, _PUBLIC = "Private", "Public"
_LAST_CELL = 0.5  # seconds by which a table may send its last cell later than a click elsewhere


def show(model: str, done: Callable[[str], None], close: Callable[[], None]) -> None:
    """Draw the form; `done` gets the name under which the records were registered."""
    record = RECORD[model]
    label, types, help_text = _FILES[model]
    with layout.card("Use your own data", "The file stays on this machine and is never unpickled."):
        files = _file(label, types, help_text, model)
        about = _about(model, files) if files else {}
        held_out = _file(
            f"Held-out {label.lower()}, public (optional)", types,
            "Only public records are scored. Without them there are no scores, because a score of private "
            "training records would be a release that nobody counted.", model, key="held-out",
        )  # fmt: skip
        unit = st.radio(
            f"Is each {record} of another person?", ["one person", f"one {record}"], index=None, key="unit",
            format_func=lambda name: (
                f"Yes, one {record} per person" if name == "one person" else "No, or not always"
            ),
            help=f"The guarantee protects one {record}. It protects a person only if each has one.",
        )  # fmt: skip
        if unit is not None and unit != "one person":
            st.warning(
                f"Then one {record} is protected, not one person: whoever has k of them may lose up to k "
                f"times the ε. Joining each person's records into one {record} first avoids that.",
                icon=":material/warning:",
            )
        private, cap = _protection()
        name = st.text_input("Name", max_chars=64, key="data-name", placeholder="clinic-2024")
        left, right = st.container(horizontal=True), st.empty()
        left.button(
            "Add data set", type="primary", key="add", icon=":material/add:", on_click=_ask, args=(True,)
        )
        left.button("Back", key="back", on_click=session.whole(lambda: (_ask(False), close())))
        if session.state.get("adding"):
            stated = {"private": private, "cap": cap, "unit": unit, "name": name}
            with right, st.spinner("Reading the file."):
                background.pause(_LAST_CELL)
                refusal = _add(model, files, about, held_out, done, **stated)
            if refusal is None:
                st.rerun()
            with right:
                layout.problem(refusal)


@session.whole
def _ask(add: bool) -> None:
    """Remember the click: the run that it starts ends early where the table's last cell comes after it."""
    session.state["adding"] = add


def _file(label: str, types: list[str], help_text: str, model: str, key: str = "records") -> list[Any]:
    found = st.file_uploader(
        label, types, accept_multiple_files=model == "sbn", key=f"file:{key}:{model}", help=help_text
    )
    return found if isinstance(found, list) else [] if found is None else [found]


def _about(model: str, files: list[Any]) -> dict[str, Any]:
    """Ask for what must be public about the records."""
    if model == "sbn":
        return {"threshold": st.slider("Threshold", 0, 254, 127, key="threshold", help=_THRESHOLD)}
    try:
        columns = received.columns(files[0]) if files[0].name.lower().endswith(".csv") else []
    except ValueError as problem:
        layout.problem(str(problem))
        return {}
    return _about_texts(columns) if model == "lda" else _about_rows(columns)


def _about_texts(columns: list[str]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if columns:
        about["column"] = st.selectbox("Column with the documents", columns, key="column")
    words = st.file_uploader("Public vocabulary (optional)", ["txt"], key="vocabulary", help=_VOCABULARY)
    st.caption(_VOCABULARY)
    return about | ({} if words is None else {"vocabulary": words.getvalue()})


def _about_rows(columns: list[str]) -> dict[str, Any]:
    target = st.selectbox(
        "Target", columns, index=None, key="target", placeholder="The column to predict, 0 or 1"
    )
    st.markdown("**Public ranges of the predictors**")
    st.caption(_RANGES)
    names = [name for name in columns if name != target]
    blank = pd.DataFrame({"Column": names, "Lowest": math.nan, "Highest": math.nan, "May be missing": False})
    ranges = st.data_editor(
        blank, hide_index=True, disabled=["Column"], key=f"ranges:{target}", alt="Public ranges",
        height=min(400, 38 + 35 * len(names)),
    )  # fmt: skip
    return {"target": target, "ranges": ranges}


def _protection() -> tuple[bool, Cap | None]:
    protection = st.segmented_control(
        "Protection", [_PRIVATE, _PUBLIC], default=_PRIVATE, required=True, key="protection",
        help="Private records get noise in every run, a budget, and no run without privacy.",
    )  # fmt: skip
    if protection == _PUBLIC:
        st.caption("Anyone may see these records: runs without privacy are allowed, and nothing is counted.")
        return False, None
    left, right = layout.narrow_columns("cap", 2)
    epsilon = left.number_input("Budget ε", 0.01, 100.0, 3.0, format="%g", key="cap-epsilon", help=_CAP)
    delta = right.number_input(
        "Budget δ", 1e-15, 0.1, 1e-6, format="%g", step=1e-7, key="cap-delta",
        help="Allowed chance that the guarantee fails. Keep it well below one over the number of records.",
    )  # fmt: skip
    st.caption(_CAP)
    return True, Cap(float(epsilon), float(delta))


@session.whole
def _add(
    model: str, files: list[Any], about: dict[str, Any], held_out: list[Any], done: Callable[[str], None], *,
    private: bool, cap: Cap | None, unit: str | None, name: str,
) -> str | None:  # fmt: skip
    """Register the records, or return what is wrong."""
    session.state["adding"] = False
    try:
        if not files:
            raise ValueError("choose a file first")
        if unit is None:
            raise ValueError(f"say whether each {RECORD[model]} is of another person")
        if not name.strip():
            raise ValueError("give the data set a name")
        kind = TASKS[model].kind
        train = received.read(kind, files, about)
        test = received.read(kind, held_out, about) if held_out else None
        _check_delta(cap, len(train))
        row = library.store().add_data(
            re.sub(r"\s+", " ", name.strip()), train, test, private=private, cap=cap, unit=unit
        )
    except ValueError as problem:
        return str(problem)
    done(row.name)
    return None


def _check_delta(cap: Cap | None, records: int) -> None:
    if cap is not None and cap.delta >= 1 / records:
        raise ValueError(
            f"the budget's δ must be below 1/N = {brief(1 / records)} for {records:,} records, got "
            f"{brief(cap.delta)}: otherwise one record might be published outright"
        )

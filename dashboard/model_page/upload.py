"""Own data: the form that asks for a file and for what must be public about it, and its registration."""

import math
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import background, state, stored
from dashboard.clicks import uninterrupted
from dashboard.components import layout
from dashboard.model_page import upload_files, upload_people
from dashboard.model_page.upload_people import Answer
from vips_core import validate
from vips_core.jobs.request import SPENDING
from vips_core.models.task import Task
from vips_core.records import PERSON
from vips_core.store.budget import Cap
from vips_core.store.pools import KnownPeople

_VOCABULARY = (
    "Words come from a public list, one per line. A list made from the documents themselves would reveal "
    "rare words. Private topics make use of what English words mean, and are better where words that are "
    "frequent in similar public texts come first. Without a file, the 6,000 most common English words are "
    "used."
)
_RANGES = (
    "Say which values are possible, from knowledge and not from the file: a range read off the data would "
    "reveal its most extreme person. Values outside are moved to the nearest end. Columns that are not used "
    "need no range."
)
_GAPS = "Whether a value may be missing; that is a predictor of its own."
_THRESHOLD = "Grey values above this become 1, the others 0. Choose it without looking at the images."
_CAP = (
    "All runs on these records together may spend this much, and no more. You can raise it later, on record."
)
_HELD_OUT = (
    "Only public records are scored. Without them there are no scores, because a score of private training "
    "records would be a release that nobody counted."
)
_REASON = "Kept in the ledger with the data set. Needed where the budget's δ is above 1/(10·N)."
_NO_COLUMN = ""
_PRIVATE, _PUBLIC = "Private", "Public"
_LAST_CELL = 0.5  # seconds by which a table may send its last cell later than a click elsewhere


def show(task: Task, done: Callable[[str], None], close: Callable[[], None]) -> None:
    """Draw the form, one step after the other; `done` gets the name under which records were registered."""
    with layout.card("Use your own data", "The file stays on this machine. It is read, never run."):
        files = _files(task, f"{task.records.record}s".capitalize(), "records", task.records.upload_help)
        with st.container():
            about, missing = _described(task, files) if files else ({}, ["a file"])
        # Another file may ask for other answers, but what was said about protection and name stays.
        described = state.visit[_described_once(task)] = state.visit.get(_described_once(task)) or not missing
        form = _protected(task, files, about) if described else None
        with st.container(horizontal=True):
            if not missing:
                st.button("Add data set", type="primary", key="add", icon=":material/add:", on_click=_ask)
            st.button("Back", key="back", on_click=_back, args=(task, close))
        if form is None or missing:
            st.caption(f"Still missing: {', '.join(missing)}.")
        elif not state.visit.get("adding"):
            _show_refusal(task)
        else:
            place = st.empty()  # of the refusal, so that nothing else moves
            with place, st.spinner("Reading the file."):
                background.pause(_LAST_CELL)
                with uninterrupted():
                    _add(form, done)
            if state.visit[_refusal(task)] is None:
                st.rerun()
            with place:
                _show_refusal(task)


@dataclass(frozen=True)
class _Form:
    """The form as it was filled in.

    `about` is what must be public about the records, `answered_for` the files that `known_people` is about.
    """

    task: Task
    files: list[Any]
    about: dict[str, Any]
    held_out: list[Any]
    private: bool
    cap: Cap | None
    name: str
    by: str
    reason: str
    known_people: Answer
    answered_for: Hashable


def _ask() -> None:
    """Remember the click: the run that it starts ends early where the table's last cell comes after it."""
    state.visit["adding"] = True


def _back(task: Task, close: Callable[[], None]) -> None:
    state.visit["adding"] = state.visit[_described_once(task)] = False
    state.visit[_refusal(task)] = None
    upload_people.forget(task.name)
    close()


def _show_refusal(task: Task) -> None:
    """Say what was wrong, until the next try: if it went earlier, the form would move under a click."""
    if sentence := state.visit.get(_refusal(task)):
        layout.problem(sentence)


def _refusal(task: Task) -> str:
    return f"refusal:{task.name}"


def _described_once(task: Task) -> str:
    return f"described:{task.name}"


def _files(task: Task, label: str, key: str, help_text: str) -> list[Any]:
    given = st.file_uploader(
        label,
        list(task.records.endings),
        accept_multiple_files=task.records.several_files,
        key=f"file:{key}:{task.name}",
        help=help_text,
    )
    return given if isinstance(given, list) else [] if given is None else [given]


def _described(task: Task, files: list[Any]) -> tuple[dict[str, Any], list[str]]:
    """Ask for what must be public about the records, and return what is still missing of it."""
    try:
        columns = upload_files.columns(files[0])
    except ValueError as problem:
        layout.problem(str(problem))
        return {}, ["a file that can be read"]
    options, owner = task.records.options, f"whose {task.records.record}s they are"
    about: dict[str, Any] = {}
    if "target" in options:
        if len(columns) < 2:
            got = validate.few(columns)
            layout.problem(f"a table needs two columns or more with commas between them, got {got}")
            return {}, ["a file that can be read"]
        about["target"] = st.selectbox(
            "Target", columns, index=None, key="target", placeholder="The column to predict, 0 or 1"
        )
        if about["target"] is None:
            return {}, ["the target", owner]
        columns = [name for name in columns if name != about["target"]]
    person = _person(task, columns)
    if person is None:
        return {}, [owner]
    if person:
        about[PERSON] = person
        columns = [name for name in columns if name != person]
    if "threshold" in options:
        about["threshold"] = st.slider("Threshold", 0, 254, 127, key="threshold", help=_THRESHOLD)
    elif "vocabulary" in options:
        about |= _about_texts(columns)
    else:
        about["ranges"] = _ranges(columns)
    return about, []


def _person(task: Task, columns: list[str]) -> str | None:
    """Ask which column names the person; None where nobody chose."""
    person: str | None = _NO_COLUMN
    if columns:
        person = st.selectbox(
            f"Does each {task.records.record} belong to a different person?",
            [_NO_COLUMN, *columns],
            index=None,
            key="person",
            placeholder="Yes, or the column that names the person",
            format_func=lambda name: (
                f"No: {name} names the person"
                if name
                else f"Yes, or nobody knows: each {task.records.record} is protected by itself"
            ),
            help=f"All {task.records.record}s of a person are then drawn together and count as one record.",
        )
    if person == _NO_COLUMN:
        st.warning(
            f"The guarantee protects {task.records.unit()}, not one person: whoever has k of them may "
            "lose up to k times the ε. A column that names the person avoids that.",
            icon=":material/warning:",
        )
    return person


def _about_texts(columns: list[str]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if columns:
        about["column"] = st.selectbox("Column with the documents", columns, key="column")
    words = st.file_uploader("Public vocabulary (optional)", ["txt"], key="vocabulary", help=_VOCABULARY)
    st.caption(_VOCABULARY)
    return about | ({} if words is None else {"vocabulary": words.getvalue()})


def _ranges(names: list[str]) -> pd.DataFrame:
    st.markdown("**Public ranges of the predictors**")
    st.caption(_RANGES)
    blank = pd.DataFrame({"Column": names, "Lowest": math.nan, "Highest": math.nan, "May be missing": False})
    return st.data_editor(
        blank,
        hide_index=True,
        disabled=["Column"],
        column_config={"May be missing": st.column_config.CheckboxColumn("Missing?", help=_GAPS)},
        placeholder="",
        key=f"ranges:{'|'.join(names)}",
        alt="Public ranges",
        height=min(400, 38 + 35 * len(names)),
    )


def _protected(task: Task, files: list[Any], about: dict[str, Any]) -> _Form:
    """Ask how the records are protected, what may be scored, and under which name they are kept."""
    private, cap = _protection()
    held_out = _files(task, f"Held-out {task.records.record}s, public (optional)", "held-out", _HELD_OUT)
    name = st.text_input("Name", max_chars=64, key="data-name", placeholder="clinic-2024")
    with st.expander("For the record (optional)", type="compact"):
        by = st.text_input("Your name", max_chars=100, key="by")
        reason = st.text_input("Why", max_chars=500, key="reason", help=_REASON)
    these = tuple(file.file_id for file in (*files, *held_out)), about.get(PERSON), private
    answer = upload_people.ask(task.name, these, about.get(PERSON))
    return _Form(task, files, about, held_out, private, cap, name, by, reason, answer, these)


def _protection() -> tuple[bool, Cap | None]:
    protection = st.segmented_control(
        "Protection",
        [_PRIVATE, _PUBLIC],
        default=_PRIVATE,
        required=True,
        key="protection",
        help="Private records get noise in every run, a budget, and no run without privacy.",
    )
    if protection == _PUBLIC:
        st.caption("Anyone may see these records: runs without privacy are allowed, and nothing is counted.")
        return False, None
    left, right = layout.narrow_columns("cap", 2)
    bounds = SPENDING["epsilon"]
    epsilon = left.number_input(
        "Budget ε", bounds.low, float(bounds.high), 3.0, format="%g", key="cap-epsilon", help=_CAP
    )
    bounds = SPENDING["delta"]
    delta = right.number_input(
        "Budget δ",
        bounds.low,
        bounds.high,
        1e-6,
        format="%e",
        step=1e-7,
        key="cap-delta",
        help="Allowed chance that the guarantee fails. Keep it well below one over the number of records.",
    )
    st.caption(_CAP)
    return True, Cap(float(epsilon), float(delta))


def _add(form: _Form, done: Callable[[str], None]) -> None:
    """Register the records, or remember what is wrong."""
    state.visit["adding"], state.visit[_refusal(form.task)] = False, None
    kind, person = form.task.records, form.about.get(PERSON)
    try:
        if not form.name.strip():
            raise ValueError("give the data set a name")
        study = form.known_people.person_namespace
        row = stored.store().add_data(
            re.sub(r"\s+", " ", form.name.strip()),
            upload_files.read(kind, form.files, form.about),
            upload_files.read(kind, form.held_out, form.about) if form.held_out else None,
            private=form.private,
            cap=form.cap,
            unit=form.task.records.unit(person, study),
            person_column=person,
            by=form.by.strip() or None,
            reason=form.reason,
            sources=upload_files.sources(kind, form.files, form.held_out, person, study),
            share_budget=form.known_people.share_budget,
            separate=form.known_people.separate,
        )
    except KnownPeople as known:
        upload_people.remember(form.task.name, form.answered_for, known)
    except (ValueError, OSError) as problem:  # the latter where the disk for uploads is full
        state.visit[_refusal(form.task)] = str(problem)
    else:
        state.visit[_described_once(form.task)] = False
        upload_people.forget(form.task.name)
        done(row.name)

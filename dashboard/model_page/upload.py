"""Own data: the form for a file and its public description, and its registration."""

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
from dashboard.model_page import upload_files
from vips_core import validate
from vips_core.jobs.request import SPENDING
from vips_core.models.task import Task
from vips_core.records import PERSON
from vips_core.store.budget import Cap
from vips_core.store.pools import KnownPeople

_VOCABULARY = (
    "A public list of words, one per line. A list made from the documents themselves would reveal rare "
    "words. Put the words first that are most frequent in similar public texts: private topics use that "
    "order, and the meaning of English words. Without a file, the 6,000 most common English words are used."
)
_RANGES = (
    "Enter the possible values from general knowledge. A range read off the data would reveal the most "
    "extreme person. Values outside are clipped to the nearest end. Leave a column empty to ignore it."
)
_GAPS = "Whether values may be missing. Missingness becomes a predictor of its own."
_THRESHOLD = "Grey values above this become 1, others 0. Choose it without looking at the images."
_CAP = "The most that all runs on these records may spend together. You can raise it later, on record."
_HELD_OUT = (
    "Only public records are scored. Without them there are no scores: scoring private records would be a "
    "release that nobody counts."
)
_REASON = "Kept in the ledger with the data set. Required if the budget's δ is above 1/(10·N)."
_SHARE = "Yes: share one budget"
_OTHERS = "No: different people"
_STUDY = "No: another study with the same identifiers"
_SEPARATE = "Recorded in the ledger and in every report."
_NAMED = (
    "Its identifiers are then compared with no other study's. Reports name the study with the unit of "
    "protection."
)
_NO_COLUMN = ""
_PRIVATE, _PUBLIC = "Private", "Public"
_LAST_CELL = 0.5  # seconds that the last edited cell of a table may arrive after a click elsewhere


def show(task: Task, done: Callable[[str], None], close: Callable[[], None]) -> None:
    """Draw the form step by step; `done` gets the name of the new data set."""
    with layout.card("Use your own data", "The file stays on this machine and is never executed."):
        files = _files(task, f"{task.records.record}s".capitalize(), "records", task.records.upload_help)
        with st.container():
            about, missing = _described(task, files) if files else ({}, ["a file"])
        # Another file may need other answers, but protection and name stay.
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
class Answer:
    """What the visitor says about people who occur in another data set; empty if nobody asked.

    Attributes
    ----------
    chosen
        The option, None if none was chosen.
    text
        The reason, or the name of the study.
    """

    chosen: str | None = None
    text: str = ""

    @property
    def share_budget(self) -> bool:
        """Whether the records share the budget of the data sets that were found."""
        return self.chosen == _SHARE

    @property
    def separate(self) -> str:
        """Why they are different people; `ValueError` without a reason."""
        if self.chosen == _OTHERS and not self.text.strip():
            raise ValueError("give the reason why they are different people")
        return self.text if self.chosen == _OTHERS else ""

    @property
    def person_namespace(self) -> str | None:
        """The study that numbers them; `ValueError` without its name."""
        if self.chosen == _STUDY and not self.text.strip():
            raise ValueError("name the study that numbers these people")
        return self.text if self.chosen == _STUDY else None


@dataclass(frozen=True)
class _Form:
    """The completed form.

    `about` describes the records publicly; `known_people` answers a question about the files `answered_for`.
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
    """Remember the click: its run ends early if the last cell of the table arrives after it."""
    state.visit["adding"] = True


def _back(task: Task, close: Callable[[], None]) -> None:
    state.visit["adding"] = state.visit[_described_once(task)] = False
    state.visit[_refusal(task)] = None
    state.visit[_known(task)] = None
    close()


def _show_refusal(task: Task) -> None:
    """Show what was wrong until the next try: if it vanished earlier, the form would move under a click."""
    if sentence := state.visit.get(_refusal(task)):
        layout.problem(sentence)


def _refusal(task: Task) -> str:
    return f"refusal:{task.name}"


def _described_once(task: Task) -> str:
    return f"described:{task.name}"


def _known(task: Task) -> str:
    return f"known-people:{task.name}"


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
    """Ask for the public description of the records; return it, and what is still missing."""
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
            "Target", columns, index=None, key="target", placeholder="Column to predict, 0 or 1"
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
    """Ask which column names the person; None before an answer."""
    person: str | None = _NO_COLUMN
    if columns:
        person = st.selectbox(
            f"Does each {task.records.record} belong to a different person?",
            [_NO_COLUMN, *columns],
            index=None,
            key="person",
            placeholder="Yes, or choose the column that names the person",
            format_func=lambda name: (
                f"No: {name} names the person"
                if name
                else f"Yes or unknown: each {task.records.record} is protected separately"
            ),
            help=f"All {task.records.record}s of one person are sampled together and count as one record.",
        )
    if person == _NO_COLUMN:
        st.warning(
            f"This protects {task.records.unit()}, not one person: someone with k of them can lose up to k "
            "times the ε. A column that names the person prevents that.",
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
    """Ask for the protection, the held-out records and the name of the data set."""
    private, cap = _protection()
    held_out = _files(task, f"Held-out {task.records.record}s, public (optional)", "held-out", _HELD_OUT)
    name = st.text_input("Name", max_chars=64, key="data-name", placeholder="clinic-2024")
    with st.expander("For the record (optional)", type="compact"):
        by = st.text_input("Your name", max_chars=100, key="by")
        reason = st.text_input("Why", max_chars=500, key="reason", help=_REASON)
    these = tuple(file.file_id for file in (*files, *held_out)), about.get(PERSON), private
    answer = _known_people(task, these, about.get(PERSON))
    return _Form(task, files, about, held_out, private, cap, name, by, reason, answer, these)


def _known_people(task: Task, files: Hashable, person: str | None) -> Answer:
    """Ask about people of these files who occur in another data set, and return the answer."""
    asked_of, found, may_share = state.visit.get(_known(task)) or (None, "", False)
    if asked_of != files:
        return Answer()
    if may_share:
        st.warning(layout.plain(f"{found[0].upper()}{found[1:]}."), icon=":material/group:")
    else:
        layout.problem(found)
    options = [_SHARE] * may_share + [_OTHERS] + [_STUDY] * (person is not None)
    chosen = st.radio("Are they the same people?", options, index=None, key="same-people")
    if chosen == _OTHERS:
        return Answer(chosen, st.text_input("Why they are different people", key="separate", help=_SEPARATE))
    if chosen == _STUDY:
        return Answer(chosen, st.text_input("Name of this study", max_chars=64, key="study", help=_NAMED))
    return Answer(chosen)


def _protection() -> tuple[bool, Cap | None]:
    protection = st.segmented_control(
        "Protection",
        [_PRIVATE, _PUBLIC],
        default=_PRIVATE,
        required=True,
        key="protection",
        help="Private records have a budget, and every run adds noise.",
    )
    if protection == _PUBLIC:
        st.caption("Anyone may see these records. Runs without privacy are allowed, without a budget.")
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
        help="Probability that the guarantee may fail. Keep it well below 1/N.",
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
        state.visit[_known(form.task)] = (form.answered_for, known.found, known.may_share)
    except (ValueError, OSError) as problem:  # the latter where the disk for uploads is full
        state.visit[_refusal(form.task)] = str(problem)
    else:
        state.visit[_described_once(form.task)] = False
        state.visit[_known(form.task)] = None
        done(row.name)

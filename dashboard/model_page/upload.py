"""Own data: the form for a file and its public description, and its registration."""

import functools
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import background, state, stored
from dashboard.clicks import uninterrupted
from dashboard.components import layout
from dashboard.model_page import upload_files
from dashboard.model_page.choose import data_set
from vips_core import validate
from vips_core.jobs.request import SPENDING
from vips_core.models.task import Task
from vips_core.records import PERSON
from vips_core.store.budget import Cap
from vips_core.store.people import Sources
from vips_core.store.pools import KnownPeople

_VOCABULARY = (
    "A public list of words, one per line. A list made from the documents themselves would reveal rare "
    "words. Put the most frequent words of similar public texts first: private topics use that order and the "
    "meaning of English words. Without a file, the 6,000 most common English words are used."
)
_RANGES = (
    "Enter the possible values from general knowledge. A range read off the data would reveal the most "
    "extreme person. Values outside are clipped to the nearest end. Leave a column empty to ignore it."
)
_GAPS = "Whether values may be missing. Missingness becomes a separate predictor."
_THRESHOLD = "Grey values above this become 1, others 0. Choose it without looking at the images."
_CAP = (
    "The most that all runs on these records may spend together. You can raise it later; the ledger records "
    "the change."
)
_HELD_OUT = (
    "Only public records are scored. Without them there are no scores: a score of private records would be "
    "a release outside the budget."
)
_REASON = "Kept in the ledger with the data set. Required if the budget's δ is above 1/(10·N)."
_SHARE = "Yes: share one budget"
_OTHERS = "No: different people"
_STUDY = "No: another study with the same identifiers"
_NEEDED = {
    "name": "give the data set a name",
    "separate": "give the reason why they are different people",
    "study": "name the study that numbers these people",
}
_SEPARATE = "Recorded in the ledger and in every report."
_NAMED = (
    "Its identifiers are then never matched with those of other studies. Reports name the study with the "
    "unit of protection."
)
_NO_COLUMN = ""
_PRIVATE, _PUBLIC = "Private", "Public"
_LAST_CELL = 0.5  # seconds by which a table's last edited cell may follow a click elsewhere


@dataclass
class _Form:
    """What a visit remembers of a form besides its widgets.

    Attributes
    ----------
    adding
        Whether "Add data set" was clicked: the run of the click ends early if the last cell of the table
        arrives after it.
    described
        Whether the records were described once: another file may need other answers, but protection and name
        stay.
    refusal
        What was wrong, shown until the next try: if it vanished earlier, the form would move under a click.
    asked_of, known
        `asked_of` has the present files, person column and protection. `known` has those for which people of
        other data sets were found, the sentence that says so, and whether the records may share a budget.
    """

    adding: bool = False
    described: bool = False
    refusal: str = ""
    asked_of: Hashable = None
    known: tuple[Hashable, str, bool] = (None, "", False)

    def add(self) -> None:
        """Remember the click on "Add data set"."""
        self.adding = True


def show(task: Task) -> None:
    """Draw the form step by step."""
    form: _Form = state.visit.setdefault(_key(task), _Form())
    with layout.card("Use your own data", "The file stays on this machine and is never executed."):
        files = _files(task, f"{task.records.record}s".capitalize(), "records", task.records.upload_help)
        with st.container():
            about, missing = _described(task, files) if files else ({}, ["a file"])
        form.described = form.described or not missing
        register = _protected(task, form, files, about) if form.described else None
        with st.container(horizontal=True):
            if not missing:
                st.button("Add data set", type="primary", key="add", icon=":material/add:", on_click=form.add)
            st.button("Back", key="back", on_click=_back, args=(task,))
        if register is None or missing:
            st.caption(f"Still missing: {', '.join(missing)}.")
            return
        place = st.empty()  # for the refusal, so that nothing else moves
        if form.adding:
            with place, st.spinner("Reading the file."):
                background.pause(_LAST_CELL)
                with uninterrupted():
                    _try(form, register)
            if not form.refusal:
                st.rerun()
        if form.refusal:
            with place:
                layout.problem(form.refusal)


def _key(task: Task) -> str:
    return f"upload:{task.name}"


def _back(task: Task) -> None:
    state.visit.pop(_key(task), None)
    state.put("upload", None)


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
    column = st.selectbox("Column with the documents", columns, key="column") if columns else None
    words = st.file_uploader("Public vocabulary (optional)", ["txt"], key="vocabulary", help=_VOCABULARY)
    st.caption(_VOCABULARY)
    return {"column": column} | ({} if words is None else {"vocabulary": words.getvalue()})


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


def _protected(task: Task, form: _Form, files: list[Any], about: Mapping[str, Any]) -> Callable[[], None]:
    """Ask for the protection, the held-out records and the name; return what registers the data set."""
    private, cap = _protection()
    held_out = _files(task, f"Held-out {task.records.record}s, public (optional)", "held-out", _HELD_OUT)
    name = st.text_input("Name", max_chars=64, key="data-name", placeholder="clinic-2024")
    with st.expander("For the record (optional)", type="compact"):
        by = st.text_input("Your name", max_chars=100, key="by")
        reason = st.text_input("Why", max_chars=500, key="reason", help=_REASON)
    form.asked_of = tuple(file.file_id for file in (*files, *held_out)), about.get(PERSON), private
    said: dict[str, Any] = {"private": private, "cap": cap, "by": by.strip() or None, "reason": reason}
    said |= {"name": " ".join(name.split()), **_known_people(form, about.get(PERSON))}
    return functools.partial(_register, task, files, held_out, about, **said)


def _known_people(form: _Form, person: str | None) -> dict[str, Any]:
    """Ask about people of these files who occur in another data set; return the answer as an option."""
    asked_of, found, may_share = form.known
    if asked_of != form.asked_of:
        return {}
    if may_share:
        st.warning(layout.plain(f"{found[0].upper()}{found[1:]}."), icon=":material/group:")
    else:
        layout.problem(found)
    options = [_SHARE] * may_share + [_OTHERS] + [_STUDY] * (person is not None)
    chosen = st.radio("Are they the same people?", options, index=None, key="same-people")
    if chosen == _OTHERS:
        why = st.text_input("Why they are different people", key="separate", help=_SEPARATE)
        return {"separate": why.strip()}
    if chosen == _STUDY:
        study = st.text_input("Name of this study", max_chars=64, key="study", help=_NAMED)
        return {"study": study.strip()}
    return {} if chosen is None else {"share_budget": True}


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
        st.caption("Anyone may see these records. Runs need neither privacy nor a budget.")
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


def _try(form: _Form, register: Callable[[], None]) -> None:
    """Register the records, or remember the problem or the question that prevents it."""
    form.adding, form.refusal = False, ""
    try:
        register()
    except KnownPeople as known:
        form.known = (form.asked_of, known.found, known.may_share)
    except (ValueError, OSError) as problem:  # OSError: the disk for uploads is full
        form.refusal = str(problem)


def _register(
    task: Task,
    files: list[Any],
    held_out: list[Any],
    about: Mapping[str, Any],
    study: str | None = None,
    **said: Any,
) -> None:
    """Register the records as described, choose them on the page, and close the form."""
    answers = {**said, "study": study}
    for needed, sentence in _NEEDED.items():
        if answers.get(needed) == "":
            raise ValueError(sentence)
    kind, person = task.records, about.get(PERSON)
    train, rows, persons = upload_files.read(kind, files, about)
    test, test_rows, test_persons = upload_files.read(kind, held_out, about) if held_out else (None, [], [])
    row = stored.store().add_data(
        train=train,
        test=test,
        unit=kind.unit(person, study),
        person_column=person,
        sources=Sources(rows, persons, test_rows, test_persons, person_namespace=study),
        **said,
    )
    _back(task)
    data_set(row.name)

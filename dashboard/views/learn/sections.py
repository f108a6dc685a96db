"""What the Learn page shows: question and reveal, controls, navigation, presenter mode."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dashboard import state
from dashboard.background import Later
from dashboard.components import layout
from dashboard.components.charts import plot, waiting
from dashboard.components.inputs import choice, number_with_slider
from dashboard.components.tables import table_twin
from dashboard.state import Choice, Number
from dashboard.views.learn import handout
from dashboard.views.learn.lessons import CURRENT, LESSONS, PRESENT
from dashboard.views.learn.lessons.base import LETTERS, Lesson, Outcome, Question, Scale
from dashboard.views.learn.lessons.figures import presented, stacked

_HERE = Path(__file__).parent


def page_style(present: bool) -> None:
    """Set the page's own style: one screen for one lesson, and larger type when presenting."""
    st.html(_HERE / "lesson.css")
    if present:
        st.html(_HERE / "presenting.css")


def keyboard_script() -> None:
    """Let the keyboard reach the charts' buttons; comes last, because it takes a line of the page."""
    st.html(_HERE / "keyboard.html", unsafe_allow_javascript=True)


def navigation(lesson: Lesson, present: bool) -> None:
    """Show the way to the other lessons; when presenting, the arrow keys turn pages."""
    keys = list(LESSONS)
    place = keys.index(lesson.key)
    before, after = keys[place - 1] if place else None, keys[place + 1] if place + 1 < len(keys) else None
    row = st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="lesson-row"
    )
    with row:
        _turn_button("Previous", before, ":material/arrow_back:", "Left" if present else None)
        if not present:
            key = state.widget_key(CURRENT.name, "lessons")
            st.selectbox(
                CURRENT.label,
                keys,
                place,
                format_func=CURRENT.options.__getitem__,
                key=key,
                label_visibility="collapsed",
                on_change=state.takes(CURRENT.name, key),
                width=460,
            )
        _turn_button("Next", after, ":material/arrow_forward:", "Right" if present else None)
        key = state.widget_key(PRESENT.name, "toggle")
        st.toggle(
            PRESENT.label,
            present,
            key=key,
            help=PRESENT.help,
            on_change=state.takes(PRESENT.name, key, lambda on: "1" if on else "0"),
        )


def _turn_button(label: str, to: str | None, icon: str, shortcut: str | None) -> None:
    st.button(
        f"{label} lesson",
        key=f"turn-{label}",
        icon=icon,
        shortcut=shortcut,
        type="tertiary",
        disabled=to is None,
        on_click=state.sets(CURRENT.name, to),
    )


def question(lesson: Lesson, asked: Question, outcome: Outcome) -> None:
    """Ask and take an answer, or show the solution."""
    name = lesson.answer.name
    picked, shown = state.get(name), state.get(lesson.shown.name) == "1"
    with st.container(key="question"):
        st.markdown(f"**{asked.text}**")
        if shown:
            _solution(asked, picked)
        else:
            letters = LETTERS[: len(asked.answers)]
            key = state.widget_key(name, "answer")
            st.radio(
                lesson.answer.label,
                list(letters),
                None if picked == "none" else letters.index(picked),
                key=key,
                format_func=lambda letter: asked.answers[LETTERS.index(letter)].text,
                label_visibility="collapsed",
                on_change=state.takes(name, key),
            )
    if shown:
        st.markdown(outcome.explanation)


def _solution(asked: Question, picked: str) -> None:
    answer = f"**{asked.answers[asked.right].text}**"
    if picked == LETTERS[asked.right]:
        st.success(f"Right. {answer}", icon=":material/lightbulb:")
    elif picked == "none":
        st.info(answer, icon=":material/lightbulb:")
    else:
        mistake = asked.answers[LETTERS.index(picked)].mistake
        st.info(f"Not quite. {mistake} The answer: {answer}", icon=":material/lightbulb:")


def reveal_button(lesson: Lesson) -> None:
    """Show the button that uncovers the answer, once one is picked, or covers it again."""
    picked, shown = state.get(lesson.answer.name), state.get(lesson.shown.name) == "1"
    st.button(
        "Ask again" if shown else "Reveal",
        key=f"reveal:{lesson.key}",
        type="secondary" if shown else "primary",
        disabled=not shown and picked == "none",
        help=None if shown or picked != "none" else "Choose an answer first.",
        on_click=state.sets(lesson.shown.name, "0" if shown else "1"),
    )


def controls(parameters: tuple[Number | Choice, ...]) -> dict[str, Any]:
    """Show the controls and return their values by name."""
    return {parameter.name: _control(parameter) for parameter in parameters}


def _control(parameter: Number | Choice) -> float | str:
    if isinstance(parameter, Scale):
        return _slider(parameter)
    if isinstance(parameter, Choice):
        return choice(parameter, as_buttons=True)
    return number_with_slider(parameter)


def _slider(parameter: Scale) -> str:
    value, key = str(state.get(parameter.name)), state.widget_key(parameter.name, "scale")
    st.select_slider(
        parameter.label,
        list(parameter.options),
        value,
        key=key,
        help=parameter.help,
        format_func=lambda value: parameter.options[value],
        on_change=state.takes(parameter.name, key),
    )
    return value


def large_numbers(outcome: Outcome, revealed: bool) -> None:
    """Show the outcome's large numbers, covered before the reveal."""
    columns = layout.narrow_columns("lesson-numbers", len(outcome.numbers))
    for column, (label, value) in zip(columns, outcome.numbers, strict=True):
        layout.metric(label, value if revealed else "?", column)


def lesson_chart(lesson: Lesson, outcome: Outcome, revealed: bool, present: bool, narrow: bool) -> None:
    """Show the chart, stacked where it is narrow, otherwise larger when presenting; then its table."""
    name, drawn = f"lesson-{lesson.key}", outcome.figure
    if drawn is None:
        waiting()
    else:
        if narrow:
            drawn = stacked(drawn)
        elif present:
            drawn = presented(drawn)
        with st.container(key="lesson-chart"):
            plot(drawn, name, lesson.alt)
        if revealed:
            table_twin(name, lesson.alt, outcome.table)
    st.caption(lesson.caption)


def formulas(lesson: Lesson) -> None:
    """Show the formulas, one click away."""
    with st.popover("The mathematics", icon=":material/function:"):
        for formula in lesson.formulas:
            st.latex(formula.latex)
            st.caption(formula.source)


def exercise(lesson: Lesson) -> None:
    """Set what to work out on paper; its solution is on no page, so that lecturers choose when to give it."""
    st.markdown(f"**Exercise, on paper.** {lesson.exercise}")
    st.caption("Its solution is the second of the hand-outs.")


def exercise_folded(lesson: Lesson) -> None:
    """Set the exercise, one click away."""
    with st.popover("Exercise", icon=":material/edit_note:"):
        exercise(lesson)


def speaker_notes(lesson: Lesson) -> None:
    """Show what a lecturer may say, one click away."""
    with st.popover("Notes", icon=":material/speaker_notes:"):
        st.markdown("\n".join(f"- {note}" for note in (f"Aim: {lesson.objective}", *lesson.notes)))


def address(page: str, lesson: Lesson, values: Mapping[str, Any]) -> str:
    """Return the address that opens a lesson in a state."""
    return f"{page}?{urlencode({CURRENT.name: lesson.key, **values})}"


def handout_buttons(lesson: Lesson, values: Mapping[str, Any], outcome: Outcome, later: Later) -> None:
    """Offer the exercise and its solution, each with the figure and the address of this very state."""
    shown = {item.name: state.get(item.name) for item in lesson.state}
    ready = all(value is not None for _, value in outcome.numbers)
    with st.popover("Hand-outs", icon=":material/print:", disabled=not ready):
        for part, revealed in handout.PARTS.items():
            state_of_part = {**shown, lesson.shown.name: int(revealed)}
            link = address(st.context.url or "", lesson, state_of_part)
            content = functools.partial(handout.page, lesson, values, part, link, later)
            layout.download_button(part, content, f"{lesson.key}-{part.lower()}.html", f"handout:{part}")
        st.caption("A page each, to print; the figure is the one on this screen.")

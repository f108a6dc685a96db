"""The parts of a lesson's screen: navigation, question, controls, chart and hand-outs."""

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
from dashboard.components.inputs import choice, number_with_slider, one_of
from dashboard.components.tables import table_twin
from dashboard.state import Choice, Number
from dashboard.views.learn import handout
from dashboard.views.learn.lessons import CURRENT, LESSONS, PRESENT
from dashboard.views.learn.lessons.base import LETTERS, Lesson, Outcome, Question, Scale
from dashboard.views.learn.lessons.figures import presented, stacked

_HERE = Path(__file__).parent
_WINDOW = "window"  # key of the component that reports the width of the visitor's window


def navigation(lesson: Lesson, present: bool) -> None:
    """Show the list of lessons, and buttons to the lessons around this one, which arrow keys press."""
    place, around = list(LESSONS).index(lesson.key), [None, *LESSONS, None]
    before, after = around[place], around[place + 2]
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="lesson-row"
    ):
        _turn_button("Previous", before, ":material/arrow_back:", "Left" if present else None)
        if not present:
            name, label, titles = CURRENT.name, CURRENT.label, CURRENT.options
            one_of(name, label, titles, lesson.key, label_visibility="collapsed", width=460)
        _turn_button("Next", after, ":material/arrow_forward:", "Right" if present else None)
        key = state.widget_key(PRESENT.name, "toggle")
        st.toggle(
            PRESENT.label,
            present,
            key=key,
            help=PRESENT.help,
            on_change=state.store_widget_value(PRESENT.name, key, lambda on: "1" if on else "0"),
        )


def _turn_button(label: str, to: str | None, icon: str, shortcut: str | None) -> None:
    st.button(
        f"{label} lesson",
        key=f"turn-{label}",
        icon=icon,
        shortcut=shortcut,
        type="tertiary",
        disabled=to is None,
        on_click=state.set_value(CURRENT.name, to),
    )


def is_narrow() -> bool:
    """Ask the browser whether plots must be stacked; until it answers, the window counts as wide."""
    known = bool(state.visit.get(_WINDOW, {}).get("narrow"))
    with st.container(key="window-width"):
        _window()(key=_WINDOW, data={"narrow": known}, on_narrow_change=lambda: None)
    return known


@st.cache_resource(show_spinner=False)
def _window() -> Any:
    script = (_HERE / "window.js").read_text(encoding="utf-8")
    return st.components.v2.component("vips_window", js=script)


def question(lesson: Lesson, asked: Question, outcome: Outcome) -> None:
    """Show the question and, once it is revealed, the answer with its explanation."""
    name = lesson.answer.name
    picked, shown = state.get(name), state.get(lesson.shown.name) == "1"
    with st.container(key="question"):
        st.markdown(f"**{asked.text}**")
        if shown:
            _answer(asked, picked)
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
                on_change=state.store_widget_value(name, key),
            )
    if shown:
        st.markdown(outcome.explanation)


def _answer(asked: Question, picked: str) -> None:
    answer, icon = f"**{asked.answers[asked.right].text}**", ":material/lightbulb:"
    if picked == LETTERS[asked.right]:
        st.success(f"Right. {answer}", icon=icon)
    elif picked == "none":
        st.info(answer, icon=icon)
    else:
        mistake = asked.answers[LETTERS.index(picked)].mistake
        st.info(f"Not quite. {mistake} The answer: {answer}", icon=icon)


def reveal_button(lesson: Lesson) -> None:
    """Show the button that reveals the answer, once one is picked, or hides it again."""
    picked, shown = state.get(lesson.answer.name), state.get(lesson.shown.name) == "1"
    st.button(
        "Ask again" if shown else "Reveal",
        key=f"reveal:{lesson.key}",
        type="secondary" if shown else "primary",
        disabled=not shown and picked == "none",
        help=None if shown or picked != "none" else "Choose an answer first.",
        on_click=state.set_value(lesson.shown.name, "0" if shown else "1"),
    )


def control(parameter: Number | Choice) -> float | str:
    """Show a control and return its value."""
    if isinstance(parameter, Number):
        return number_with_slider(parameter)
    if not isinstance(parameter, Scale):
        return choice(parameter, as_buttons=True)
    value, key = str(state.get(parameter.name)), state.widget_key(parameter.name, "scale")
    st.select_slider(
        parameter.label,
        list(parameter.options),
        value,
        key=key,
        help=parameter.help,
        format_func=parameter.options.__getitem__,
        on_change=state.store_widget_value(parameter.name, key),
    )
    return value


def chart(lesson: Lesson, outcome: Outcome, revealed: bool, present: bool, narrow: bool) -> None:
    """Show the chart, stacked in a narrow window, enlarged when presenting; then its table."""
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


def exercise(lesson: Lesson) -> None:
    """Show the exercise. Its solution is in a hand-out only: lecturers choose when to give it."""
    st.markdown(f"**Exercise, on paper.** {lesson.exercise}")
    st.caption("Solution: Hand-outs → Solution.")


def address(page: str, lesson: Lesson, values: Mapping[str, Any]) -> str:
    """Return the address of a lesson with these values."""
    return f"{page}?{urlencode({CURRENT.name: lesson.key, **values})}"


def handout_buttons(lesson: Lesson, values: Mapping[str, Any], outcome: Outcome, later: Later) -> None:
    """Offer the printable exercise and solution, with the figure and address of the current values."""
    shown = {item.name: state.get(item.name) for item in lesson.state}
    ready = all(value is not None for _, value in outcome.numbers)
    with st.popover("Hand-outs", icon=":material/print:", disabled=not ready):
        for part, revealed in handout.PARTS.items():
            link = address(st.context.url or "", lesson, {**shown, lesson.shown.name: int(revealed)})
            content = functools.partial(handout.page, lesson, values, part, link, later)
            layout.download_button(part, content, f"{lesson.key}-{part.lower()}.html")
        st.caption("One page each, to print, with the current figure.")

"""Learn: a course on differential privacy for Bayesian models, one screen for each lesson."""

from pathlib import Path

import streamlit as st

from dashboard import state
from dashboard.background import Later
from dashboard.components import layout
from dashboard.views.learn import screen
from dashboard.views.learn.lessons import CURRENT, LESSONS, PRESENT, heading

_HERE = Path(__file__).parent


def show() -> None:
    """Draw the lesson that the address names."""
    state.load((CURRENT, PRESENT))
    lesson = LESSONS[str(state.get(CURRENT.name))]
    state.load(lesson.state)
    present = state.get(PRESENT.name) == "1"
    revealed = state.get(lesson.shown.name) == "1"
    layout.header(heading(lesson), lesson.introduction, status=not present)
    for style in ("lesson.css", "presenting.css") if present else ("lesson.css",):
        st.html(_HERE / style)
    screen.navigation(lesson, present)
    narrow = screen.is_narrow()
    text, picture = st.columns([2, 3], gap="large")
    with text:
        asked = st.container()
        actions = st.container(horizontal=True, key="actions")
        values = {parameter.name: screen.control(parameter) for parameter in lesson.parameters}
    state.save((CURRENT, PRESENT, *lesson.state))
    with Later() as later:
        outcome = lesson.look(values, revealed, later)
        with asked:
            if not present:
                st.caption(f"**Aim.** {lesson.objective} About {lesson.minutes} minutes.")
            screen.question(lesson, lesson.question(values), outcome)
        with picture:
            columns = layout.narrow_columns("lesson-numbers", len(outcome.numbers))
            for column, (label, value) in zip(columns, outcome.numbers, strict=True):
                layout.metric(label, value if revealed else "?", column)
            screen.chart(lesson, outcome, revealed, present, narrow)
            if not present:
                screen.exercise(lesson)
        with actions:
            screen.reveal_button(lesson)
            with st.popover("The mathematics", icon=":material/function:"):
                for formula in lesson.formulas:
                    st.latex(formula.latex)
                    st.caption(formula.source)
            if present:
                with st.popover("Exercise", icon=":material/edit_note:"):
                    screen.exercise(lesson)
                with st.popover("Notes", icon=":material/speaker_notes:"):
                    st.markdown(
                        "\n".join(f"- {note}" for note in (f"Aim: {lesson.objective}", *lesson.notes))
                    )
            else:
                screen.handout_buttons(lesson, values, outcome, later)
        # Lets the keyboard reach the charts' buttons; last, because it takes a line of the page.
        st.html(_HERE / "keyboard.html", unsafe_allow_javascript=True)

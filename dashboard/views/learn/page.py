"""Learn: a course on differential privacy for Bayesian models, one screen for each lesson."""

import streamlit as st

from dashboard import state
from dashboard.background import Later
from dashboard.components import layout
from dashboard.views.learn import lessons, sections, window


def show() -> None:
    """Draw the lesson that the address names."""
    state.load((lessons.CURRENT, lessons.PRESENT))
    lesson = lessons.LESSONS[str(state.get(lessons.CURRENT.name))]
    state.load(lesson.state)
    present = state.get(lessons.PRESENT.name) == "1"
    revealed = state.get(lesson.shown.name) == "1"
    layout.header(lessons.heading(lesson), lesson.introduction, status=not present)
    sections.page_style(present)
    sections.navigation(lesson, present)
    narrow = window.is_narrow()
    text, picture = st.columns([2, 3], gap="large")
    with text:
        asked, actions, controls = (
            st.container(),
            st.container(horizontal=True, key="actions"),
            st.container(),
        )
    with controls:
        values = sections.controls(lesson.parameters)
    state.save((lessons.CURRENT, lessons.PRESENT, *lesson.state))
    with Later() as later:
        outcome = lesson.look(values, revealed, later)
        with asked:
            if not present:
                st.caption(f"**Aim.** {lesson.objective} About {lesson.minutes} minutes.")
            sections.question(lesson, lesson.question(values), outcome)
        with picture:
            sections.large_numbers(outcome, revealed)
            sections.lesson_chart(lesson, outcome, revealed, present, narrow)
            if not present:
                sections.exercise(lesson)
        with actions:
            sections.reveal_button(lesson)
            sections.formulas(lesson)
            if present:
                sections.exercise_folded(lesson)
                sections.speaker_notes(lesson)
            else:
                sections.handout_buttons(lesson, values, outcome, later)
        sections.keyboard_script()

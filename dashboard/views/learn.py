"""Learn: seven lessons on differential privacy for Bayesian models, one screen each."""

import streamlit as st

from dashboard import layout, lessons, session
from dashboard.background import Later
from dashboard.lessons import pieces


def show() -> None:
    """Draw the lesson that the address names."""
    session.load((lessons.CURRENT, lessons.PRESENT))
    lesson = lessons.LESSONS[int(session.get(lessons.CURRENT.name)) - 1]
    session.load(lesson.state)
    present = session.get(lessons.PRESENT.name) == "1"
    revealed = session.get(lesson.shown.name) == "1"
    layout.header(f"{lesson.number}. {lesson.title}", lesson.introduction)
    pieces.style(present)
    pieces.navigation(lesson, present)
    text, picture = st.columns([2, 3], gap="large")
    with text:
        asked, actions, controls = st.container(), st.container(horizontal=True), st.container()
    with controls:
        values = pieces.controls(lesson.parameters)
    session.save((lessons.CURRENT, lessons.PRESENT, *lesson.state))
    with Later() as later:
        outcome = lesson.look(values, revealed, later)
        with asked:
            pieces.question(lesson, outcome)
        with picture:
            pieces.numbers(outcome, revealed)
            pieces.chart(lesson, outcome, revealed, present)
        with actions:
            pieces.reveal(lesson)
            pieces.mathematics(lesson)
            pieces.take_home(lesson, values, outcome)
        pieces.script()

"""The guide of the Plan page: four questions, whose answers make a plan."""

import math
from typing import Any

import streamlit as st

from dashboard import state
from dashboard.components import layout
from dashboard.components.inputs import choice, number_with_slider
from dashboard.state import Choice, Text
from dashboard.views.plan.form import ALARMS, BATCH, BY, DELTA, EPOCHS, LIMITS, NOISE, RECORDS, SOLVE
from dashboard.views.plan.usefulness import USE, ask_width

STEP = Text("guide", None, "[1-4]")
PEOPLE_FOUND = Choice(
    "fear",
    "Participants that an attacker may find, of 100",
    "0.05",
    {"0.02": "2", "0.05": "5", "0.1": "10", "0.3": "30"},
    "Limit on the best possible attack that accuses 1 of 100 outsiders, whatever it knows and computes.",
)
TIME = Choice(
    "time",
    "Passes over the data",
    "20",
    {"5": "Quick: 5", "20": "Usual: 20", "100": "Patient: 100"},
    "The protection stays the same. More passes give training time to converge, and take longer.",
)
PARAMETERS = (STEP, PEOPLE_FOUND, TIME)
_QUESTIONS = (
    "How many people are in the data?",
    "How much may an attacker find out?",
    "What is the model for?",
    "How long may training take?",
)
_EXPLANATIONS = (
    "Count each person once, however many rows they have. This number is public.",
    "An attacker wants to know who took part. At 1 false alarm per 100 outsiders, guessing finds 1 of 100.",
    "The plan is compared with a public sample of this kind. Your answer does not change the protection.",
    "Each pass uses every record once, with noise.",
)


def begin_button() -> None:
    """Offer the guide."""
    st.button(
        "Guide me in four questions",
        icon=":material/route:",
        key="guide",
        on_click=state.set_value(STEP.name, "1"),
    )


def show() -> None:
    """Show the current question, with buttons to the others."""
    step = int(state.get(STEP.name))
    with layout.card(f"{step} of 4: {_QUESTIONS[step - 1]}"):
        st.progress(step / 4)
        _question(step)
        with st.container(horizontal=True):
            if step > 1:
                st.button("Back", key="guide-back", on_click=_go_back)
            label = "Next" if step < 4 else "Show the plan"
            st.button(label, key="guide-on", type="primary", on_click=_go_on)
            st.button("Close", key="guide-leave", on_click=state.set_value(STEP.name, None))


def _question(step: int) -> None:
    st.markdown(_EXPLANATIONS[step - 1])
    if step == 1:
        number_with_slider(RECORDS)
    elif step == 2:
        choice(PEOPLE_FOUND, as_buttons=True)
    elif step == 3:
        ask_width(choice(USE))
    else:
        choice(TIME, as_buttons=True)


def _go_back() -> None:
    state.change(STEP.name, str(max(1, int(state.get(STEP.name) or 1) - 1)))


def _go_on() -> None:
    """Go on from the visit's own step: a second click may precede the redraw of the button."""
    step = int(state.get(STEP.name) or 4)
    if step < 4:
        state.change(STEP.name, str(step + 1))
        return
    for name, value in answers().items():
        state.change(name, value)
    state.put(STEP.name, None)


def answers() -> dict[str, Any]:
    """Return the plan from the answers: full batches, δ at most 1/(10·N), and noise that limits attacks."""
    records = state.get(RECORDS.name)
    return {
        BATCH.name: records,
        EPOCHS.name: float(state.get(TIME.name)),
        DELTA.name: max(float(f"1e{math.floor(math.log10(0.1 / records) + 1e-9)}"), DELTA.low),
        SOLVE.name: NOISE.name,
        BY.name: "found",
        LIMITS["found"].name: float(state.get(PEOPLE_FOUND.name)),
        ALARMS.name: 0.01,
    }

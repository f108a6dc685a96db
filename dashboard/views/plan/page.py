"""Plan: choose noise, batch, epochs and δ, and see what they cost in privacy."""

import streamlit as st

from dashboard import state
from dashboard.background import Later
from dashboard.components import layout
from dashboard.components.charts import waiting
from dashboard.views.plan import data, form, guide, sections, text
from dashboard.views.plan.parameters import PARAMETERS, PlanInputs
from vips_core import PrivacyPlan


def show() -> None:
    """Draw the page."""
    everything = (*PARAMETERS, *guide.PARAMETERS)
    state.load(everything)
    if state.get(guide.STEP.name) is not None:
        state.save(everything)
        layout.header("Plan a privacy budget", text.INTRODUCTION)
        guide.show()
        return
    with st.sidebar:
        inputs = form.inputs()
    state.save(PARAMETERS)
    layout.header("Plan a privacy budget", text.INTRODUCTION)
    guide.begin_button()
    with Later() as later:
        try:
            plan = later.soon(data.make_plan, inputs) if inputs.slow else data.make_plan(inputs)
        except ValueError as problem:
            layout.problem(str(problem))
            return
        if plan is None:
            waiting()
            return
        _results(plan, inputs, later)


def _results(plan: PrivacyPlan, inputs: PlanInputs, later: Later) -> None:
    """Answer a steward's questions in their order."""
    outlook = data.outlook(plan)
    sections.headline(outlook.price, inputs)
    sections.cautions(data.cautions(outlook.price))
    sections.every_accountant(outlook.price)
    sections.attack_risk(outlook, inputs)
    left, right = st.columns(2, gap="medium")
    with left:
        surface = later(data.surface, *data.surface_window(plan, inputs))
        sections.surface(surface, outlook.price, inputs.solve)
    with right:
        sections.trajectories(data.trajectories(plan, later), inputs.budget)
    sections.usefulness(outlook.price)
    left, right = st.columns([2, 1], gap="medium")
    with left:
        sections.spending_less(outlook, later(data.more_epochs, plan))
    with right:
        sections.choosing_delta(plan)
    sections.going_on(outlook.price, inputs)

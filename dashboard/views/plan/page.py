"""Plan: choose noise, batch, epochs and δ, and see what they cost in privacy."""

import streamlit as st

from dashboard import state
from dashboard.background import Later
from dashboard.components import layout
from dashboard.components.charts import chart, waiting
from dashboard.components.layout import card, metric
from dashboard.components.price import price as price_of
from dashboard.views.plan import cards, charts, data, form, guide, text
from dashboard.views.plan.form import PARAMETERS, PlanInputs
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
    """Answer a steward's questions in the order in which they arise."""
    price = price_of(plan)
    cards.headline(price, inputs)
    cautions = data.cautions(price)
    with layout.fresh("cautions", tuple(cautions)):
        for sentence in cautions:
            st.warning(sentence, icon=":material/warning:")
    cards.accountants(price)
    cards.attacks(price, inputs)
    left, right = st.columns(2, gap="medium")
    with left:
        cards.show_surface(later(data.surface, *data.surface_window(plan, inputs)), price, inputs.solve)
    with right, card("ε over the iterations", text.TRAJECTORY_CAPTION):
        curves = data.trajectories(plan, later)
        figure = charts.epsilon_over_steps(curves, inputs.budget)
        chart(figure, "iterations", text.TRAJECTORY_ALT, lambda: charts.trajectories_table(curves))
    cards.public_scores(price)
    left, right = st.columns([2, 1], gap="medium")
    with left:
        cards.savings(price, later(data.more_epochs, plan))
    with right, card("Choosing δ"):
        metric("δ relative to 1/N", f"{plan.delta * plan.records:.3g}")
        st.caption(text.delta(plan))
    cards.next_steps(price, inputs)

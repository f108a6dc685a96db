"""Plan: choose noise, batch, epochs and δ, and see what they cost in privacy."""

import streamlit as st

from dashboard import charts, components, layout, plan_parts, planning, session, words
from dashboard.background import Later
from dashboard.components import number_with_slider
from dashboard.formats import number
from dashboard.layout import card, metric
from vips_core import PrivacyPlan


def show() -> None:
    """Draw the page."""
    session.load(planning.PARAMETERS)
    with st.sidebar:
        request = _inputs()
    session.save(planning.PARAMETERS)
    layout.header("Plan a privacy budget", words.INTRODUCTION)
    with Later() as later:
        try:
            plan = later(planning.make_plan, request) if request.slow else planning.make_plan(request)
        except ValueError as error:
            layout.problem(str(error))
            return
        if plan is None:
            components.waiting(charts.HEIGHT)
            return
        _results(plan, request, later)


def _inputs() -> planning.Request:
    solve = components.choice(planning.SOLVE, as_buttons=True)
    target, accountant = session.get("target"), session.get("accountant")
    if solve != "epsilon":
        target = number_with_slider(planning.TARGET)
        accountant = components.choice(planning.ACCOUNTANT)
    noise = session.get("sigma") if solve == "sigma" else number_with_slider(planning.NOISE)
    batch = session.get("s") if solve == "s" else number_with_slider(planning.BATCH, most=session.get("n"))
    epochs = session.get("epochs") if solve == "epochs" else number_with_slider(planning.EPOCHS)
    delta = number_with_slider(planning.DELTA)
    records = number_with_slider(planning.RECORDS)
    return planning.Request(records, batch, noise, epochs, delta, solve, target, accountant)


def _results(plan: PrivacyPlan, request: planning.Request, later: Later) -> None:
    details = later(planning.details, plan)
    accounts = planning.fast_accounts(plan) | {"pld": details and details.account}
    moments, strong = accounts["moments"].epsilon, accounts["strong"].epsilon
    with st.container(border=True):
        numbers = layout.narrow_columns("headline", [2, 2, 3], "medium", "center")
        metric("ε by the moments accountant", number(moments), numbers[0])
        metric("ε by strong composition", number(strong), numbers[1])
        numbers[2].markdown(words.headline(plan, request, moments, strong))
        numbers[2].caption(words.ASSUMED)
    cautions = planning.cautions(plan, accounts)
    with layout.fresh("cautions", tuple(cautions)):
        for sentence in cautions:
            st.warning(sentence, icon=":material/warning:")
    with card("ε by every accountant", words.ACCOUNTANTS_CAPTION):
        table = planning.accounts_table(accounts)
        bars, rows = st.columns([2, 3], gap="medium")
        with bars:
            figure = charts.accountants_bars(table["Accountant"], table["ε"])
            components.plot(figure, "accountants", words.ACCOUNTANTS_ALT)
            components.csv_button(table, "accountants")
        with rows:
            components.text_table(planning.readable(table))
    left, right = st.columns(2, gap="medium")
    with left, card("ε over the iterations", words.TRAJECTORY_CAPTION):
        curves = planning.trajectories(plan, later)
        figure = charts.epsilon_over_steps(curves, planning.LABELS, request.budget)
        components.chart(figure, "iterations", words.TRAJECTORY_ALT, lambda: planning.curves_table(curves))
    with right, card("ε over noise and batch size", words.SURFACE_CAPTION):
        found = later(planning.surface, *planning.surface_window(plan, request))
        here = (plan.noise_multiplier, plan.expected_batch, moments)
        plan_parts.surface(found, here, request.solve)
    with card("What an attacker can learn at best"):
        plan_parts.risk(details)
    left, right = st.columns([2, 1], gap="medium")
    with left, card("Efficiency, and what more epochs would buy"):
        plan_parts.efficiency(details, later(planning.more_epochs, plan))
    with right, card("Choosing δ"):
        metric("δ as a share of 1/N", f"{plan.delta * plan.records:.3g}")
        st.caption(words.delta(plan))
    with card("Go on with this plan", words.HAND_OVER):
        plan_parts.elsewhere(plan, request)

"""Plan: choose noise, batch, epochs and δ, and see what they cost in privacy."""

import streamlit as st

from dashboard import charts, components, planning, session, words
from dashboard.components import card, metric, number_with_slider
from dashboard.formats import number
from vips_core import PrivacyPlan


def show() -> None:
    """Draw the page."""
    session.load(planning.PARAMETERS)
    with st.sidebar:
        request = _inputs()
    session.save(planning.PARAMETERS)
    components.header("Plan a privacy budget", words.INTRODUCTION)
    with session.Later() as later:
        try:
            plan = later(planning.make_plan, request) if request.slow else planning.make_plan(request)
        except ValueError as error:
            components.problem(str(error))
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
    batch = number_with_slider(planning.BATCH, most=session.get("n"))
    epochs = session.get("epochs") if solve == "epochs" else number_with_slider(planning.EPOCHS)
    delta = number_with_slider(planning.DELTA)
    records = number_with_slider(planning.RECORDS)
    return planning.Request(records, batch, noise, epochs, delta, solve, target, accountant)


def _results(plan: PrivacyPlan, request: planning.Request, later: session.Later) -> None:
    details = later(planning.details, plan)
    accounts = session.fast_accounts(plan) | {"pld": details and details.account}
    moments, strong = accounts["moments"].epsilon, accounts["strong"].epsilon
    with st.container(border=True):
        numbers = components.narrow_columns("headline", [2, 2, 3], "medium", "center")
        metric("ε by the moments accountant", number(moments), numbers[0])
        metric("ε by strong composition", number(strong), numbers[1])
        numbers[2].markdown(words.headline(plan, request, moments, strong))
    for sentence in plan.warnings():
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
        figure = found and charts.epsilon_surface(found.noise, found.batches, found.epsilon, here)
        components.chart(figure, "surface", words.SURFACE_ALT, lambda: planning.surface_table(found))
    with card("What an attacker can learn at best"):
        _risk(details)
    left, right = st.columns(2, gap="medium")
    with left, card("Efficiency"):
        metric("Share of the best signal over noise", details and f"{details.efficiency:.0%}")
        st.caption(words.efficiency(details))
    with right, card("Choosing δ"):
        metric("δ as a share of 1/N", f"{plan.delta * plan.records:.3g}")
        st.caption(words.delta(plan))
    with card("The same plan elsewhere"):
        st.code(words.command_line(request, plan), language="bash", wrap_lines=True)
        st.code(words.python_code(request, plan), language="python", wrap_lines=True)


def _risk(details: planning.Details | None) -> None:
    text, curve = st.columns(2, gap="medium")
    with text:
        st.markdown(words.risk(details))
        columns = components.narrow_columns("attack", 2) * 2
        for column, (label, value) in zip(columns, words.attack_numbers(details), strict=True):
            metric(label, value, column)
        st.markdown(words.posterior(details, number_with_slider(planning.PRIOR)))
    with curve:
        figure = details and charts.attacker_roc(*details.roc, details.found)
        components.chart(figure, "attacker", words.ROC_ALT, lambda: planning.roc_table(details))

"""The cards of the Plan page, from top to bottom."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import pages, state
from dashboard.components import layout
from dashboard.components.charts import chart, clickable, hundred_people, plot, waiting
from dashboard.components.formats import at_most
from dashboard.components.inputs import choice, number_with_slider
from dashboard.components.layout import card, metric
from dashboard.components.price import FEW_STEPS, Price, same_noise
from dashboard.components.tables import csv_button, table_twin, text_table
from dashboard.views.plan import charts, data, text, usefulness
from dashboard.views.plan.form import BATCH, NOISE, PRIOR, PlanInputs
from vips_core import ACCOUNTANTS
from vips_core.reports.figures import attacker_roc


def headline(item: Price, inputs: PlanInputs) -> None:
    """Show the smallest valid ε with the attacker's sentence, then the ε that the paper compares."""
    with st.container(border=True):
        columns = layout.narrow_columns("headline", [2, 5], "medium", "center")
        label = f"ε by {ACCOUNTANTS[item.tightest].label}, the tightest accountant"
        metric(label, at_most(item.tightest_epsilon), columns[0])
        columns[1].markdown(f"{item.risk.sentence()} {text.headline(item.plan, inputs)}")
        columns[1].caption(text.ASSUMED)
        st.markdown("**The paper's comparison, at the same noise**")
        same_noise(item)


def accountants(item: Price) -> None:
    """Show ε by every accountant, why they differ, and μ, all folded away at first."""
    folded = st.expander("Every accountant, and why they differ", key="accountants", on_change="rerun")
    if folded.open:
        table = charts.accounts_table(data.all_accounts(item))
        with folded:
            st.caption(text.ACCOUNTANTS_CAPTION)
            dots, rows = st.columns([2, 3], gap="medium")
            with dots:
                plot(charts.accountants_dots(table), "accountants", text.ACCOUNTANTS_ALT)
                csv_button(table, "accountants")
            with rows:
                text_table(charts.readable_accounts(table))
            st.caption(FEW_STEPS)
            st.caption(text.gaussian(item.risk))


def attacks(item: Price, inputs: PlanInputs) -> None:
    """Show the success of the best possible attack."""
    risk = item.risk
    with card("What could anyone learn about a person?"):
        numbers, curve = st.columns(2, gap="medium")
        with numbers:
            of_hundred = 100 * float(risk.true_positive_rate(0.01))
            hundred_people(of_hundred, text.people_alt(of_hundred))
            st.caption(text.people_alt(of_hundred))
            columns = layout.narrow_columns("attack", 2) * 2
            for column, (label, value) in zip(columns, text.attack_numbers(risk), strict=True):
                metric(label, value, column)
            asked = inputs.by_risk and inputs.by == "belief"  # the sidebar has this input already
            st.markdown(text.posterior(risk, inputs.prior if asked else number_with_slider(PRIOR)))
        with curve:
            figure = attacker_roc(*risk.curve(), data.participants_found(risk))
            chart(figure, "attacker", text.ROC_ALT, lambda: charts.roc_table(risk))


def show_surface(cells: data.Surface | None, item: Price, solve: str) -> None:
    """Show ε over σ and S; a click takes a cell's values, except for the quantity solved for."""

    def take(points: Sequence[Mapping[str, Any]]) -> None:
        for point in points[:1]:
            values = {NOISE.name: float(point["x"]), BATCH.name: round(point["y"])}
            for name in values.keys() - {solve}:
                state.change(name, values[name])

    with card("How do noise and batch size change ε?", text.SURFACE_CAPTION):
        if cells is None:
            waiting()
            return
        here = (item.plan.require_noise_multiplier(), item.plan.expected_batch, item.epsilon("moments"))
        clickable(charts.epsilon_surface(cells, here), "surface", text.SURFACE_ALT, take)
        table_twin("surface", text.SURFACE_ALT, lambda: charts.surface_table(cells))


def public_scores(item: Price) -> None:
    """Show the scores that runs at this ε reached on public data."""
    with card("How useful will the model be?"):
        numbers, curve = st.columns(2, gap="medium")
        with numbers:
            use = choice(usefulness.USE)
            usefulness.ask_width(use)
            width = state.get(usefulness.WIDTHS[use].name)
            st.markdown(usefulness.sentence(use, item.tightest_epsilon))
            st.markdown(usefulness.distance(use, item.plan.records, width))
            st.caption(usefulness.origin(use))
        with curve:
            figure = usefulness.chart(use, item.tightest_epsilon)
            chart(figure, "usefulness", text.USEFULNESS_ALT, lambda: usefulness.SAMPLES[use].by_epsilon)


def savings(item: Price, gain: pd.DataFrame | None) -> None:
    """Show the gain from full batches and from more epochs."""
    efficiency = item.plan.efficiency
    with card("How can you spend less?"):
        numbers, curve = st.columns(2, gap="medium")
        with numbers:
            metric("Efficiency relative to full batches", f"{efficiency:.0%}")
            st.caption(text.efficiency(efficiency))
            st.markdown(text.more_epochs(gain))
        with curve:
            figure = None if gain is None else charts.more_epochs(gain)
            chart(figure, "epochs", text.EPOCHS_ALT, lambda: gain)


def next_steps(item: Price, inputs: PlanInputs) -> None:
    """Link to the model pages with the plan's values, and give the plan in words and as code."""
    plan = item.plan
    with card("Use this plan", text.HAND_OVER):
        with st.container(horizontal=True, gap="medium"):
            for name, label in text.NEXT_PAGES.items():
                st.page_link(pages.page(name), label=label, query_params=data.hand_over(plan, inputs))
        st.caption("In words, for example for an ethics board:")
        st.code(text.for_a_board(item), language=None, wrap_lines=True)
        st.caption("As a command and in Python:")
        st.code(text.command_line(inputs, plan), language="bash", wrap_lines=True)
        st.code(text.python_code(inputs, plan), language="python", wrap_lines=True)

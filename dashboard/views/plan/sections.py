"""The cards of the Plan page, from top to bottom."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import pages, state
from dashboard.components import layout, people
from dashboard.components.bounds import at_most
from dashboard.components.charts import chart, clickable, plot, waiting
from dashboard.components.inputs import choice, number_with_slider
from dashboard.components.layout import card, metric
from dashboard.components.price import FEW_STEPS, Price, same_noise
from dashboard.components.tables import csv_button, table_twin, text_table
from dashboard.views.plan import charts, data, tables, text
from dashboard.views.plan import usefulness as usefulness_of
from dashboard.views.plan.parameters import BATCH, NOISE, PRIOR, PlanInputs
from dashboard.views.plan.usefulness import USE, WIDTHS
from vips_core import ACCOUNTANTS, PrivacyPlan
from vips_core.kernels import Array
from vips_core.reports.figures import attacker_roc


def headline(item: Price, inputs: PlanInputs) -> None:
    """Show one ε, the smallest that holds, with the attacker's sentence; below it what the paper compares."""
    with st.container(border=True):
        columns = layout.narrow_columns("headline", [2, 5], "medium", "center")
        label = f"ε by {ACCOUNTANTS[item.tightest].label}, the tightest accountant"
        metric(label, at_most(item.tightest_epsilon), columns[0])
        columns[1].markdown(f"{item.risk.sentence()} {text.headline(item.plan, inputs)}")
        columns[1].caption(text.ASSUMED)
        st.markdown("**At the same noise, as the paper compares it**")
        same_noise(item)


def cautions(sentences: Sequence[str]) -> None:
    """Say what weakens the guarantee."""
    with layout.fresh("cautions", tuple(sentences)):
        for sentence in sentences:
            st.warning(sentence, icon=":material/warning:")


def every_accountant(item: Price) -> None:
    """Show ε by every accountant and why they differ, and μ, when asked for."""
    folded = st.expander("Every accountant, and why they differ", key="accountants", on_change="rerun")
    if folded.open:
        table = tables.accounts_table(data.all_accounts(item.plan))
        with folded:
            st.caption(text.ACCOUNTANTS_CAPTION)
            dots, rows = st.columns([2, 3], gap="medium")
            with dots:
                figure = charts.accountants_dots(table["Accountant"], table["ε"])
                plot(figure, "accountants", text.ACCOUNTANTS_ALT)
                csv_button(table, "accountants")
            with rows:
                text_table(tables.readable_accounts(table))
            st.caption(FEW_STEPS)
            st.caption(text.gaussian(item.risk))


def trajectories(curves: Mapping[str, tuple[Array, Array]], budget: float | None) -> None:
    """Show what has been spent after so many steps."""
    with card("ε over the iterations", text.TRAJECTORY_CAPTION):
        figure = charts.epsilon_over_steps(curves, budget)
        chart(figure, "iterations", text.TRAJECTORY_ALT, lambda: tables.trajectories_table(curves))


def surface(cells: data.Surface | None, item: Price, solve: str) -> None:
    """Show ε over σ and S; a click takes the cell's values, but not the one that the plan is solved for."""

    def take(points: Sequence[Mapping[str, Any]]) -> None:
        for point in points[:1]:
            values = {NOISE.name: float(point["x"]), BATCH.name: round(point["y"])}
            for name in values.keys() - {solve}:
                state.change(name, values[name])

    with card("What does that cost in noise?", text.SURFACE_CAPTION):
        if cells is None:
            waiting()
            return
        plan = item.plan
        here = (plan.require_noise_multiplier(), plan.expected_batch, item.epsilon("moments"))
        clickable(charts.epsilon_surface(cells, here), "surface", text.SURFACE_ALT, take)
        table_twin("surface", text.SURFACE_ALT, lambda: tables.surface_table(cells))


def attack_risk(outlook: data.Outlook, inputs: PlanInputs) -> None:
    """Show what the best possible attack achieves."""
    risk = outlook.price.risk
    with card("What may anyone learn about a person?"):
        said, curve = st.columns(2, gap="medium")
        with said:
            found = 100 * outlook.participants_found[1][1]
            people.show(found, text.people_alt(found))
            st.caption(text.people_alt(found))
            columns = layout.narrow_columns("attack", 2) * 2
            for column, (label, value) in zip(columns, text.attack_numbers(outlook), strict=True):
                metric(label, value, column)
            asked = inputs.by_risk and inputs.by == "belief"  # then it stands beside the other inputs
            st.markdown(text.posterior(risk, inputs.prior if asked else number_with_slider(PRIOR)))
        with curve:
            figure = attacker_roc(*outlook.roc, outlook.participants_found)
            chart(figure, "attacker", text.ROC_ALT, lambda: tables.roc_table(outlook))


def usefulness(item: Price) -> None:
    """Show what plans of this ε were good for on public data."""
    with card("What will the model still be good for?"):
        said, curve = st.columns(2, gap="medium")
        with said:
            use = choice(USE)
            usefulness_of.ask_width(use)
            st.markdown(usefulness_of.sentence(use, item.tightest_epsilon))
            st.markdown(usefulness_of.distance(use, item.plan.records, state.get(WIDTHS[use].name)))
            st.caption(usefulness_of.origin(use))
        with curve:
            figure = usefulness_of.chart(use, item.tightest_epsilon)
            chart(figure, "usefulness", text.USEFULNESS_ALT, lambda: tables.usefulness_table(use))


def spending_less(outlook: data.Outlook, gain: data.Gain | None) -> None:
    """Show what full batches, and what more epochs, would buy."""
    with card("How to spend less?"):
        said, curve = st.columns(2, gap="medium")
        with said:
            metric("Share of the best signal over noise", f"{outlook.efficiency:.0%}")
            st.caption(text.efficiency(outlook.efficiency))
            st.markdown(text.more_epochs(gain))
        with curve:
            if gain is None:
                waiting()
            else:
                figure = charts.more_epochs(gain)
                chart(figure, "epochs", text.EPOCHS_ALT, lambda: tables.gain_table(gain))


def choosing_delta(plan: PrivacyPlan) -> None:
    """Compare δ with 1/N."""
    with card("Choosing δ"):
        metric("δ as a share of 1/N", f"{plan.delta * plan.records:.3g}")
        st.caption(text.delta(plan))


def going_on(item: Price, inputs: PlanInputs) -> None:
    """Lead to the model pages with the plan's values, and give it as words, as a command and as Python."""
    plan = item.plan
    with card("Go on with this plan", text.HAND_OVER):
        with st.container(horizontal=True, gap="medium"):
            for name, label in text.GO_ON.items():
                st.page_link(pages.page(name), label=label, query_params=data.hand_over(plan, inputs))
        st.caption("In words, for instance for an application to an ethics board:")
        st.code(text.for_a_board(item), language=None, wrap_lines=True)
        st.caption("The same as a command and in Python:")
        st.code(text.command_line(inputs, plan), language="bash", wrap_lines=True)
        st.code(text.python_code(inputs, plan), language="python", wrap_lines=True)

"""What a model page shows before training: what the chosen runs would cost, and where to begin."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from dashboard import pages, state
from dashboard.components import budget_bar, layout, price
from dashboard.components.bounds import at_most
from dashboard.components.formats import brief, number
from dashboard.components.price import Price
from dashboard.components.tables import text_table
from dashboard.model_page.definition import SAME_TRAINING, ModelPage
from dashboard.model_page.offer import Offer, foresee_example
from vips_core import ACCOUNTANTS
from vips_core.models.task import STRONG
from vips_core.store.budget import Forecast, percent
from vips_core.store.rows import FAILED, DataRow, RunRow

_HOW_TO_BEGIN = (
    "Choose data, methods and a plan, then **Train**. Training runs in the background: this page shows how "
    "far it is, and its address brings you back after closing it."
)


def short(offer: Offer | None) -> None:
    """Show in a few lines, beside the inputs, what Train would cost."""
    with st.container(border=True, key="price"):
        if offer is None or not offer.prices:
            st.markdown(_without_price(offer))
        else:
            item = next(iter(offer.prices.values()))
            noise = number(item.plan.noise_multiplier)
            st.markdown(f"Would cost **ε = {at_most(item.tightest_epsilon)}** with noise σ = {noise}")
            st.caption(
                f"Moments {at_most(item.epsilon('moments'))}, strong composition "
                f"{at_most(item.epsilon('strong'))}. Steps: {item.plan.steps:,} of "
                f"{item.plan.expected_batch:,} records."
            )
            if offer.forecast is not None:
                _budget(offer.forecast)


def _without_price(offer: Offer | None) -> str:
    """Say why there is no price: it is being computed, the values do not agree, or there is no noise."""
    if offer is None:
        return "**ε = …**"
    if offer.problem:
        return layout.plain(offer.problem[:1].upper() + offer.problem[1:] + ".")
    return "Without noise there is no ε: nothing is promised."


def _budget(forecast: Forecast) -> None:
    budget_bar.show(forecast.before, this_run=forecast.after - forecast.before)
    st.caption("It fits in the budget." if forecast.fits else "**It does not fit in the budget.**")


def taken(offer: Offer | None) -> None:
    """Say what would be taken of the budget of a private data set."""
    if offer is None:
        st.markdown("How much is being computed.")
    elif offer.forecast is not None:
        before, after = offer.forecast.before, offer.forecast.after
        runs = "This run takes" if len(offer.prices) == 1 else f"These {len(offer.prices)} runs take"
        st.markdown(
            f"{runs} {percent(after - before)} of the cap: {percent(before)} is taken "
            f"now, {percent(after)} afterwards. What is released cannot be taken back."
        )


def refusal(row: DataRow, offer: Offer) -> str:
    """Say why the chosen runs may not spend budget; nothing where they may."""
    if offer.fits or offer.forecast is None:
        return offer.problem
    runs, those = ("this run does", "it") if len(offer.prices) == 1 else ("these runs do", "them")
    before, after = percent(offer.forecast.before), percent(offer.forecast.after)
    return (
        f"{runs} not fit in the budget of {row.name}: with {those} {after} of the cap would be taken, of "
        f"which {before} is spent or reserved. A smaller target ε, or more noise, takes less"
    )


def show(
    page: ModelPage, row: DataRow, offer: Offer | None, ended: Mapping[str, RunRow] | None = None
) -> None:
    """Show what the chosen runs would cost, and the ready example; `ended` are runs that left no result."""
    with layout.card("What a run would cost", "It follows the chosen values. Nothing is spent before Train."):
        if offer is None or not offer.prices:
            st.markdown(_without_price(offer))
        else:
            _details(page, row, offer)
    with layout.card("What such a model gives"):
        st.caption(page.preview())
        st.button(
            "Show the ready example",
            icon=":material/auto_awesome:",
            key="example",
            on_click=state.sets("example", "1"),
            help="Trains it now on public data, or shows it at once where it was trained before.",
        )
    if offer is not None:
        foresee_example(page, row)
    with layout.card("No results" if ended else "Nothing trained here yet"):
        st.markdown(_without_results(page, row, ended) if ended else _HOW_TO_BEGIN)
        if row.private:
            st.markdown(
                f"**{layout.plain(row.name)}** is private. Each run spends from its budget, only noisy "
                "results leave the wall, and scores come from public held-out records only."
            )


def _without_results(page: ModelPage, row: DataRow, ended: Mapping[str, RunRow]) -> str:
    """Say that runs failed or were cancelled, and what follows from it."""
    ends = [
        f"{page.labels[method]} {'failed' if run.status == FAILED else 'was cancelled'}"
        for method, run in ended.items()
    ]
    counts = "What was released until then counts. " if row.private else ""
    return f"{'. '.join(ends)}. {counts}**Train** begins anew."


def _details(page: ModelPage, row: DataRow, offer: Offer) -> None:
    method, item = next(iter(offer.prices.items()))
    st.markdown(_sentence(page.labels[method], row, item))
    price.same_noise(item)
    if STRONG in offer.prices and state.get("noise") is not None:
        st.caption(_both_charges(offer.prices[STRONG]))
    st.markdown(item.risk.sentence(layout.plain(row.unit)))
    if offer.forecast is not None:  # beside the inputs too, which a narrow window hides
        _budget(offer.forecast)
    if len(offer.prices) > 1:
        text_table(_table(page, offer))
    st.page_link(
        pages.page("plan"),
        label="Look at this plan in Plan",
        icon=":material/tune:",
        query_params=in_plan(item),
    )


def _sentence(label: str, row: DataRow, item: Price) -> str:
    plan = item.plan
    batches = (
        "all records"
        if plan.sampling_rate == 1
        else f"a random {100 * plan.sampling_rate:.3g}% of the records"
    )
    return (
        f"**{label}** would take {plan.steps:,} {'step' if plan.steps == 1 else 'steps'}, each on {batches} "
        f"with noise σ = {number(plan.noise_multiplier)}, and cost **ε = {at_most(item.tightest_epsilon)}** "
        f"at δ = {brief(plan.delta)} by {ACCOUNTANTS[item.tightest].label}, the tightest accountant. "
        f"Protected is {layout.plain(row.unit)}."
    )


def _both_charges(item: Price) -> str:
    """Say what strong composition charges for given noise, and what PLD does."""
    strong, pld = (at_most(item.epsilon(name)) for name in ("strong", "pld"))
    return f"{SAME_TRAINING} Strong composition charges ε = {strong}, PLD {pld}."


def _table(page: ModelPage, offer: Offer) -> pd.DataFrame:
    """One row for each of several runs."""
    return pd.DataFrame(
        {
            "Method": page.labels[method],
            "Noise σ": number(item.plan.noise_multiplier),
            **{f"ε, {ACCOUNTANTS[name].label}": at_most(item.epsilon(name)) for name in price.COMPARED},
        }
        for method, item in offer.prices.items()
    )


def in_plan(item: Price) -> dict[str, str]:
    """Return a run's plan as values of the address of Plan."""
    plan = item.plan
    return {
        "n": str(plan.records),
        "s": str(plan.expected_batch),
        "sigma": str(plan.noise_multiplier),
        "epochs": f"{plan.epochs:.12g}",
        "delta": str(plan.delta),
    }

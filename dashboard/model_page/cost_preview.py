"""What a model page shows before training: the cost of the chosen runs, and how to begin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import pages, state, stored
from dashboard.background import Later, compute_ahead
from dashboard.components import layout, price, status
from dashboard.components.formats import at_most, brief, number
from dashboard.components.price import Price
from dashboard.components.tables import text_table
from dashboard.model_page.definition import SAME_TRAINING, ModelPage
from vips_core import ACCOUNTANTS
from vips_core.jobs.request import Request
from vips_core.jobs.submission import plan_for
from vips_core.models.task import STRONG
from vips_core.records import DataSet
from vips_core.store.budget import Forecast, forecast, percent
from vips_core.store.rows import FAILED, DataRow, RunRow

_HOW_TO_BEGIN = (
    "Choose data, methods and a plan, then press **Train**. Training runs in the background. You can close "
    "this page; its link brings you back."
)


@dataclass(frozen=True)
class Quote:
    """The cost of the chosen runs.

    Attributes
    ----------
    prices
        By method, for the runs that add noise at the wall.
    forecast
        Their effect on the budget of a private data set.
    problem
        Why there is no quote; empty where there is one.
    """

    prices: Mapping[str, Price]
    forecast: Forecast | None = None
    problem: str = ""


def requests(page: ModelPage, value: Callable[[str], Any] = state.get) -> tuple[Request, ...]:
    """Return one request for each chosen method; `ValueError` with one sentence where values conflict.

    Parameters
    ----------
    value
        Looks up a value by its name in the address; by default the visitor's.
    """
    names = ("data", "delta", "epochs", "batch", "accountant", "seed", "engine", *page.task.options)
    spending = "epsilon" if value("noise") is None else "noise"
    table = {"model": page.task.name} | {name: value(name) for name in (*names, spending)}
    made = []
    for method in value("methods").split(","):
        refused = page.task.methods[method].refused_options
        without = {spending: None} if {"epsilon", "noise"} <= set(refused) else {}
        made.append(Request.from_mapping(table | without | {"method": method}))
    return tuple(made)


def make_quote(page: ModelPage, row: DataRow, later: Later) -> Quote | None:
    """Return the cost of the chosen runs, or None while it is being computed."""
    try:
        prices = later.soon(_prices, requests(page), stored.data(row.name))
    except ValueError as problem:
        return Quote({}, problem=str(problem))
    if prices is None:
        return None
    runs = [item.plan.events() for item in prices.values()]
    return Quote(prices, forecast(stored.store().ledger(row.name), runs) if row.private else None)


def _price_example_ahead(page: ModelPage, row: DataRow) -> None:
    """Price the ready example in advance, so that a click on it starts its runs at once."""
    if row.name == page.example["data"]:
        values = page.defaults | {"delta": stored.suggested_delta(row)} | dict(page.example)
        compute_ahead(_prices, requests(page, values.__getitem__), stored.data(row.name))


def _prices(made: tuple[Request, ...], data_set: DataSet) -> dict[str, Price]:
    """Return the prices, by method, of the runs that add noise at the wall."""
    prices, train = {}, data_set.train
    for item in made:
        if item.private and not item.chosen_method.refused_on_private:
            model = item.task.model(item.method, item.values, train)
            prices[item.method] = price.price(plan_for(item, model, len(train)))
    return prices


def show_beside_inputs(quote: Quote | None) -> None:
    """Show the cost of Train in a few lines beside the inputs."""
    with st.container(border=True, key="price"):
        if quote is None or not quote.prices:
            st.markdown(_without_price(quote))
            return
        item = next(iter(quote.prices.values()))
        noise = number(item.plan.noise_multiplier)
        st.markdown(f"Would cost **ε = {at_most(item.tightest_epsilon)}** with noise σ = {noise}")
        st.caption(
            f"By moments {at_most(item.epsilon('moments'))}, by strong composition "
            f"{at_most(item.epsilon('strong'))}. {item.plan.steps:,} steps × "
            f"{item.plan.expected_batch:,} records."
        )
        _budget(quote.forecast)


def _without_price(quote: Quote | None) -> str:
    """Say why there is no price: it is being computed, values conflict, or there is no noise."""
    if quote is None:
        return "ε: computing…"
    if quote.problem:
        return layout.plain(quote.problem[:1].upper() + quote.problem[1:] + ".")
    return "Training without noise protects nobody: ε = ∞."


def _budget(forecast: Forecast | None) -> None:
    if forecast is not None:
        status.budget_bar(forecast.before, this_run=forecast.after - forecast.before)
        st.caption("Fits in the budget." if forecast.fits else "**Does not fit in the budget.**")


def spending(quote: Quote | None) -> str:
    """Say how much of a private data set's budget the runs would take."""
    if quote is None or quote.forecast is None:
        return "Cost: computing…"
    before, after = quote.forecast.before, quote.forecast.after
    runs = "This run takes" if len(quote.prices) == 1 else f"These {len(quote.prices)} runs take"
    return (
        f"{runs} {percent(after - before)} of the budget: {percent(before)} is used now, "
        f"{percent(after)} afterwards. A release cannot be undone."
    )


def refusal(row: DataRow, quote: Quote | None) -> str:
    """Return why the chosen runs may not spend budget; empty where they may, or while that is unknown."""
    if quote is None or quote.forecast is None or quote.forecast.fits:
        return quote.problem if row.private and quote is not None else ""
    runs = "this run does" if len(quote.prices) == 1 else "these runs do"
    before, after = percent(quote.forecast.before), percent(quote.forecast.after)
    return (
        f"{runs} not fit in the budget of {row.name}: {before} is spent or reserved, and the total would be "
        f"{after}. Choose a smaller ε or more noise"
    )


def show(
    page: ModelPage, row: DataRow, quote: Quote | None, ended: Mapping[str, RunRow] | None = None
) -> None:
    """Show what the chosen runs would cost, and the ready example; `ended` are runs without results."""
    with layout.card("What a run would cost", "Updates with your choices. Nothing is spent before Train."):
        if quote is None or not quote.prices:
            st.markdown(_without_price(quote))
        else:
            _details(page, row, quote)
    if page.example:
        with layout.card("What to expect"):
            st.caption(page.preview())
            st.button(
                "Show the ready example",
                icon=":material/auto_awesome:",
                key="example",
                on_click=state.set_value("example", "1"),
                help="Trains on public data, or shows the results at once if it was trained before.",
            )
        if quote is not None:
            _price_example_ahead(page, row)
    with layout.card("No results" if ended else "Nothing trained here yet"):
        st.markdown(_without_results(page, row, ended) if ended else _HOW_TO_BEGIN)
        if row.private:
            st.markdown(
                f"**{layout.plain(row.name)}** is private. Each run spends from its budget, only noisy "
                "results leave the wall, and only public held-out records are scored."
            )


def _without_results(page: ModelPage, row: DataRow, ended: Mapping[str, RunRow]) -> str:
    """Say which runs failed or were cancelled, and how to go on."""
    ends = [
        f"{page.labels[method]} {'failed' if run.status == FAILED else 'was cancelled'}"
        for method, run in ended.items()
    ]
    counts = "Earlier releases still count. " if row.private else ""
    return f"{'. '.join(ends)}. {counts}Press **Train** to start again."


def _details(page: ModelPage, row: DataRow, quote: Quote) -> None:
    method, item = next(iter(quote.prices.items()))
    st.markdown(_sentence(page.labels[method], row, item))
    price.same_noise(item)
    if STRONG in quote.prices and state.get("noise") is not None:
        strong, pld = (at_most(quote.prices[STRONG].epsilon(name)) for name in ("strong", "pld"))
        st.caption(f"{SAME_TRAINING} Strong composition charges ε = {strong}, PLD {pld}.")
    st.markdown(item.risk.sentence(layout.plain(row.unit)))
    _budget(quote.forecast)  # beside the inputs too, but a narrow window hides those
    if len(quote.prices) > 1:
        text_table(_table(page, quote))
    st.page_link(
        pages.page("plan"),
        label="Open this plan in Plan",
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
        f"{layout.protected(row.unit)}"
    )


def _table(page: ModelPage, quote: Quote) -> pd.DataFrame:
    """Return one row for each of several runs."""
    return pd.DataFrame(
        {
            "Method": page.labels[method],
            "Noise σ": number(item.plan.noise_multiplier),
            **{f"ε, {ACCOUNTANTS[name].label}": at_most(item.epsilon(name)) for name in price.COMPARED},
        }
        for method, item in quote.prices.items()
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

"""What a visitor chooses before training: data, methods, and the privacy that a run may cost."""

import os
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.background import Later
from dashboard.components import inputs
from dashboard.model_page import cost_preview, definition, train
from dashboard.model_page.cost_preview import Quote, make_quote
from dashboard.model_page.definition import ModelPage
from vips_core.engines.cluster import ADDRESS
from vips_core.jobs.request import PLACE
from vips_core.records.samples import SAMPLES
from vips_core.store.rows import DataRow

_USUAL_NOISE = 2.0  # σ at which its slider starts


def reconcile(page: ModelPage) -> DataRow:
    """Make the values of the visit agree with each other and with what exists; return the data set."""
    rows = {row.name: row for row in stored.data_sets(page.task.name)}
    if state.get("data") not in rows:
        first = next(iter(rows))
        sentence = f"This page has no data set {state.get('data')!r}; {first} is used instead."
        data_set(first)
        state.complain(sentence)
    row = rows[state.get("data")]
    state.visit["data"] = row.name  # for the header of all pages
    if state.get("delta") is None:
        state.put("delta", stored.suggested_delta(row))
    _adapt_plan(row)
    if row.private:
        state.put("seed", None)
    if not os.environ.get(ADDRESS):
        state.put("engine", None)
    return row


def _adapt_plan(row: DataRow) -> None:
    """Adapt a plan that was made for another number of records, and say so."""
    records, batch = state.get(definition.PLANNED.name), state.get("batch")
    if records is None:
        return
    state.put(definition.PLANNED.name, None)
    if batch is None or records == row.records:
        return
    adapted = max(1, min(row.records, round(batch * row.records / records)))
    state.put("batch", adapted)
    state.note(
        f"The plan was for {records:,} records, and {row.name} has {row.records:,}. The batch size changed "
        f"from {batch:,} to {adapted:,}, so that each record is still in {100 * batch / records:.3g}% of "
        "the steps. Nothing else changed."
    )


def data_set(name: str) -> None:
    """Choose another data set, and forget the values that belonged to the last one."""
    change_all({"data": name, "delta": None, "batch": None, "runs": None, "upload": None})


def change_all(values: Mapping[str, Any]) -> None:
    """Change several values of the visit."""
    for name, value in values.items():
        state.change(name, value)


def sidebar(page: ModelPage, row: DataRow, later: Later) -> Quote | None:
    """Show all inputs, their cost, and the button that trains; return the cost once it is known."""
    _data(page, row)
    inputs.several_of(
        "methods",
        "Methods",
        {name: page.labels[name] for name in page.methods_for(row)},
        "Each method is a separate run. On private data, every run spends budget and adds noise.",
    )
    _privacy()
    for option in (*page.options, page.epochs, definition.DELTA):
        inputs.number_with_slider(option)
    with st.expander("More", type="compact"):
        inputs.choice(definition.ACCOUNTANT)
        inputs.optional_number(
            definition.BATCH,
            "Set the batch size",
            "By default, each method chooses its batch size.",
            max(1, row.records // 20),
            row.records,
        )
        if not row.private and inputs.switch("seed", "Use a seed (demonstration)", 1, definition.SEED.help):
            inputs.exact_number(definition.SEED, definition.SEED.label, definition.SEED.high)
        if os.environ.get(ADDRESS):
            inputs.switch("engine", "Train on the cluster", "cluster", PLACE["engine"].help)
    quote = make_quote(page, row, later)
    train.button(page, row, quote)
    cost_preview.show_beside_inputs(quote)  # below the buttons, which must not move when it changes
    return quote


def _data(page: ModelPage, row: DataRow) -> None:
    labels = {
        item.name: f"{item.name} (private)" if item.private else item.name
        for item in stored.data_sets(page.task.name)
    }
    inputs.one_of("data", "Data", labels, row.name, on_choice=data_set)
    about = f"{SAMPLES[row.name].help}. " if row.name in SAMPLES else ""
    status = "Private" if row.private else "Public"
    st.caption(
        f"{about}{status}, {row.records:,} training records. Each record is {row.unit}.".replace("$", "\\$")
    )
    st.button(
        "Use your own data",
        icon=":material/upload_file:",
        width="stretch",
        key="own",
        on_click=state.set_value("upload", "1"),
    )


def _privacy() -> None:
    by = "epsilon" if state.get("noise") is None else "noise"
    inputs.buttons(
        "noise",
        "Set privacy with",
        {"epsilon": definition.EPSILON.label, "noise": definition.NOISE.label},
        by,
        "Set a target ε to determine the noise, or set the noise to determine ε.",
        lambda by: _USUAL_NOISE if by == "noise" else None,
    )
    inputs.number_with_slider(definition.EPSILON if by == "epsilon" else definition.NOISE)

"""What a visitor chooses before training: data, methods, and the privacy that a run may cost."""

import os
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.background import Later
from dashboard.components.inputs import choice, number_with_slider, optional_number
from dashboard.model_page import before, train
from dashboard.model_page.definition import (
    ACCOUNTANT,
    BATCH,
    DELTA,
    EPSILON,
    NOISE,
    PLANNED,
    SEED,
    ModelPage,
)
from dashboard.model_page.offer import Offer, make_offer
from vips_core.engines.cluster import ADDRESS
from vips_core.jobs.request import PLACE
from vips_core.records.samples import SAMPLES
from vips_core.store.rows import DataRow

_USUAL_NOISE = 2.0


def load(page: ModelPage) -> DataRow:
    """Take the values of a new visit from the address, make them agree, and return the data set."""
    state.load(page.parameters)
    example = state.get("example") is not None
    if example:
        _take({parameter.name: parameter.default for parameter in page.parameters} | dict(page.example))
    rows = {row.name: row for row in stored.data_sets(page.task.name)}
    if state.get("data") not in rows:
        first = next(iter(rows))
        sentence = f"There is no data set {state.get('data')!r} for this page; {first} is used."
        data_set(first)
        state.complain(sentence)
    row = rows[state.get("data")]
    state.visit["data"] = row.name  # for the header of all pages
    if state.get("delta") is None:
        state.put("delta", stored.suggested_delta(row))
    _adapt_plan(row)
    allowed = page.methods_for(row)
    chosen = [name for name in state.get("methods").split(",") if name in allowed]
    state.put("methods", ",".join(chosen or allowed[:1]))
    if row.private:
        state.put("seed", None)
    if not os.environ.get(ADDRESS):
        state.put("engine", None)
    if example:
        train.submit(page)
    return row


def _adapt_plan(row: DataRow) -> None:
    """Fit a plan that was made for another number of records to these, and say so."""
    records, batch = state.get(PLANNED.name), state.get("batch")
    if records is None:
        return
    state.put(PLANNED.name, None)
    if batch is None or records == row.records:
        return
    adapted = max(1, min(row.records, round(batch * row.records / records)))
    state.put("batch", adapted)
    state.note(
        f"The plan was for {records:,} records and {row.name} has {row.records:,}. The batch size is now "
        f"{adapted:,} instead of {batch:,}, so that each record is still in {100 * batch / records:.3g}% of "
        "the steps. Everything else is as planned."
    )


def data_set(name: str) -> None:
    """Take another data set: what was suggested for the last one is suggested anew."""
    _take({"data": name, "delta": None, "batch": None, "runs": None, "upload": None})


def _take(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        state.change(name, value)


def sidebar(page: ModelPage, row: DataRow, later: Later) -> Offer | None:
    """Show all inputs, what they would cost, and the button that trains; return that offer once known."""
    _data(page, row)
    _methods(page, row)
    _spending()
    for option in page.options:
        number_with_slider(option)
    number_with_slider(page.epochs)
    number_with_slider(DELTA)
    with st.expander("More", type="compact"):
        choice(ACCOUNTANT)
        optional_number(
            BATCH,
            "Own batch size",
            "Otherwise each method takes the batch that suits it.",
            max(1, row.records // 20),
            row.records,
        )
        if not row.private:
            _seed()
        if os.environ.get(ADDRESS):
            _engine()
    offer = make_offer(page, row, later)
    spends = row.private and (offer is None or offer.fits)
    train.button(
        page,
        ask=(lambda: before.taken(offer)) if spends else None,
        ready=offer is not None,
        refusal=before.refusal(row, offer) if row.private and offer is not None else "",
    )
    before.short(offer)  # below the buttons, which must not move when it changes
    return offer


def _data(page: ModelPage, row: DataRow) -> None:
    rows = {item.name: item for item in stored.data_sets(page.task.name)}
    key = state.widget_key("data", "data", len(rows))
    st.selectbox(
        "Data",
        list(rows),
        list(rows).index(row.name),
        key=key,
        on_change=state.heeds(key, data_set),
        format_func=lambda name: f"{name} (private)" if rows[name].private else name,
    )
    about = f"{SAMPLES[row.name].help}. " if row.name in SAMPLES else ""
    status = "Private" if row.private else "Public"
    st.caption(f"{about}{row.records:,} records for training, {row.unit} each. {status}.".replace("$", "\\$"))
    st.button(
        "Use your own data",
        icon=":material/upload_file:",
        width="stretch",
        key="own",
        on_click=state.sets("upload", "1"),
    )


def _methods(page: ModelPage, row: DataRow) -> None:
    key = state.widget_key("methods", "methods", row.name)
    allowed = page.methods_for(row)
    st.multiselect(
        "Methods",
        allowed,
        state.get("methods").split(","),
        key=key,
        format_func=page.labels.__getitem__,
        on_change=state.takes("methods", key, lambda chosen: ",".join(chosen) or allowed[0]),
        help="One run for each. On private data every run spends budget, and nothing may run without noise.",
    )


def _spending() -> None:
    by, key = "epsilon" if state.get("noise") is None else "noise", state.widget_key("noise", "spend")
    st.segmented_control(
        "Privacy by",
        ["epsilon", "noise"],
        default=by,
        required=True,
        format_func={"epsilon": EPSILON.label, "noise": NOISE.label}.__getitem__,
        key=key,
        width="stretch",
        on_change=state.takes("noise", key, lambda by: _USUAL_NOISE if by == "noise" else None),
        help="Say what the run may cost, and the noise follows; or say the noise, and the cost follows.",
    )
    number_with_slider(EPSILON if by == "epsilon" else NOISE)


def _seed() -> None:
    own, key = state.get("seed") is not None, state.widget_key("seed", "own")
    st.toggle(
        "Demonstration with a seed",
        own,
        key=key,
        help=SEED.help,
        on_change=state.takes("seed", key, lambda on: 1 if on else None),
    )
    if own:
        key = state.widget_key("seed", "number")
        st.number_input(
            SEED.label,
            int(SEED.low),
            int(SEED.high),
            int(state.get("seed")),
            key=key,
            on_change=state.takes("seed", key, int),
        )


def _engine() -> None:
    on_cluster, key = state.get("engine") is not None, state.widget_key("engine", "cluster")
    st.toggle(
        "Train on the cluster",
        on_cluster,
        key=key,
        help=PLACE["engine"].help,
        on_change=state.takes("engine", key, lambda on: "cluster" if on else None),
    )

"""What finished runs of a model page have spent, and what it bought."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import pages, stored
from dashboard.components import layout
from dashboard.components.bounds import at_most
from dashboard.components.formats import brief, signed
from dashboard.components.tables import csv_button, text_table
from dashboard.model_page.definition import SAME_TRAINING, ModelPage
from dashboard.stored import Finished
from vips_core.models.task import STRONG

_EXTRA_NOISE = (
    "Strong composition takes the noise that it asks for at the target ε. Tighter accountants find that less "
    "was spent: the extra noise was unnecessary."
)


def show(page: ModelPage, done: Mapping[str, Finished]) -> None:
    """Show the table, and what weakens a guarantee."""
    table = spent_table(page, done)
    with layout.card("What was spent, and what it bought"):
        text_table(readable(table))
        unit = stored.store().data_row(next(iter(done.values())).request.data).unit
        st.markdown(f"Protected is **{layout.plain(unit)}**.")
        st.caption(
            "ε is computed from the ledger of what was really released, at the run's δ. Scores are of "
            "held-out records, which are public; training records are never scored."
        )
        if STRONG in done:
            st.caption(SAME_TRAINING if done[STRONG].request.get("epsilon") is None else _EXTRA_NOISE)
        csv_button(table, "summary")
        st.page_link(
            pages.page("runs"),
            label="Reports of these runs",
            query_params={"runs": ",".join(item.run.id for item in done.values())},
        )
        first = next(iter(done.values())).request
        if not stored.store().data_row(first.data).private:
            values = {"preset": pages.OWN_GRID, "model": page.task.name, "data": first.data}
            st.page_link(pages.page("frontier"), label="See what other ε would buy", query_params=values)
    cautions: dict[str, list[str]] = {}
    for method, item in done.items():
        if item.request.private and item.result["cautions"]:
            cautions.setdefault(" ".join(item.result["cautions"]), []).append(page.labels[method])
    if cautions:
        lines = [f"**{', '.join(labels)}**: {text}" for text, labels in cautions.items()]
        st.warning("  \n".join(lines), icon=":material/warning:")


def spent_table(page: ModelPage, done: Mapping[str, Finished]) -> pd.DataFrame:
    """One row for each run: plan, ε by the ledger (infinite without noise), held-out scores."""
    rows = []
    for method, item in done.items():
        plan, spent = item.result["plan"], item.result["epsilon"]
        tight = spent.get("pld", spent.get("pure"))
        rows.append(
            {
                "Method": page.labels[method],
                "Target ε": item.request.get("epsilon") or math.nan,
                "Spent ε, tight": math.inf if tight is None else tight,
                "Spent ε, moments": math.inf if tight is None else spent.get("moments"),
                "Spent ε, strong composition": math.inf if tight is None else spent.get("strong"),
                "δ": plan.get("delta", math.nan) if item.request.private else math.nan,
                "Noise σ": plan.get("noise_multiplier", math.nan),
                "Batch S": plan.get("expected_batch", math.nan),
                "Steps": item.result["releases"] if "steps" in plan else math.nan,
                **{name[:1].upper() + name[1:]: value for name, value in item.result["held_out"].items()},
                "Run": item.run.id,
            }
        )
    return pd.DataFrame(rows)


def readable(spent: pd.DataFrame) -> pd.DataFrame:
    """Return the table for people: short numbers, and methods side by side, which fits a narrow page."""
    writers: dict[str, Callable[[Any], str]] = {
        "Spent ε, tight": at_most,
        "Spent ε, moments": at_most,
        "Spent ε, strong composition": at_most,
        "Batch S": _counted,
        "Steps": _counted,
        "δ": lambda value: "–" if pd.isna(value) else brief(value),
        "Run": str,
    }
    rows = []
    for name in spent.columns.drop("Method"):
        write = writers.get(name, signed)
        rows.append([name, *(write(value) for value in spent[name])])
    return pd.DataFrame(rows, columns=["Quantity", *spent["Method"]])


def _counted(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"

"""What finished runs of a model page have spent, and what it bought."""

import math
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from dashboard import components, layout, library, pages
from dashboard.formats import brief, number
from dashboard.frontier import OWN
from dashboard.library import Finished
from dashboard.training import Bench
from vips_core.runs.tasks import STRONG


def show(bench: Bench, done: Mapping[str, Finished]) -> None:
    """Show the table, and what weakens a guarantee."""
    table = spent_table(bench, done)
    with layout.card("What was spent, and what it bought"):
        components.text_table(readable(table))
        st.caption(
            "ε is computed from the ledger of what was really released, at the run's δ. Scores are of "
            "held-out records, which are public; training records are never scored."
        )
        if STRONG in done:
            st.caption(
                "Strong composition takes the noise that it asks for at the target ε. Tighter accountants "
                "find that much less was spent: the rest of the noise was for nothing."
            )
        components.csv_button(table, "summary")
        first = next(iter(done.values())).request
        if not library.store().data_row(first.data).private:
            values = {"preset": OWN, "model": bench.model, "data": first.data}
            st.page_link(pages.page("frontier"), label="See what other ε would buy", query_params=values)
    cautions: dict[str, list[str]] = {}
    for method, item in done.items():
        if item.request.private and item.result["cautions"]:
            cautions.setdefault(" ".join(item.result["cautions"]), []).append(bench.labels[method])
    if cautions:
        told = [f"**{', '.join(labels)}**: {text}" for text, labels in cautions.items()]
        st.warning("  \n".join(told), icon=":material/warning:")


def spent_table(bench: Bench, done: Mapping[str, Finished]) -> pd.DataFrame:
    """One row for each run: plan, ε by the ledger (infinite without noise), held-out scores."""
    rows = []
    for method, item in done.items():
        plan, spent = item.result["plan"], item.result["epsilon"]
        tight = spent.get("pld", spent.get("pure"))
        rows.append(
            {
                "Method": bench.labels[method],
                "ε (tight)": math.inf if tight is None else tight,
                "ε (moments)": math.inf if tight is None else spent.get("moments"),
                "δ": plan["delta"],
                "Noise σ": plan["noise_multiplier"],
                "Batch S": plan["expected_batch"],
                "Steps": item.result["releases"],
                **{name[:1].upper() + name[1:]: value for name, value in item.result["held_out"].items()},
                "Run": item.run.id,
            }
        )
    return pd.DataFrame(rows)


def readable(spent: pd.DataFrame) -> pd.DataFrame:
    """Return the table for people: short numbers, and methods side by side, which fits a narrow page."""
    rows = []
    for name in spent.columns.drop("Method"):
        write = {"Batch S": _counted, "Steps": _counted, "δ": brief, "Run": str}.get(name, _short)
        rows.append([name, *(write(value) for value in spent[name])])
    return pd.DataFrame(rows, columns=["", *spent["Method"]])


def _counted(value: float) -> str:
    return f"{value:,.0f}"


def _short(value: float) -> str:
    return f"−{number(-value)}" if value < 0 else number(value)

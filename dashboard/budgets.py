"""Budgets of private data sets and the ledger behind them, on the Runs page."""

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import components, layout, library, session
from dashboard.charts import BLUE, NO_LEGEND, VERMILION, Figure, figure
from dashboard.formats import brief, number
from dashboard.layout import card, metric
from vips_core.runs.budget import Budget, Cap
from vips_core.runs.chain import LedgerRow
from vips_core.runs.rows import DataRow


def show() -> None:
    """Show what each private data set has spent, with its cap, and verify the ledger."""
    private = [row for row in library.store().data_sets() if row.private]
    if not private:
        with card("No private data set yet"):
            st.markdown(
                "Data that come with the project are public and need no budget. Upload your own on Topics, "
                "Risk or Images: it is private unless you say otherwise, and gets a cap."
            )
    for row in private:
        with card(layout.plain(row.name)):
            _budget(row)
    with card("The ledger", "Everything that was reserved and released, in a chain of hashes."):
        rows = library.store().ledger()
        if st.button("Verify", icon=":material/verified_user:", key="verify"):
            wrong = library.store().verify()
            told = verdict(wrong, len(rows))
            (st.error if wrong else st.success)(told)
        shown = ledger_table(rows)
        st.dataframe(shown, hide_index=True, height=min(360, 38 + 35 * max(1, len(shown))), alt="The ledger")
        components.csv_button(shown, "ledger")


def _budget(row: DataRow) -> None:
    found = library.store().budget(row.name)
    assert found.cap is not None  # a private data set cannot be registered without one
    unit = layout.plain(row.unit)
    st.caption(f"{row.records:,} records, {unit} each. All ε are at δ = {brief(found.cap.delta)}.")
    numbers = layout.narrow_columns(f"budget-{row.fingerprint[:8]}", 3)
    metric("ε spent", number(found.spent_epsilon), numbers[0])
    metric("ε reserved by live runs", number(found.reserved_epsilon), numbers[1])
    metric("ε left", number(found.left_epsilon), numbers[2])
    if found.history:
        alt = f"ε of all releases from {row.name} over time, with its cap."
        name = f"budget-{row.fingerprint[:8]}"
        components.chart(budget_figure(found), name, alt, lambda: budget_table(found))
    else:
        st.markdown("Nothing was released yet.")
    with st.expander("Change the cap", type="compact"):
        _cap(row)


def _cap(row: DataRow) -> None:
    assert row.cap is not None
    key = f"{row.fingerprint[:8]}:{row.cap.epsilon}:{row.cap.delta}"
    st.caption("A cap is a promise to the people in the data. The ledger keeps every change.")
    columns = layout.narrow_columns(f"cap-{row.fingerprint[:8]}", 3, vertical_alignment="bottom")
    epsilon = columns[0].number_input(
        "Cap on ε", 0.001, 1000.0, float(row.cap.epsilon), key=f"cap-epsilon:{key}"
    )
    delta = columns[1].number_input(
        "δ", 1e-15, 0.1, float(row.cap.delta), key=f"cap-delta:{key}", format="%g", step=1e-7
    )
    columns[2].button("Set the cap", key=f"cap-set:{key}", on_click=_set_cap, args=(row.name, epsilon, delta))


@session.whole
def _set_cap(name: str, epsilon: float, delta: float) -> None:
    try:
        library.store().set_cap(name, Cap(epsilon, delta))
    except ValueError as problem:
        session.complain(str(problem))


def budget_table(found: Budget) -> pd.DataFrame:
    """The history of a budget: when, which run, and ε of everything up to then."""
    rows = [(pd.Timestamp(moment, unit="s"), run, epsilon) for moment, run, epsilon in found.history]
    return pd.DataFrame(rows, columns=["Time (UTC)", "Run", "ε so far"])


def budget_figure(found: Budget) -> Figure:
    """ε of all releases so far against time, and the cap."""
    shown = budget_table(found)
    times = [moment.isoformat() for moment in shown["Time (UTC)"]]
    spent = {
        "type": "scatter", "mode": "lines+markers", "name": "Spent and reserved", "x": times,
        "y": shown["ε so far"].tolist(), "customdata": shown["Run"].tolist(),
        "line": {"color": BLUE, "width": 2.5, "shape": "hv"}, "marker": {"size": 8, "color": BLUE},
        "hovertemplate": "%{x}: ε = %{y:.3g} with run %{customdata}<extra></extra>",
    }  # fmt: skip
    assert found.cap is not None
    cap = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": found.cap.epsilon, "y1": found.cap.epsilon,
        "line": {"color": VERMILION, "width": 2, "dash": "dash"},
    }  # fmt: skip
    name = {
        "xref": "paper", "x": 0, "y": found.cap.epsilon, "text": f"Cap ε = {found.cap.epsilon:g}",
        "showarrow": False, "yanchor": "bottom", "xanchor": "left", "font": {"color": VERMILION},
    }  # fmt: skip
    top = 1.15 * max(found.cap.epsilon, *shown["ε so far"], 0)
    y = {"title": {"text": "ε at the cap's δ"}, "range": [0, top if math.isfinite(top) else 1]}
    x = {"title": {"text": "Time of reservation (UTC)"}}
    return figure(
        [spent], x, y, height=300, shapes=[cap], annotations=[name], showlegend=False, margin=NO_LEGEND
    )


def ledger_table(rows: Sequence[LedgerRow]) -> pd.DataFrame:
    """The ledger for people."""
    found = [
        {
            "Row": row.number,
            "Time (UTC)": pd.Timestamp(row.time, unit="s"),
            "What": {"data": "Registered", "cap": "Cap set", "reserve": "Reserved", "settle": "Settled"}[
                row.kind
            ],
            "Data": row.data,
            "Run": row.run or "–",
            "Content": _content(row),
            "Hash": row.hash[:12],
        }
        for row in rows
    ]
    return pd.DataFrame(found, columns=["Row", "Time (UTC)", "What", "Data", "Run", "Content", "Hash"])


def _content(row: LedgerRow) -> str:
    if row.kind == "cap":
        return f"ε = {row.content['epsilon']:g}, δ = {brief(row.content['delta'])}"
    if row.kind == "data":
        return f"{row.content['records']:,} records, {'private' if row.content['private'] else 'public'}"
    releases = [
        f"{count:,.0f} × (q = {rate:.3g}, σ = {noise:.3g})" for rate, noise, count in row.content["events"]
    ]
    return "; ".join(releases) or "nothing was released"


def verdict(wrong: Sequence[str], rows: int) -> str:
    """Say whether the ledger is whole."""
    if wrong:
        return " ".join(wrong)
    return f"The ledger is whole: all {rows:,} rows are there, and each follows from the one before it."

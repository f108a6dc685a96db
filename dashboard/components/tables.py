"""Tables: the numbers of a picture, short tables with sentences, and CSV files."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from dashboard.components import layout


def table_twin(name: str, alt: str, table: Callable[[], pd.DataFrame]) -> None:
    """Show the numbers of a picture as a table and CSV, when asked for."""
    twin = st.expander("As a table", key=f"table:{name}", on_change="rerun", type="compact")
    if twin.open:
        rows = table()
        with twin:
            st.dataframe(rows, hide_index=True, height=min(300, 38 + 35 * len(rows)), alt=alt)
            csv_button(rows, name)


def text_table(rows: pd.DataFrame) -> None:
    """Show a short table with sentences in it, which wrap."""
    st.table(rows, border="horizontal", hide_index=True)


def csv_button(rows: pd.DataFrame, name: str) -> None:
    """Offer a table as CSV."""
    layout.download_button(
        "Download CSV", lambda: rows.to_csv(index=False).encode(), f"{name}.csv", f"csv:{name}"
    )

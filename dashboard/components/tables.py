"""Tables: the numbers behind a chart, short tables of sentences, wide tables as lists, CSV files."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.components import layout
from vips_core.csv_text import to_csv


@dataclass(frozen=True)
class NarrowRow:
    """A table row on a narrow screen: a title, which may be a link, above the details."""

    title: str
    details: str
    link: str = ""
    marked: bool = False

    def drawn(self) -> str:
        """Return the row as HTML."""
        title = html.escape(self.title)
        current = ' aria-current="true"' if self.marked else ""
        name = f'<a href="{html.escape(self.link)}"{current}>{title}</a>' if self.link else f"<b>{title}</b>"
        return f"<li>{name}<span>{html.escape(self.details)}</span></li>"


def by_width(name: str, rows: Sequence[NarrowRow]) -> DeltaGenerator:
    """Return a container for a wide table, which these rows replace on narrow screens."""
    both = st.container(key=f"by-width-{name}")
    wide = both.container(key=f"wide-{name}")
    both.html(f'<ul class="vips-rows" tabindex="0">{"".join(row.drawn() for row in rows)}</ul>')
    return wide


def table_twin(name: str, alt: str, table: Callable[[], pd.DataFrame]) -> None:
    """Offer the numbers behind a chart as a table and CSV."""
    twin = st.expander("As a table", key=f"table:{name}", on_change="rerun", type="compact")
    if twin.open:
        rows = table()
        with twin:
            st.dataframe(rows, hide_index=True, height=min(300, 38 + 35 * len(rows)), alt=alt)
            csv_button(rows, name)


def text_table(rows: pd.DataFrame) -> None:
    """Show a short table whose sentences wrap."""
    st.table(rows, border="horizontal", hide_index=True)


def csv_button(rows: pd.DataFrame, name: str) -> None:
    """Offer a table as CSV."""
    layout.download_button("Download CSV", lambda: to_csv(rows), f"{name}.csv")

"""Data sets that share a budget by mistake: the form that separates them, on the Runs page."""

import streamlit as st

from dashboard import state, stored
from dashboard.views.runs import text
from vips_core.store.rows import DataRow


def show(row: DataRow) -> None:
    """Offer to separate a data set from those that it shares a budget with, if there are some."""
    linked = stored.store().linked(row.name)
    if not linked:
        return
    with st.expander("Separate from another data set", type="compact"):
        st.caption(text.SEPARATION_CAPTION)
        st.selectbox("Shares its budget with", linked, key=f"separate-from:{row.name}")
        st.text_input("Your name", max_chars=100, key=f"separate-by:{row.name}")
        st.text_input("Why", max_chars=500, key=f"separate-reason:{row.name}")
        st.button("Separate", key=f"separate:{row.name}", on_click=_separate, args=(row.name,))


def _separate(name: str) -> None:
    other, by, reason = (state.visit[f"separate-{what}:{name}"] for what in ("from", "by", "reason"))
    state.settle()
    try:
        stored.store().separate_data(name, [other], by=by, reason=reason)
    except ValueError as problem:
        state.complain(str(problem))

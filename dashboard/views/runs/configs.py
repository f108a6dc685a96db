"""Runs and sweeps from config files, on the Runs page."""

import streamlit as st

from dashboard import pages, state, stored
from dashboard.components import layout
from dashboard.components.inputs import start_button
from dashboard.components.layout import card
from dashboard.views.runs import data, text
from dashboard.views.runs.data import CHOSEN, HISTORY, PART
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.sweeps.job import submit_sweep


def show() -> None:
    """Show the form for a config, and the actions on a valid config."""
    with card("Run a config", text.CONFIG_CAPTION):
        uploaded = st.file_uploader("Config file", ["toml"], max_upload_size=1, key="config-file")
        typed = st.text_area("Or paste it here", height=220, key="config-text", max_chars=data.LARGEST_CONFIG)
        toml = typed if uploaded is None else uploaded.getvalue().decode("utf-8", errors="replace")
        if not toml.strip():
            return
        try:
            config = data.read_config(toml)
        except ValueError as problem:
            layout.problem(str(problem))
            return
        st.success(layout.plain(text.config(config)), icon=":material/check:")
        with st.container(horizontal=True, vertical_alignment="center"):
            start_button("Submit", "submit", _submit, toml, width="content")
            if isinstance(config, Request):
                page = pages.page(pages.of_model(config.model))
                st.page_link(page, label="Open on its page", query_params=data.page_values(config))


def _submit(toml: str) -> None:
    """Queue a run or sweep and show it in the history."""
    with state.complaining():
        config = data.read_config(toml)
        if isinstance(config, Request):
            run_id = stored.start(submit, config)
        else:
            run_id = stored.start(submit_sweep, config.to_mapping())
        state.change(CHOSEN.name, run_id)
        state.put(PART.name, HISTORY)

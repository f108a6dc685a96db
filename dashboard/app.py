"""Router of VIPS Explorer."""

import streamlit as st

from dashboard import components, library, pages, session
from vips_core.runs import supervisor

ALL = {name: pages.page(name) for name in pages.TITLES}


def home() -> None:
    """Lead from the bare address to a page, so that each has an address that stays; values are for Plan."""
    given = st.query_params.to_dict()
    st.switch_page(ALL["plan" if given else "start"], query_params=given)


st.set_page_config(page_title="VIPS Explorer", page_icon=components.MARK, layout="wide")
st.logo(components.LOGO, icon_image=components.MARK, size="large")
chosen = st.navigation([st.Page(home, default=True, visibility="hidden"), *ALL.values()], position="top")
session.enter(chosen.url_path)
try:
    library.store()
    supervisor.limit()
except ValueError as problem:  # the store or a setting cannot be used, and no page works without it
    components.problem(str(problem))
    st.stop()
chosen.run()

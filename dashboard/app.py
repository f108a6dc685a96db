"""Router of VIPS Explorer."""

import streamlit as st

from dashboard import components, library, pages, session
from vips_core.runs import supervisor

ALL = {name: pages.page(name) for name in pages.TITLES}

st.set_page_config(page_title="VIPS Explorer", page_icon=components.MARK, layout="wide")
st.logo(components.LOGO, icon_image=components.MARK, size="large")
chosen = st.navigation(list(ALL.values()), position="top")
if chosen == ALL["start"] and st.query_params:
    st.switch_page(ALL["plan"], query_params=st.query_params.to_dict())  # values without a page are a plan's
session.enter(chosen.url_path)
try:
    library.store()
    supervisor.limit()
except ValueError as problem:  # the store or a setting cannot be used, and no page works without it
    components.problem(str(problem))
    st.stop()
chosen.run()

"""Router of VIPS Explorer."""

import streamlit as st

from dashboard import pages, state
from dashboard.components import layout

ALL = {name: pages.page(name) for name in pages.names()}

st.set_page_config(page_title="VIPS Explorer", page_icon=layout.MARK, layout="wide")
st.logo(layout.LOGO, icon_image=layout.MARK, size="large")
chosen = st.navigation(list(ALL.values()), position="top")
if chosen == ALL["start"] and st.query_params:
    st.switch_page(ALL["plan"], query_params=st.query_params.to_dict())  # values without a page are a plan's
state.enter(chosen.url_path)
st.html(layout.STYLE)
with st.container(horizontal=True, key="pages"):  # shown where the bar on top is too narrow for them
    for page in ALL.values():
        st.page_link(page)
if chosen != ALL["start"]:  # Start checks by itself, after drawing what needs no core
    layout.check_store()
pages.load_ahead()
layout.draw(chosen.run)

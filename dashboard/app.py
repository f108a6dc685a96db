"""Router of VIPS Explorer."""

import streamlit as st

from dashboard import components
from dashboard.views import plan

PLAN = st.Page(plan.show, title="Plan", icon=":material/tune:", url_path="plan")


def home() -> None:
    """Lead from the bare address to the first page, so that every page has an address that stays."""
    st.switch_page(PLAN, query_params=st.query_params.to_dict())


st.set_page_config(page_title="VIPS Explorer", page_icon=components.MARK, layout="wide")
st.logo(components.LOGO, icon_image=components.MARK, size="large")
st.navigation([st.Page(home, default=True, visibility="hidden"), PLAN], position="top").run()

"""The Streamlit pages of VIPS Explorer."""

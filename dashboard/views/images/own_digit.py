"""A digit of the visitor's own, drawn or uploaded, and its reconstruction by each method."""

from collections.abc import Mapping

import streamlit as st

from dashboard.components import layout
from dashboard.stored import Finished
from dashboard.views.images import data, digit_canvas, pixels, text


def show(runs: Mapping[str, Finished], shape: tuple[int, int]) -> None:
    """Show the board, the upload, and what the models make of the digit."""
    with layout.card("Draw or upload a digit", text.OWN_CAPTION):
        board, seen = st.columns([2, 3], gap="medium")
        with board:
            ink = digit_canvas.canvas(shape)
        with seen:
            file = st.file_uploader(
                "Or upload a PNG or JPEG image",
                ["png", "jpg", "jpeg"],
                key="digit",
                max_upload_size=digit_canvas.MEGABYTES,
                help="While there is one, the drawing is not shown.",
            )
            try:
                ink = ink if file is None else digit_canvas.read(file.getvalue())
                if ink is None:
                    st.caption("Draw something, and each method's reconstruction appears here.")
                else:
                    digit = digit_canvas.as_digit(ink, shape)
                    st.html(pixels.tiles(data.of_digit(runs, digit), large=True))
            except ValueError as problem:
                layout.problem(str(problem))

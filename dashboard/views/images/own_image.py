"""An image of the visitor's own, drawn or uploaded, and its reconstruction by each method."""

from collections.abc import Mapping

import streamlit as st

from dashboard.components import layout
from dashboard.stored import DataSet, Finished
from dashboard.views.images import board, data, pixels, text
from vips_core import Images
from vips_core.kernels import Array

DIGITS = "mnist"  # its images were cropped, scaled and centred, so the visitor's is, too


def show(runs: Mapping[str, Finished], data_set: DataSet) -> None:
    """Show the board, the upload, and the reconstructions."""
    digits, shape = data_set.name == DIGITS, data_set.train.shape
    with layout.card("Draw or upload an image", text.OWN_DIGIT if digits else text.OWN_IMAGE):
        drawing, seen = st.columns([2, 3], gap="medium")
        with drawing:
            ink = board.canvas(shape)
        with seen:
            file = st.file_uploader(
                "Or upload a PNG or JPEG image",
                ["png", "jpg", "jpeg"],
                key="own-image",
                max_upload_size=board.MEGABYTES,
                help="An upload takes the place of the drawing.",
            )
            try:
                image = _prepared(ink, None if file is None else file.getvalue(), shape, digits)
                if image is None:
                    st.caption("Draw something to see how each method reconstructs it.")
                else:
                    st.html(pixels.tiles(data.of_own(runs, image), large=True))
            except ValueError as problem:
                layout.problem(str(problem))


def _prepared(ink: Array | None, upload: bytes | None, shape: tuple[int, int], digits: bool) -> Images | None:
    """Return the upload, or else the drawing, prepared like training images; None without either."""
    if upload is not None:
        grey = board.read(upload)
        return board.as_digit(board.on_paper(grey), shape) if digits else board.as_image(grey, shape)
    if ink is not None:
        return board.as_digit(ink, shape) if digits else board.as_image(ink, shape)
    return None

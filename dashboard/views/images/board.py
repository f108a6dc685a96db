"""The image that a visitor draws or uploads, never stored or sent on, and its reconstructions."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image, ImageOps, UnidentifiedImageError

from dashboard.components import layout
from dashboard.stored import DataSet, Finished
from dashboard.views.images import data, pixels, text
from vips_core import Images
from vips_core.kernels import Array

DIGITS = "mnist"  # a data set of cropped, scaled and centred images: the visitor's is prepared like them
BOX = 20 / 28  # share of the image's side that a digit fills, as in MNIST
LARGEST = 25_000_000  # most pixels of an upload, checked before it is decoded
MEGABYTES = 20
EDGE = 0.05  # width of the border that shows the background, as a share of the image's side


def show(runs: Mapping[str, Finished], data_set: DataSet) -> None:
    """Show the board, the upload, and the reconstructions."""
    digits, shape = data_set.name == DIGITS, data_set.train.shape
    with layout.card("Draw or upload an image", text.OWN_DIGIT if digits else text.OWN_IMAGE):
        drawing, seen = st.columns([2, 3], gap="medium")
        with drawing:
            ink = canvas(shape)
        with seen:
            file = st.file_uploader(
                "Or upload a PNG or JPEG image",
                ["png", "jpg", "jpeg"],
                key="own-image",
                max_upload_size=MEGABYTES,
                help="An upload replaces the drawing.",
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
    """Return the upload or, without one, the drawing, prepared like training images; None without either."""
    image = ink if upload is None else read_upload(upload)
    if image is None:
        return None
    if not digits:
        return as_image(image, shape)
    return as_digit(image if upload is None else ink_of_writing(image), shape)


def canvas(shape: tuple[int, int]) -> Array | None:
    """Show a board to draw on; return the drawing as zeros and ones, None while it is empty."""
    height, width = shape
    size = {"height": height, "width": width}
    board = _component()(key=f"board:{height}x{width}", data=size, on_ink_change=lambda: None)
    return parse_drawing(board.get("ink"), shape)


def parse_drawing(text: Any, shape: tuple[int, int]) -> Array | None:
    """Read a drawing sent by the browser; None unless it has one 0 or 1 for each pixel, and some ink."""
    size = shape[0] * shape[1]
    if not isinstance(text, str) or not re.fullmatch(f"[01]{{{size}}}", text) or "1" not in text:
        return None
    return np.array([int(digit) for digit in text], np.float64).reshape(shape)


def read_upload(content: bytes) -> Array:
    """Return an uploaded image as greys from 0 to 1; `ValueError` with one sentence for other files."""
    try:
        with Image.open(io.BytesIO(content), formats=["PNG", "JPEG"]) as image:
            if image.width * image.height > LARGEST:
                raise ValueError(
                    f"the image must have at most {LARGEST:,} pixels, got {image.width:,} × {image.height:,}"
                )
            upright = ImageOps.exif_transpose(image).convert("RGBA")
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError):
        raise ValueError("the file must be a PNG or JPEG image, got something else") from None
    paper = Image.new("RGBA", upright.size, "white")
    return np.asarray(Image.alpha_composite(paper, upright).convert("L"), np.float64) / 255


def ink_of_writing(grey: Array) -> Array:
    """Return ink from 0 to 1, whether the writing or its background is lighter."""
    low, high = float(grey.min()), float(grey.max())
    if high - low < 0.1:
        raise ValueError("the image must show a digit, but all its pixels are alike")
    ink = (grey - low) / (high - low)
    return 1 - ink if np.median(_border(ink)) > 0.5 else ink


def as_image(grey: Array, shape: tuple[int, int]) -> Images:
    """Return greys or ink scaled to the model's shape; light pixels are 1."""
    whole = Image.fromarray((255 * grey).astype(np.uint8)).resize(shape[::-1], Image.Resampling.BOX)
    return Images.from_images(np.asarray(whole)[None], 127)


def as_digit(ink: Array, shape: tuple[int, int]) -> Images:
    """Return ink prepared like MNIST: cropped, scaled to the model's shape, centred by mass."""
    height, width = shape
    dark = ink >= 0.5
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    cropped = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = BOX * min(height / cropped.shape[0], width / cropped.shape[1])
    size = max(1, round(cropped.shape[1] * scale)), max(1, round(cropped.shape[0] * scale))
    small = np.asarray(Image.fromarray((255 * cropped).astype(np.uint8)).resize(size, Image.Resampling.BOX))
    centre = [
        float((small.sum(axis=1 - axis) @ np.arange(small.shape[axis])) / small.sum()) for axis in (0, 1)
    ]
    page = np.zeros(shape)
    top, left = (
        int(np.clip(round((whole - 1) / 2 - middle), 0, whole - length))
        for whole, middle, length in zip(shape, centre, small.shape, strict=True)
    )
    page[top : top + small.shape[0], left : left + small.shape[1]] = small / 255
    return Images.from_images(page[None], min(0.5, float(page.max()) / 2))


def _border(ink: Array) -> Array:
    edge = max(1, round(EDGE * min(ink.shape)))
    sides = (ink[:edge], ink[-edge:], ink[:, :edge], ink[:, -edge:])
    return np.concatenate([side.ravel() for side in sides])


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    html, css, js = (
        Path(__file__).with_suffix(f".{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    return st.components.v2.component("vips_board", html=html, css=css, js=js)

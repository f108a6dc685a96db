"""Small images as HTML and PNG: ink over a transparent background, sharp on light and dark pages."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image
from PIL.ImageColor import getrgb

from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, VERMILION

STYLE = Path(__file__).with_name("pixels.css")
_SCALE = 6  # pixels of a download for each pixel of an image
_GROUND = (255, 255, 255)  # background of downloads


@dataclass(frozen=True)
class Picture:
    """An image: its colours, (height, width, 4), its alternative text and its caption."""

    rgba: Array
    alt: str
    caption: str = ""


class Row(NamedTuple):
    """A row of pictures, with its name and a note."""

    name: str
    note: str
    pictures: Sequence[Picture]


def ink(shares: Array, alt: str, caption: str = "", truth: Array | None = None) -> Picture:
    """Draw ink in blue, stronger where it is more likely; given the truth, wrong pixels in vermilion."""
    rgba = np.empty((*shares.shape, 4), np.uint8)
    rgba[..., :3] = getrgb(BLUE)
    rgba[..., 3] = np.rint(255 * shares)
    if truth is not None:
        wrong = (shares >= 0.5) != (truth >= 0.5)
        rgba[wrong, :3] = getrgb(VERMILION)
        rgba[wrong, 3] = np.where(shares[wrong] >= 0.5, 255, 130)  # extra ink, missing ink
    return Picture(rgba, alt, caption)


def weights(values: Array, largest: float, alt: str, caption: str = "") -> Picture:
    """Draw weights that add ink in blue, weights that remove ink in vermilion."""
    rgba = np.empty((*values.shape, 4), np.uint8)
    rgba[..., :3] = np.where(values[..., None] > 0, getrgb(BLUE), getrgb(VERMILION))
    rgba[..., 3] = np.rint(255 * np.clip(np.abs(values) / largest, 0, 1))
    return Picture(rgba, alt, caption)


def table(rows: Sequence[Row]) -> str:
    """Return rows of equal length as an HTML table."""
    lines = [
        f'<tr><th scope="row">{html.escape(name)}<small>{html.escape(note)}</small></th>'
        + "".join(f"<td>{_img(picture)}</td>" for picture in pictures)
        + "</tr>"
        for name, note, pictures in rows
    ]
    columns = max(len(pictures) for _, _, pictures in rows)
    return f'<table class="pixels" style="--columns: {columns}">{"".join(lines)}</table>'


def tiles(pictures: Sequence[Picture], large: bool = False) -> str:
    """Return pictures as HTML that wraps to the width of the page."""
    figures = [
        f"<figure>{_img(picture)}<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
        for picture in pictures
    ]
    return f'<div class="tiles{" large" if large else ""}">{"".join(figures)}</div>'


def sheet(rows: Sequence[Row]) -> bytes:
    """Return rows of pictures as a PNG on white, for a paper or a slide."""
    gap = 2
    grid = [row.pictures for row in rows]
    height, width = grid[0][0].rgba.shape[:2]
    size = (max(map(len, grid)) * (width + gap) + gap, len(grid) * (height + gap) + gap)
    whole = Image.new("RGB", size, _GROUND)
    for i, pictures in enumerate(grid):
        for j, picture in enumerate(pictures):
            image = Image.fromarray(picture.rgba)
            whole.paste(image, (gap + j * (width + gap), gap + i * (height + gap)), image)
    return _png(whole.resize((_SCALE * size[0], _SCALE * size[1]), Image.Resampling.NEAREST))


def _img(picture: Picture) -> str:
    data = base64.b64encode(_png(Image.fromarray(picture.rgba))).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{html.escape(picture.alt)}">'


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()

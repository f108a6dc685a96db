"""Small images as pixel art that reads on light and dark: ink over a clear ground, scaled without blur."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from vips_core.reports.figures import BLUE, VERMILION, Array

STYLE = """<style>
.pixels { border-collapse: separate; border-spacing: 4px; width: 100%; table-layout: fixed; }
.pixels th { font-weight: 600; text-align: left; width: 9.5rem; font-size: 0.875rem; line-height: 1.3;
  padding-right: 0.5rem; vertical-align: middle; overflow-wrap: break-word; }
.pixels th small { font-weight: 400; opacity: 0.75; display: block; font-size: 0.8rem; }
.pixels td { padding: 0; vertical-align: middle; }
.pixels img, .tiles img { image-rendering: pixelated; width: 100%; display: block; border-radius: 4px;
  background: rgba(127, 138, 149, 0.13); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(3.6rem, 1fr)); gap: 6px; }
.tiles figure { margin: 0; }
.tiles figcaption { font-size: 0.75rem; opacity: 0.8; text-align: center; line-height: 1.3; }
.large { grid-template-columns: repeat(auto-fill, minmax(5.6rem, 1fr)); gap: 10px; }
.large figcaption { font-size: 0.8rem; margin-top: 4px; opacity: 1; }
@media (max-width: 1000px) {
  .pixels tbody { display: block; }
  .pixels tr { display: grid; grid-template-columns: repeat(var(--columns), 1fr); gap: 3px; }
  .pixels th { grid-column: 1 / -1; width: auto; padding-top: 0.4rem; }
  .pixels th small { display: inline; margin-left: 0.6rem; }
}
</style>"""
_SCALE = 6  # of downloads
_GROUND = (255, 255, 255)


@dataclass(frozen=True)
class Picture:
    """Colours of an image, (height, width, 4), and what it shows in words."""

    rgba: Array
    alt: str
    caption: str = ""


def ink(shares: Array, alt: str, caption: str = "", truth: Array | None = None) -> Picture:
    """Blue where there is ink, the stronger the likelier; with the truth, wrong pixels are vermilion."""
    rgba = np.empty((*shares.shape, 4), np.uint8)
    rgba[..., :3] = _rgb(BLUE)
    rgba[..., 3] = np.rint(255 * shares)
    if truth is not None:
        wrong = (shares >= 0.5) != (truth >= 0.5)
        rgba[wrong, :3] = _rgb(VERMILION)
        rgba[wrong, 3] = np.where(shares[wrong] >= 0.5, 255, 130)  # ink too much, and ink that is missing
    return Picture(rgba, alt, caption)


def weights(values: Array, largest: float, alt: str, caption: str = "") -> Picture:
    """Blue where a hidden unit adds ink, vermilion where it takes ink away."""
    rgba = np.empty((*values.shape, 4), np.uint8)
    rgba[..., :3] = np.where(values[..., None] > 0, _rgb(BLUE), _rgb(VERMILION))
    rgba[..., 3] = np.rint(255 * np.clip(np.abs(values) / largest, 0, 1))
    return Picture(rgba, alt, caption)


def rows(named: Sequence[tuple[str, str, Sequence[Picture]]]) -> str:
    """Return rows of pictures as HTML: each with a name, a note, and as many pictures as the others."""
    lines = [
        f'<tr><th scope="row">{html.escape(name)}<small>{html.escape(note)}</small></th>'
        + "".join(f"<td>{_img(picture)}</td>" for picture in pictures)
        + "</tr>"
        for name, note, pictures in named
    ]
    columns = max(len(pictures) for _, _, pictures in named)
    return f'{STYLE}<table class="pixels" style="--columns: {columns}">{"".join(lines)}</table>'


def tiles(pictures: Sequence[Picture], large: bool = False) -> str:
    """Return pictures as HTML, as many beside each other as there is room for."""
    figures = [
        f"<figure>{_img(picture)}<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
        for picture in pictures
    ]
    return f'{STYLE}<div class="tiles{" large" if large else ""}">{"".join(figures)}</div>'


def sheet(grid: Sequence[Sequence[Picture]]) -> bytes:
    """Return rows of pictures as one PNG on white, for a paper or a slide."""
    gap = 2
    height, width = grid[0][0].rgba.shape[:2]
    size = (max(map(len, grid)) * (width + gap) + gap, len(grid) * (height + gap) + gap)
    whole = Image.new("RGB", size, _GROUND)
    for i, row in enumerate(grid):
        for j, picture in enumerate(row):
            part = Image.fromarray(picture.rgba)
            whole.paste(part, (gap + j * (width + gap), gap + i * (height + gap)), part)
    return _png(whole.resize((_SCALE * size[0], _SCALE * size[1]), Image.Resampling.NEAREST))


def _img(picture: Picture) -> str:
    data = base64.b64encode(_png(Image.fromarray(picture.rgba))).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{html.escape(picture.alt)}">'


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)

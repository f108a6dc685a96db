"""A digit that the visitor draws or uploads: it stays in the visit, and is neither stored nor sent on."""

import io
import re
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image, ImageOps, UnidentifiedImageError

from vips_core import BinaryRows
from vips_core.reports.figures import Array

BOX = 20 / 28  # of an image's side that a digit fills, as in MNIST
LARGEST = 25_000_000  # pixels of an upload, checked before it is decoded
MEGABYTES = 20
EDGE = 0.05  # of a photograph's side that tells its background

_HTML = """
<div class="board">
  <canvas tabindex="0" role="img" aria-describedby="hint"></canvas>
  <div class="bar"><button type="button">Clear</button><span id="hint">Draw with the pointer, or with arrow
  keys and Space.</span></div>
  <span class="quiet" aria-live="polite"></span>
</div>
"""
_CSS = """
.board { width: min(100%, 17rem); font-family: var(--st-font); color: var(--st-text-color); }
canvas { width: 100%; aspect-ratio: 1; border: 1px solid var(--st-border-color); border-radius: 8px;
  background: rgba(127, 138, 149, 0.13); touch-action: none; cursor: crosshair; display: block;
  image-rendering: pixelated; box-sizing: border-box; }
canvas:focus-visible { outline: 3px solid var(--st-primary-color); outline-offset: 2px; }
.bar { display: flex; align-items: center; gap: 0.75rem; margin-top: 0.5rem; font-size: 0.8rem; }
button { font: inherit; font-size: 0.875rem; color: inherit; background: transparent; cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: 8px; padding: 0.3rem 0.9rem; }
button:hover, button:focus-visible { border-color: var(--st-primary-color); color: var(--st-primary-color); }
.quiet { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""
# The drawing lives in the browser; it is sent when the pointer is lifted, as one 0 or 1 for each pixel.
_JS = """
export default function ({ parentElement, data, setStateValue }) {
  const canvas = parentElement.querySelector("canvas");
  if (canvas.drawing) { canvas.send = (ink) => setStateValue("ink", ink); return; }
  const { height, width } = data;
  const ink = new Uint8Array(height * width), cell = 10, radius = 1.25;
  const brush = canvas.getContext("2d"), told = parentElement.querySelector(".quiet");
  const cursor = { row: height >> 1, column: width >> 1, shown: false };
  let last = null;
  canvas.drawing = true;
  canvas.width = width * cell;
  canvas.height = height * cell;
  canvas.style.aspectRatio = `${width} / ${height}`;
  canvas.setAttribute("aria-label", `Drawing of ${height} by ${width} pixels`);
  canvas.send = (text) => setStateValue("ink", text);

  const show = () => {
    brush.clearRect(0, 0, canvas.width, canvas.height);
    brush.fillStyle = "#1F83C4";
    ink.forEach((on, i) => {
      if (on) brush.fillRect((i % width) * cell, Math.floor(i / width) * cell, cell, cell);
    });
    if (cursor.shown) {
      brush.strokeStyle = "#D55E00";
      brush.lineWidth = 2;
      brush.strokeRect(cursor.column * cell, cursor.row * cell, cell, cell);
    }
  };
  const dot = (x, y) => {
    for (let row = 0; row < height; row++)
      for (let column = 0; column < width; column++)
        if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= radius) ink[row * width + column] = 1;
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * width, (event.clientY - box.top) / box.height * height];
  };
  const stroke = (event) => {
    const [x, y] = place(event), [fromX, fromY] = last ?? [x, y];
    const steps = Math.max(1, Math.ceil(4 * Math.hypot(x - fromX, y - fromY)));
    for (let i = 0; i <= steps; i++) dot(fromX + (x - fromX) * i / steps, fromY + (y - fromY) * i / steps);
    last = [x, y];
    show();
  };
  const finish = () => canvas.send(ink.join(""));

  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    cursor.shown = false;
    stroke(event);
  };
  canvas.onpointermove = (event) => { if (last) stroke(event); };
  canvas.onpointerup = canvas.onpointercancel = () => { if (last) { last = null; finish(); } };
  canvas.onblur = () => { cursor.shown = false; show(); };
  canvas.onkeydown = (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      cursor.row = Math.min(height - 1, Math.max(0, cursor.row + down));
      cursor.column = Math.min(width - 1, Math.max(0, cursor.column + right));
    } else if (event.key === " ") {
      ink[cursor.row * width + cursor.column] ^= 1;
      finish();
    } else return;
    event.preventDefault();
    cursor.shown = true;
    const on = ink[cursor.row * width + cursor.column] ? "ink" : "empty";
    told.textContent = `Row ${cursor.row + 1}, column ${cursor.column + 1}: ${on}`;
    show();
  };
  parentElement.querySelector("button").onclick = () => { ink.fill(0); show(); finish(); };
}
"""


def canvas(shape: tuple[int, int]) -> Array | None:
    """Show a board to draw on; return the ink as an image of zeros and ones, None while there is none."""
    height, width = shape
    board = _component()
    found = board(
        key=f"board:{height}x{width}", data={"height": height, "width": width}, on_ink_change=lambda: None
    )
    return parse(found.get("ink"), shape)


def parse(text: Any, shape: tuple[int, int]) -> Array | None:
    """Read what a browser sent: anything but one 0 or 1 for each pixel is nothing."""
    size = shape[0] * shape[1]
    if not isinstance(text, str) or not re.fullmatch(f"[01]{{{size}}}", text) or "1" not in text:
        return None
    return np.array([int(digit) for digit in text], np.float64).reshape(shape)


def read(content: bytes) -> Array:
    """Return an uploaded image as ink from 0 to 1; `ValueError` with one sentence where it is none."""
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
    grey = np.asarray(Image.alpha_composite(paper, upright).convert("L"), np.float64) / 255
    low, high = float(grey.min()), float(grey.max())
    if high - low < 0.1:
        raise ValueError("the image must show a digit, but all its pixels are alike")
    ink = (grey - low) / (high - low)
    return 1 - ink if np.median(_border(ink)) > 0.5 else ink


def as_digit(ink: Array, shape: tuple[int, int]) -> BinaryRows:
    """Return ink as one image of the model's shape, prepared like MNIST: cropped, scaled, centred by mass."""
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
        int(np.clip(round((whole - 1) / 2 - middle), 0, whole - part))
        for whole, middle, part in zip(shape, centre, small.shape, strict=True)
    )
    page[top : top + small.shape[0], left : left + small.shape[1]] = small / 255
    return BinaryRows.from_images(page[None], min(0.5, float(page.max()) / 2))


def _border(ink: Array) -> Array:
    edge = max(1, round(EDGE * min(ink.shape)))
    return np.concatenate([part.ravel() for part in (ink[:edge], ink[-edge:], ink[:, :edge], ink[:, -edge:])])


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component("vips_board", html=_HTML, css=_CSS, js=_JS)

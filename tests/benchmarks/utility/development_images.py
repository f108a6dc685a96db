"""Load sets of binary images to develop on: Pillow draws them from the packages in VIPS_BENCH_DATA's folder.

- `strokes 32` and `strokes 33`: the same Chinese characters in brush strokes, of 32 × 32 and 33 × 32 pixels;
- `photographs`: 64 × 48 rectangles of photographs, bright above the rectangle's median;
- `letters`: Latin letters and digits of 20 × 20 pixels in about a hundred fonts.
"""

import functools
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tests.benchmarks.utility.fetch import folder
from tests.benchmarks.utility.images import TEST_SHARE
from vips_core.records import Images

CHARACTERS, RECTANGLES, LETTERS = 8_000, 6_000, 6_000
SQUARE, TOP = 1024, 900  # a character's square in the package: left edge 0, top edge 900
BRUSH = 2  # pixels
TALL, WIDE = 64, 48
LONGER_SIDE = 800  # pixels to which a photograph is scaled
LETTER, LETTER_SIZE = 20, 18
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
FONTS = (
    "dejavu-core",
    "dejavu-extra",
    "lato",
    "liberation",
    "linuxlibertine",
    "roboto-unhinted",
    "urw-base35",
)
WITHOUT_LETTERS = ("D050000L", "StandardSymbols", "Keyboard", "Initials")


@functools.lru_cache(1)
def load(name: str) -> Images:
    """Return a set of images by its name in `NAMES`."""
    return SOURCES[name]()


def split(name: str, seed: int) -> tuple[Images, Images]:
    """Return (train, test) of a set, another split for every seed."""
    return load(name).split(TEST_SHARE, seed)


def strokes(rows: int, columns: int) -> Images:
    """Characters, each stroke along its middle."""
    paths = sorted((folder("hanzi-writer-data") / "package").glob("?.json"))
    paths = random.Random(0).sample(paths, CHARACTERS)
    return Images.from_images(np.array([_character(path, rows, columns) for path in paths]), threshold=0.5)


def _character(path: Path, rows: int, columns: int) -> np.ndarray:
    image = Image.new("1", (columns, rows))
    draw = ImageDraw.Draw(image)
    for stroke in json.loads(path.read_text(encoding="utf-8"))["medians"]:
        points = [(x / SQUARE * columns, (TOP - y) / SQUARE * rows) for x, y in stroke]
        draw.line(points, fill=1, width=BRUSH)
    return np.array(image, float)


def photographs() -> Images:
    """Rectangles at random places, the same number of each photograph."""
    packages = [folder(f"lomiri-wallpapers-{version}") for version in ("16.04", "20.04")]
    files = [path for package in packages for path in sorted(package.rglob("*.jpg"))]
    rng = np.random.default_rng(0)
    rectangles = []
    for path in files:
        image = Image.open(path).convert("L")
        image.thumbnail((LONGER_SIDE, LONGER_SIDE))
        grey = np.array(image, float)
        for _ in range(RECTANGLES // len(files)):
            i, j = rng.integers(grey.shape[0] - TALL), rng.integers(grey.shape[1] - WIDE)
            rectangles.append(grey[i : i + TALL, j : j + WIDE])
    return above_median(np.array(rectangles))


def above_median(grey: np.ndarray) -> Images:
    """Make the brighter half of each image's pixels bright."""
    return Images.from_images(grey > np.median(grey, axis=(1, 2), keepdims=True), threshold=0.5)


def letters() -> Images:
    """Letters and digits in fonts of several styles."""
    files = [path for name in FONTS for path in sorted(folder(f"fonts-{name}").rglob("*.[ot]tf"))]
    fonts = [path for path in files if not any(part in path.name for part in WITHOUT_LETTERS)]
    drawn = [(font, letter) for font in fonts for letter in ALPHABET]
    return glyphs(random.Random(0).sample(drawn, LETTERS), LETTER, LETTER_SIZE)


def glyphs(drawn: Sequence[tuple[Path, str]], pixels: int, size: int) -> Images:
    """Draw one character of a font in the middle of each square."""
    fonts = {path: ImageFont.truetype(path, size) for path in {path for path, _ in drawn}}
    images = []
    for path, character in drawn:
        image = Image.new("L", (pixels, pixels))
        ImageDraw.Draw(image).text((pixels / 2, pixels / 2), character, 255, fonts[path], anchor="mm")
        images.append(np.array(image) / 255)
    return Images.from_images(np.array(images), threshold=0.35)  # thin strokes are grey


SOURCES = {
    "strokes 32": lambda: strokes(32, 32),
    "strokes 33": lambda: strokes(33, 32),
    "photographs": photographs,
    "letters": letters,
}
NAMES = tuple(SOURCES)

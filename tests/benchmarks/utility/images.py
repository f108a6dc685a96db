"""Load the utility bench's sets of binary images, of which only MNIST is committed.

MNIST (CC BY-SA 3.0) is shipped as a sample and `generated` is drawn by our generator. The others:

- `digits`: scikit-learn's 8 × 8 digits (BSD), dark from half of the range;
- `patches`: 16 × 16 squares of scikit-learn's two photographs (CC BY), bright above the square's median;
- `glyphs`: GNU Unifont's 16 × 16 characters (GPL 2+ with font exception, OFL), from the Debian package
  `unifont`, which `apt-get download` fetches; the Korean syllables, which look alike, are left out.
"""

import functools
import io
import lzma
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import sample_data
from sample_data import generate
from vips_core.records import Images

TEST_SHARE = 0.15
PATCH, GLYPH = 16, 16
PATCHES, DRAWN = 20_000, 20_000
SYLLABLES = range(0xAC00, 0xD7A4)


@functools.lru_cache(1)
def load(name: str) -> Images:
    """Return a set of images by its name in `NAMES`."""
    return SOURCES[name]()


def split(name: str, seed: int) -> tuple[Images, Images]:
    """Return (train, test) of a set, another split for every seed."""
    return load(name).split(TEST_SHARE, seed)


def digits() -> Images:
    """1,797 digits of 8 × 8 pixels."""
    from sklearn.datasets import load_digits

    return Images.from_images(load_digits().images / 16, threshold=0.5)


def patches() -> Images:
    """Squares at random places of two photographs."""
    from sklearn.datasets import load_sample_images

    rng = np.random.default_rng(0)
    squares = []
    for photograph in load_sample_images().images:
        grey = photograph.mean(axis=2)
        rows = rng.integers(grey.shape[0] - PATCH, size=PATCHES // 2)
        columns = rng.integers(grey.shape[1] - PATCH, size=PATCHES // 2)
        squares += [grey[i : i + PATCH, j : j + PATCH] for i, j in zip(rows, columns, strict=True)]
    squares = np.array(squares)
    return Images.from_images(squares > np.median(squares, axis=(1, 2), keepdims=True), threshold=0.5)


def glyphs() -> Images:
    """Characters of 16 × 16 pixels, mostly Chinese."""
    pixels = []
    for line in unifont().splitlines():
        code, _, bits = line.partition(":")
        if len(bits) == GLYPH * GLYPH // 4 and int(code, 16) not in SYLLABLES:
            pixels.append(np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8)))
    return Images.from_images(np.array(pixels).reshape(-1, GLYPH, GLYPH), threshold=0.5)


def unifont() -> str:
    """Return the font's file of hexadecimal bitmaps, from the Debian package."""
    if not shutil.which("apt-get"):
        raise ValueError("the images `glyphs` need Debian's apt-get")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "unifont"], cwd=folder, check=True, capture_output=True)
        (package,) = Path(folder).glob("unifont_*.deb")
        unpack = ["ar", "p", package.name, "data.tar.xz"]
        archive = subprocess.run(unpack, cwd=folder, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(archive.stdout))) as files:
        bitmaps = files.extractfile("./usr/share/unifont/unifont.hex")
        assert bitmaps is not None
        return bitmaps.read().decode()


SOURCES = {
    "mnist": lambda: sample_data.load("mnist"),
    "digits": digits,
    "generated": lambda: generate.digits(DRAWN, seed=0)[0],
    "patches": patches,
    "glyphs": glyphs,
}
NAMES = tuple(SOURCES)

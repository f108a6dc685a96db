"""Binary images from PNG files or an array."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.data import BinaryRows
from vips_core.data.npz import load_arrays
from vips_core.readers.persons import array_of_persons, refuse_person

IMAGE_ARRAY = "images"
CHUNK = 1000  # images of a folder that are held at once


def read_images(path: Path, threshold: float, person: str | None = None) -> BinaryRows:
    """Read a folder of PNG files of one size, or an `.npz` whose array `images` is n × h × w.

    Parameters
    ----------
    path
        The folder or file.
    threshold
        Grey values above it become 1; it must not be chosen by looking at private images.
    person
        Array of an `.npz` that names whose image it is; None where each image is another record.

    Returns
    -------
    BinaryRows
        One record for each image, or each person.
    """
    if path.is_dir():
        refuse_person(person, path, "a folder of images")
        return BinaryRows.from_images(images_of_folder(path), threshold)
    images, persons = _arrays(path, person)
    rows = BinaryRows.from_images(images, threshold, persons)
    if not rows.bits.any():  # most likely grey values from 0 to 1
        raise ValueError(f"threshold must be below the brightest pixel of {path.name}, got {threshold:g}")
    return rows


def image_chunks(path: Path, threshold: float, person: str | None) -> Iterator[tuple[BinaryRows, Any, int]]:
    """Read images as `read_images` does, a folder some at a time, each image still on its own.

    Parameters
    ----------
    path, threshold, person
        As in `read_images`.

    Returns
    -------
    iterator of (BinaryRows, persons, int)
        Images, whose each is, None where nobody says, and how many bytes have been read.
    """
    if not path.is_dir():
        images, persons = _arrays(path, person)
        yield BinaryRows.from_images(images, threshold), persons, path.stat().st_size
        return
    refuse_person(person, path, "a folder of images")
    files, position = _files(path), 0
    for start in range(0, len(files), CHUNK):
        some = files[start : start + CHUNK]
        position += sum(file.stat().st_size for file in some)
        yield BinaryRows.from_images(_read_all(some), threshold), None, position


def _arrays(path: Path, person: str | None) -> tuple[Any, Any]:
    arrays = load_arrays(path)
    if IMAGE_ARRAY not in arrays:
        raise ValueError(f"{path.name} must hold an array named {IMAGE_ARRAY}, got {sorted(arrays)}")
    return arrays[IMAGE_ARRAY], array_of_persons(arrays, person, path)


def images_of_folder(folder: Path) -> Any:
    """Return the grey images of a folder of PNG files, in the order of their names."""
    return _read_all(_files(folder))


def _files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".png")
    if not files:
        raise ValueError(f"the folder {folder.name} must hold PNG images, got none")
    return files


def _read_all(files: Sequence[Path]) -> Any:
    from PIL import Image

    images: list[Any] = []
    for file in files:
        try:
            with Image.open(file) as image:
                images.append(_grey(image))
        except Image.DecompressionBombError:
            raise ValueError(f"{file.name} has far too many pixels") from None
        except Exception:  # a damaged file makes Pillow raise nearly anything
            raise ValueError(f"{file.name} is not a readable PNG image") from None
        if images[-1].shape != images[0].shape:
            raise ValueError(
                f"images must have one size, got {images[0].shape} and, in {file.name}, {images[-1].shape}"
            )
    return np.stack(images)


def _grey(image: Any) -> Any:
    """Return grey values from 0 to 255; of 16 bits, Pillow would cut them off there."""
    return np.asarray(image) // 257 if image.mode.startswith("I") else np.asarray(image.convert("L"))

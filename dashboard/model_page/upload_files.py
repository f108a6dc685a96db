"""Uploaded files: bounded in size, stored under names of our own, refused in one sentence."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from streamlit.typing import UploadedFile

from dashboard import stored
from vips_core.files import make_private_folder, new_private_file
from vips_core.records import PERSON, Kind
from vips_core.records.files import npz, text
from vips_core.records.files.documents import COUNT_ARRAYS
from vips_core.records.files.identification import source_persons
from vips_core.records.files.images import IMAGE_ARRAY
from vips_core.toml import to_toml

MOST_BYTES = 200 * 2**20  # total size of all files of an upload
MOST_ARRAYS = 100  # most arrays in an .npz whose names are shown: thousands may be patients' names
SUFFIXES = (".txt", ".csv", ".npz", ".png")
_OWN_NAME = re.compile(r"\brecords\.(txt|csv|npz)\b")


def columns(file: UploadedFile) -> list[str]:
    """Return the column names of a CSV or array names of an .npz, which are assumed to be public."""
    suffix = _suffix(file)
    if suffix == ".npz":  # an unreadable one is refused by `read`
        names = npz.array_names(io.BytesIO(file.getvalue()))
        if len(names) > MOST_ARRAYS:
            raise ValueError(f"an .npz must have at most {MOST_ARRAYS} arrays, got {len(names):,}")
        return [name for name in names if name not in (*COUNT_ARRAYS, IMAGE_ARRAY)]
    return text.pandas_columns(file.getvalue()) if suffix == ".csv" else []


def read(
    kind: Kind, files: Sequence[UploadedFile], about: Mapping[str, Any]
) -> tuple[Any, list[bytes], list[bytes]]:
    """Return the records of an upload, and bytes that identify its rows and its persons.

    `about` is the public description of the files; a bad file is a `ValueError` with one sentence.
    """
    total = sum(file.size for file in files)
    if total > MOST_BYTES:
        raise ValueError(f"files must be at most 200 MB together, got {total / 2**20:,.0f} MB")
    suffixes = {_suffix(file) for file in files}
    if len(files) > 1 and suffixes != {".png"}:
        raise ValueError("several files must all be PNG images")
    person = about.get(PERSON)
    with stored.store().temporary_folder() as folder:
        path = _written(folder, files, suffixes.pop())
        try:
            records = kind.read_file(path, _options(folder, about))
            persons = [] if person is None else list(source_persons(path, person))
            return records, list(kind.source_rows(path)), persons
        except ValueError as error:  # its message has our name of the file
            raise ValueError(_OWN_NAME.sub("the file", str(error))) from None


def schema(table: pd.DataFrame) -> str:
    """Return the table of public ranges as the TOML of commands; rows without ends are left out."""
    ranges = {}
    for name, *ends in table[["Column", "Lowest", "Highest"]].itertuples(index=False):
        given = [float(end) for end in ends if not pd.isna(end)]
        if len(given) == 1:
            raise ValueError(f"the range of {name!r} needs both ends")
        if not all(map(math.isfinite, given)):
            raise ValueError(f"the range of {name!r} must be finite")
        if given:
            ranges[name] = given
    if not ranges:
        raise ValueError("give at least one column a public range")
    optional = [name for name in table.loc[table["May be missing"], "Column"] if name in ranges]
    return to_toml({"may_be_missing": optional, "ranges": ranges})


def _suffix(file: UploadedFile) -> str:
    suffix = Path(file.name).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"a file must end in {', '.join(SUFFIXES)}, got {file.name[-40:]!r}")
    return suffix


def _written(folder: Path, files: Sequence[UploadedFile], suffix: str) -> Path:
    """Write the files under names of our own, because a visitor's file name may be anything."""
    if suffix != ".png":
        return _write(folder / f"records{suffix}", files[0].getvalue())  # see _OWN_NAME
    images = folder / "images"
    make_private_folder(images)
    for number, file in enumerate(files, 1):
        _write(images / f"image {number:07}.png", file.getvalue())
    return images


def _write(path: Path, content: bytes) -> Path:
    with new_private_file(path) as file:
        file.write(content)
    return path


def _options(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public description as the options of commands, which name files."""
    options = dict(about)
    if "vocabulary" in about:
        options["vocabulary"] = str(_write(folder / "vocabulary.txt", about["vocabulary"]))
    if "ranges" in about:
        ranges = schema(options.pop("ranges"))
        options["schema"] = str(_write(folder / "schema.toml", ranges.encode()))
    return options

"""Uploaded files: bounded in size, stored under names of our own, refused in one sentence."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from dashboard import stored
from vips_core.files import make_private_folder, new_private_file
from vips_core.records import PERSON, Kind
from vips_core.records.files import npz, text
from vips_core.records.files.documents import COUNT_ARRAYS
from vips_core.records.files.identification import source_persons
from vips_core.records.files.images import IMAGE_ARRAY
from vips_core.store.people import Sources
from vips_core.toml import to_toml

MOST_BYTES = 200 * 2**20  # of all files together
MOST_ARRAYS = 100  # in an .npz whose names are offered: thousands of names may be those of patients
SUFFIXES = (".txt", ".csv", ".npz", ".png")
_OWN_NAME = re.compile(r"\brecords\.(txt|csv|npz)\b")


class File(Protocol):
    """An uploaded file, as Streamlit returns it."""

    name: str
    size: int

    def getvalue(self) -> bytes:
        """Return the content."""
        ...


def columns(file: File) -> list[str]:
    """Return the column names of a CSV or array names of an .npz, which are assumed to be public."""
    suffix = _suffix(file)
    if suffix == ".npz":  # one that cannot be read is refused when it is
        names = npz.array_names(io.BytesIO(file.getvalue()))
        if len(names) > MOST_ARRAYS:
            raise ValueError(f"an .npz must have at most {MOST_ARRAYS} arrays, got {len(names):,}")
        return [name for name in names if name not in (*COUNT_ARRAYS, IMAGE_ARRAY)]
    return text.pandas_columns(file.getvalue()) if suffix == ".csv" else []


def read(kind: Kind, files: Sequence[File], about: Mapping[str, Any]) -> Any:
    """Return the records of an upload; `ValueError` with one sentence for a bad file."""
    total = sum(file.size for file in files)
    if total > MOST_BYTES:
        raise ValueError(f"files must be at most 200 MB together, got {total / 2**20:,.0f} MB")
    suffixes = {_suffix(file) for file in files}
    if len(files) > 1 and suffixes != {".png"}:
        raise ValueError("several files must all be PNG images")
    with stored.store().temporary_folder() as folder:
        path = _written(folder, files, suffixes)
        try:
            return kind.read_file(path, _options(folder, about))
        except ValueError as error:  # which knows the file by the name that it has here
            raise ValueError(_OWN_NAME.sub("the file", str(error))) from None


def sources(
    kind: Kind, files: Sequence[File], held_out: Sequence[File], person: str | None, study: str | None
) -> Sources:
    """Return what identifies the people in the files, as the study numbers them."""

    def identifying(some: Sequence[File]) -> tuple[list[bytes], list[bytes]]:
        if not some:
            return [], []
        with stored.store().temporary_folder() as folder:
            path = _written(folder, some, {_suffix(file) for file in some})
            persons = [] if person is None else list(source_persons(path, person))
            return list(kind.source_rows(path)), persons

    return Sources(*identifying(files), *identifying(held_out), person_namespace=study)


def schema(table: pd.DataFrame) -> str:
    """Return the table of public ranges as the TOML of commands; rows without ends are left out."""
    ranges: dict[str, list[float]] = {}
    for row in table.to_dict("records"):
        low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("Lowest", "Highest"))
        if low is None and high is None:
            continue
        if low is None or high is None:
            raise ValueError(f"the range of {row['Column']!r} needs both ends")
        if not math.isfinite(low) or not math.isfinite(high):
            raise ValueError(f"the range of {row['Column']!r} must be finite")
        ranges[row["Column"]] = [low, high]
    if not ranges:
        raise ValueError("give at least one column a public range")
    optional = [name for name in table.loc[table["May be missing"], "Column"] if name in ranges]
    return to_toml({"may_be_missing": optional, "ranges": ranges})


def _suffix(file: File) -> str:
    suffix = Path(file.name).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"a file must end in {', '.join(SUFFIXES)}, got {file.name[-40:]!r}")
    return suffix


def _written(folder: Path, files: Sequence[File], suffixes: set[str]) -> Path:
    """Write the files under names of our own, since theirs may be anything."""
    if suffixes == {".png"}:
        images = folder / "images"
        make_private_folder(images)
        for number, file in enumerate(files, 1):
            _write(images / f"image {number:07}.png", file.getvalue())
        return images
    path = folder / f"records{suffixes.pop()}"  # see _OWN_NAME
    _write(path, files[0].getvalue())
    return path


def _write(path: Path, content: bytes) -> None:
    with new_private_file(path) as file:
        file.write(content)


def _options(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public description as the options of commands."""
    options = {name: about[name] for name in ("column", "threshold", PERSON) if name in about}
    if "vocabulary" in about:
        options["vocabulary"] = str(folder / "vocabulary.txt")
        _write(folder / "vocabulary.txt", about["vocabulary"])
    if "target" in about:
        options |= {"target": about["target"], "schema": str(folder / "schema.toml")}
        _write(folder / "schema.toml", schema(about["ranges"]).encode())
    return options

"""Files that visitors send: bounded, read under names of our own, with one sentence for what is wrong."""

import io
import math
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from PIL import Image

from vips_core import readers
from vips_core.store.people import Sources
from vips_core.toml import to_toml

MOST_BYTES = 200 * 2**20  # of all files together
MOST_UNPACKED = 4 * 2**30  # of an .npz, which might be small only because it is packed
MOST_COLUMNS = 10_000
SUFFIXES = (".txt", ".csv", ".npz", ".png")


class File(Protocol):
    """What Streamlit hands over."""

    name: str
    size: int

    def getvalue(self) -> bytes:
        """Return the content."""
        ...


def columns(file: File) -> list[str]:
    """Return the names in a CSV's header or of an .npz's own arrays, which are taken to be public."""
    suffix = _suffix(file)
    if suffix == ".npz":
        return [name for name in _array_names(file) if name not in readers.ARRAYS]
    if suffix != ".csv":
        return []
    try:
        names = [str(name) for name in pd.read_csv(io.BytesIO(file.getvalue()), nrows=0).columns]
    except UnicodeDecodeError:
        raise ValueError("the file must be text in UTF-8") from None
    except ValueError as error:
        raise ValueError(f"the file is not a readable CSV: {error}") from None
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise ValueError(f"a CSV must have 1 to {MOST_COLUMNS:,} columns, got {len(names):,}")
    return names


def _array_names(file: File) -> list[str]:
    """Return the names in an .npz; a file that is none is refused when it is read."""
    try:
        with zipfile.ZipFile(io.BytesIO(file.getvalue())) as archive:
            return [Path(name).stem for name in archive.namelist()][:MOST_COLUMNS]
    except zipfile.BadZipFile:
        return []


def read(kind: type, files: Sequence[File], about: Mapping[str, Any]) -> Any:
    """Return the records of the files of one upload; `ValueError` with one sentence where they are none."""
    total = sum(file.size for file in files)
    if total > MOST_BYTES:
        raise ValueError(f"files must be at most 200 MB together, got {total / 2**20:,.0f} MB")
    suffixes = {_suffix(file) for file in files}
    if len(files) > 1 and suffixes != {".png"}:
        raise ValueError("several files must all be PNG images")
    with tempfile.TemporaryDirectory(prefix="vips-") as name:
        folder = Path(name)
        try:
            return readers.read(kind, _written(folder, files, suffixes), _options(folder, about))
        except UnicodeDecodeError:
            raise ValueError("the file must be text in UTF-8") from None
        except Image.DecompressionBombError:
            raise ValueError("an image has far too many pixels") from None
        except pd.errors.ParserError as error:
            raise ValueError(f"the file is not a readable CSV: {' '.join(str(error).split())}") from None


def sources(
    kind: type, files: Sequence[File], held_out: Sequence[File], person: str | None, study: str | None
) -> Sources:
    """Return what identifies the people of files that `read` takes, as a study numbers them."""

    def identifying(some: Sequence[File]) -> tuple[list[bytes], list[bytes]]:
        if not some:
            return [], []
        with tempfile.TemporaryDirectory(prefix="vips-") as name:
            path = _written(Path(name), some, {_suffix(file) for file in some})
            persons = [] if person is None else list(readers.source_persons(path, person))
            return list(readers.source_rows(kind, path)), persons

    return Sources(*identifying(files), *identifying(held_out), person_namespace=study)


def schema(table: pd.DataFrame) -> str:
    """Return the table of public ranges as the TOML that commands read; a row without both ends is unused."""
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
    """Write the files under names of our own: theirs may be anything."""
    if suffixes == {".png"}:
        images = folder / "images"
        images.mkdir()
        for number, file in enumerate(files, 1):
            (images / f"image {number:07}.png").write_bytes(file.getvalue())
        return images
    path = folder / f"records{suffixes.pop()}"
    path.write_bytes(files[0].getvalue())
    if path.suffix == ".npz":
        _check_unpacked(path)
    return path


def _check_unpacked(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
    except zipfile.BadZipFile:
        raise ValueError("the file is not a readable .npz of plain arrays") from None
    if size > MOST_UNPACKED:
        raise ValueError(f"an .npz must unpack to at most 4 GB, got {size / 2**30:,.1f} GB")


def _options(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is public about the records as the options that commands take."""
    options = {name: about[name] for name in ("column", "threshold", readers.PERSON) if name in about}
    if "vocabulary" in about:
        options["vocabulary"] = str(folder / "vocabulary.txt")
        (folder / "vocabulary.txt").write_bytes(about["vocabulary"])
    if "target" in about:
        options |= {"target": about["target"], "schema": str(folder / "schema.toml")}
        (folder / "schema.toml").write_text(schema(about["ranges"]), encoding="utf-8")
    return options

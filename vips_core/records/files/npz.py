"""Arrays of an untrusted file, bounded before they are unpacked."""

import io
import math
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.lib import format as npy

from vips_core import files

MOST_UNPACKED = 2 << 30  # bytes of all arrays together; the packed file may be a thousand times smaller
_MOST_DIRECTORY = 1 << 20  # bytes of an archive's list of members: some ten thousand of them
_MOST_HEADER = 1 << 16  # bytes of an array's type and shape
_ENDING = ".npy"
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods might take any amount of memory
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

# NumPy parses the header of each array as Python, which up to Python 3.11.7 and 3.12.1 sometimes fails
# when two threads do it at once (CPython's issue 106905).
_one_at_a_time = threading.Lock()


class _Refused(ValueError):
    """Refused arrays, with a reason that quotes nothing of the file."""


def plain_arrays(file: io.BufferedReader | io.BytesIO, most_bytes: float = MOST_UNPACKED) -> dict[str, Any]:
    """Return the arrays of an open `.npz`, never unpickled.

    Parameters
    ----------
    file
        Open for reading, at its beginning.
    most_bytes
        Limit on the size of all arrays together.

    Examples
    --------
    >>> import numpy as np
    >>> packed = io.BytesIO()
    >>> np.savez_compressed(packed, ones=np.ones(2))
    >>> plain_arrays(packed)
    {'ones': array([1., 1.])}
    """
    with _one_at_a_time, _archive(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > most_bytes:
            most, got = files.written_size(int(most_bytes)), files.written_size(size)
            raise _Refused(f"its arrays must have at most {most} together, got {got}")
        return {_name(member): _array(archive, member) for member in archive.infolist()}


def array_names(file: io.BufferedReader | io.BytesIO) -> list[str]:
    """Return the names of the arrays of an open `.npz`, none if it is not an archive."""
    try:
        with _archive(file) as archive:
            return [_name(member) for member in archive.infolist()]
    except ValueError:
        return []


def load_arrays(path: Path, most_bytes: float = MOST_UNPACKED) -> dict[str, Any]:
    """Return the arrays of an `.npz`, never unpickled; `ValueError` with one sentence if that fails.

    Parameters
    ----------
    path
        A regular file.
    most_bytes
        Limit on the size of all arrays together.
    """
    try:
        files.regular_size(path)
        with path.open("rb") as file:
            return plain_arrays(file, most_bytes)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{path.name} is not a readable .npz of plain arrays: {why}") from None


class _ShortReads(io.BufferedReader):
    """A file that refuses long reads: `zipfile` would read a list of members of any length at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MOST_DIRECTORY:
            raise _Refused("it has too many members")
        return super().read(size)


@contextmanager
def _archive(file: io.BufferedReader | io.BytesIO) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; errors quote none of its names and bytes."""
    reader = _ShortReads(file)
    try:
        if not zipfile.is_zipfile(reader):  # NumPy would take it for a pickle, and advise to trust it
            raise _Refused("it is not a zip archive")
        with zipfile.ZipFile(reader) as archive:
            yield archive
    except _Refused:
        raise
    except Exception:  # a damaged file makes zipfile, zlib and NumPy raise nearly anything, and quote it
        raise _Refused("it is damaged") from None
    finally:
        reader.detach()  # the file is the caller's to close


def _name(member: zipfile.ZipInfo) -> str:
    return member.filename.removesuffix(_ENDING)


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return one array, whose header may not promise more than the member has."""
    if member.compress_type not in _PACKED:
        raise _Refused("it is compressed by a method that NumPy does not use")
    with archive.open(member) as content:
        start = io.BytesIO(content.read(_MOST_HEADER))
        shape, _, dtype = _HEADERS[npy.read_magic(start)](start)
        if dtype.hasobject:
            raise _Refused("it holds Python objects, which are never opened")
        if math.prod(shape) * dtype.itemsize > member.file_size:
            raise _Refused("it holds an array that is shorter than its header says")
    with archive.open(member) as content:
        return npy.read_array(content, allow_pickle=False)

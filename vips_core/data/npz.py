"""Arrays of a file that anyone may have made."""

import threading
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

# NumPy parses the header of each array as Python, which up to Python 3.11.7 and 3.12.1 fails now and then
# where two threads do it at a time (CPython's issue 106905).
_one_at_a_time = threading.Lock()


def plain_arrays(file: IO[bytes]) -> dict[str, Any]:
    """Return the arrays of an open `.npz`, never unpickled."""
    with _one_at_a_time, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def load_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an `.npz`, never unpickled; `ValueError` with one sentence where it has none."""
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):  # NumPy would take it for a pickle, and say how to trust it
                raise ValueError("it is no zip archive")
            file.seek(0)
            return plain_arrays(file)
    except Exception as error:  # a damaged file makes zipfile, zlib and NumPy raise nearly anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path.name} is not a readable .npz of plain arrays: {reason}") from None

"""Arrays of a file that anyone may have made."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def load_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an `.npz`, never unpickled; `ValueError` with one sentence where it has none."""
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):  # NumPy would take it for a pickle, and say how to trust it
                raise ValueError("it is no zip archive")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
    except Exception as error:  # a damaged file makes zipfile, zlib and NumPy raise nearly anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path.name} is not a readable .npz of plain arrays: {reason}") from None

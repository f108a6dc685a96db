"""Compiled kernels (numba), which take and return arrays and draw no random numbers, and their threads."""

import contextlib
import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
COMPILED_ROOMS = ("kernels", "models", "privacy")
STAMP = "kernels.sha256"


def remove_outdated(package: Path) -> None:
    """Delete compiled kernels on disk if the package's sources have changed since.

    Numba recompiles a kernel if its own file has changed, but not if only a function that it calls in another
    file has. After a fix in one file, callers in other files would keep running the old code.

    Read-only folders are skipped: numba then stores its files elsewhere, and such packages are installed as a
    whole, with new modification times for all files. A NUMBA_CACHE_DIR is also skipped.
    """
    stamp = package / "__pycache__" / STAMP
    with contextlib.suppress(OSError):
        sources = [file for room in COMPILED_ROOMS for file in sorted((package / room).rglob("*.py"))]
        contents = [content for content in (file.read_bytes() for file in sources) if b"numba" in content]
        current = hashlib.sha256(b"\0".join(contents)).hexdigest().encode()
        if stamp.exists() and stamp.read_bytes() == current:
            return
        for room in COMPILED_ROOMS:
            for file in (package / room).rglob("*.nb[ic]"):
                file.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        new = stamp.with_suffix(f".{os.getpid()}")
        new.write_bytes(current)
        new.replace(stamp)

"""Pure numba kernels: arrays in, arrays out, no randomness, no threads of their own."""

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
    """Delete kernels on disk that were compiled from other sources than the package has now.

    Numba compiles a kernel again when the kernel's own file has changed, but not when a function that it
    calls has changed in another file: after an update that mends a kernel, the old one would go on running
    inside its callers.

    Nothing is done where the folder is read-only: numba then keeps its files elsewhere, and such packages are
    installed as a whole, with new times of all files. Nor is anything done in a NUMBA_CACHE_DIR.
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

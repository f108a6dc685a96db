"""Files of registered records, and the fingerprint that identifies records whatever their name."""

import hashlib
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.files import new_private_file
from vips_core.records.base import Records
from vips_core.records.files.npz import load_arrays
from vips_core.records.shards import stored_records

PARTS = ("train", "test")


def fingerprint(records: Any, key: str) -> str:
    """Return a keyed hash of the records, the same for any order, file, name or public description.

    Without the store's key, anyone who knows all records but one could test guesses for that one. Features
    are compared in single precision.
    """
    secret = bytes.fromhex(key)
    together = bytearray()
    for _, part in records.loaded():
        for row in part.row_bytes():
            together += hashlib.blake2b(row, key=secret, digest_size=16).digest()
    digests = np.sort(np.frombuffer(together, "S16"))  # the last bytes of a digest may be 0
    return hashlib.blake2b(digests.tobytes(), key=secret, digest_size=16).hexdigest()


def write(path: Path, train: Any, test: Any) -> None:
    """Write training and held-out records to a new file that only the user may read."""
    arrays = {
        f"{part}.{name}": value
        for part, records in zip(PARTS, (train, test), strict=True)
        if records is not None
        for name, value in records.stored().items()
    }
    try:
        with new_private_file(path) as file:
            np.savez_compressed(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ValueError(f"the data set cannot be written to {path.parent}: {error.strerror}") from None


def read(path: Path, records_type: type[Records]) -> tuple[Any, Any]:
    """Return training and held-out records (None if there are none) of a file."""
    try:
        arrays = load_arrays(path, most_bytes=math.inf)  # they were in memory when they were written
        parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        for name, value in arrays.items():
            part, _, field = name.partition(".")
            parts[part][field] = value
        train, test = parts["train"], parts["test"]
        return stored_records(records_type, train), stored_records(records_type, test) if test else None
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"the file of this data set, {path}, cannot be read: {error}") from None

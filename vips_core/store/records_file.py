"""Files of registered records, and the fingerprint by which records are known whatever their name."""

import hashlib
import json
import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.files import new_private_file
from vips_core.records import Sharded
from vips_core.records.base import Records
from vips_core.records.files.npz import load_arrays


def fingerprint(records: Any, key: str) -> str:
    """Return a name of the records themselves: the same for any order, file, name or public description.

    It is keyed by a secret of the store, because a plain hash would let whoever knows all records but one
    test guesses for that one. Features are compared in single precision.
    """
    secret = bytes.fromhex(key)
    together = bytearray()
    for record in record_bytes(records):
        together += hashlib.blake2b(record, key=secret, digest_size=16).digest()
    digests = np.sort(np.frombuffer(together, "S16"))  # bytes as they are: a digest's last ones may be 0
    return hashlib.blake2b(digests.tobytes(), key=secret, digest_size=16).hexdigest()


def record_bytes(records: Any) -> Iterator[bytes]:
    """Return bytes that identify each row of the records, in memory or sharded."""
    parts = (part for _, part in records.loaded()) if isinstance(records, Sharded) else (records,)
    for part in parts:
        yield from part.row_bytes()


def write(path: Path, train: Any, test: Any) -> None:
    """Write training and held-out records to a new file that only the user may read."""
    arrays = {f"train.{name}": value for name, value in _arrays(train).items()}
    if test is not None:
        arrays |= {f"test.{name}": value for name, value in _arrays(test).items()}
    try:
        with new_private_file(path) as file:
            np.savez_compressed(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ValueError(f"the data set cannot be written to {path.parent}: {error.strerror}") from None


def left_over(folder: Path, used: Collection[str]) -> list[Path]:
    """Return the files of records that nothing uses: a killed registration's, or one's that is committing."""
    return [path for path in folder.iterdir() if path.suffix == ".npz" and path.name not in used]


def read(path: Path, records_type: type[Records]) -> tuple[Any, Any]:
    """Return training and held-out records (None where there are none) of a file."""
    try:
        arrays = load_arrays(path, most_bytes=math.inf)  # which were in memory when they were written
        train, test = (
            {name.removeprefix(part): value for name, value in arrays.items() if name.startswith(part)}
            for part in ("train.", "test.")
        )
        return _records(records_type, train), _records(records_type, test) if test else None
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"the file of this data set, {path}, cannot be read: {error}") from None


def _arrays(records: Any) -> dict[str, Any]:
    if isinstance(records, Sharded):  # the files stay where they are; the manifest knows their digests
        return {"folder": np.array(records.folder), "manifest": np.array(records.manifest)}
    return {"public": np.array(json.dumps(records.public)), **records.arrays()}


def _records(records_type: type[Records], arrays: dict[str, Any]) -> Any:
    if "manifest" in arrays:
        return Sharded.from_manifest(str(arrays["folder"]), str(arrays["manifest"]))
    public = records_type.read_public(json.loads(str(arrays.pop("public"))))
    return records_type.from_arrays(arrays, public)

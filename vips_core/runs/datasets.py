"""Registered data sets: their files, and the fingerprint by which records are known whatever their name."""

import hashlib
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vips_core.data import BinaryRows, Corpus, LabelledRows
from vips_core.runs.tasks import TASKS

KINDS: Mapping[type, str] = {task.kind: name for name, task in TASKS.items()}
UNITS: Mapping[str, str] = {"lda": "one document", "logistic": "one row", "sbn": "one image"}
_NAME = re.compile(r"\w[\w .-]{0,63}")


def kind_of(records: Any) -> str:
    """Return the name of the model that these records suit."""
    if type(records) not in KINDS:
        raise ValueError(
            f"records must be a Corpus, LabelledRows or BinaryRows, got {type(records).__name__}"
        )
    return KINDS[type(records)]


def check_name(name: str) -> str:
    """Return a name that is allowed."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            "the name of a data set must be 1 to 64 letters, digits, spaces, dots, dashes or underscores, "
            f"and start with a letter or digit, got {name!r}"
        )
    return name


def fingerprint(records: Any, key: str) -> str:
    """Return a name of the records themselves: the same for any order, file, name or public description.

    It is keyed by a secret of the store, because a plain hash would let whoever knows all records but one
    test guesses for that one. Features are compared in single precision.
    """
    secret = bytes.fromhex(key)
    digests = sorted(
        hashlib.blake2b(record, key=secret, digest_size=16).digest() for record in _record_bytes(records)
    )
    return hashlib.blake2b(b"".join(digests), key=secret, digest_size=16).hexdigest()


def _record_bytes(records: Any) -> Iterator[bytes]:
    if isinstance(records, BinaryRows):
        yield from (row.tobytes() for row in records.bits)
    elif isinstance(records, Corpus):
        pairs = np.column_stack([records.indices, records.counts])
        for start, stop in zip(records.indptr[:-1], records.indptr[1:], strict=True):
            yield pairs[start:stop].tobytes()
    else:
        rows = sparse.csr_array(records.x, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        values, columns = rows.data.astype(np.float32), rows.indices.astype(np.int32)
        for label, start, stop in zip(records.y, rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield bytes([label]) + columns[start:stop].tobytes() + values[start:stop].tobytes()


def write(path: Path, train: Any, test: Any) -> None:
    """Write training and held-out records to a file that only the user may read, whole or not at all."""
    arrays = {f"train.{name}": value for name, value in _arrays(train).items()}
    if test is not None:
        arrays |= {f"test.{name}": value for name, value in _arrays(test).items()}
    partial = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.new")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            np.savez_compressed(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ValueError(f"the data set cannot be written to {path.parent}: {error.strerror}") from None


def read(path: Path, kind: str) -> tuple[Any, Any]:
    """Return training and held-out records (None where there are none) of a file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            parts = dict(arrays)
        train, test = (
            {name.removeprefix(part): value for name, value in parts.items() if name.startswith(part)}
            for part in ("train.", "test.")
        )
        return _records(kind, train), _records(kind, test) if test else None
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        IndexError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(f"the file of this data set, {path}, cannot be read: {error}") from None


def _arrays(records: Any) -> dict[str, Any]:
    if isinstance(records, Corpus):
        return {
            "indptr": records.indptr,
            "indices": records.indices,
            "counts": records.counts,
            "vocabulary": np.array(records.vocabulary),
        }
    if isinstance(records, BinaryRows):
        return {"bits": records.bits, "shape": np.array(records.shape)}
    shared = {
        "y": records.y,
        "feature_names": np.array(records.feature_names),
        "norm_bound": np.array(records.norm_bound),
        "ranged": np.array(list(records.ranges), dtype=str),
        "ranges": np.array(list(records.ranges.values()), dtype=np.float64).reshape(-1, 2),
    }
    if not sparse.issparse(records.x):
        return {**shared, "x": records.x}
    x = records.x
    return {**shared, "data": x.data, "indices": x.indices, "indptr": x.indptr, "shape": np.array(x.shape)}


def _records(kind: str, arrays: Mapping[str, Any]) -> Any:
    if kind == "lda":
        words = tuple(str(word) for word in arrays["vocabulary"])
        return Corpus(arrays["indptr"], arrays["indices"], arrays["counts"], words)
    if kind == "sbn":
        height, width = arrays["shape"]
        return BinaryRows(arrays["bits"], (int(height), int(width)))
    names = tuple(str(name) for name in arrays["feature_names"])
    if "x" in arrays:
        x = arrays["x"]
    else:
        x = sparse.csr_array(
            (arrays["data"], arrays["indices"], arrays["indptr"]), tuple(int(n) for n in arrays["shape"])
        )
    ranges = {
        str(name): (float(low), float(high))
        for name, (low, high) in zip(arrays["ranged"], arrays["ranges"], strict=True)
    }
    return LabelledRows(x, arrays["y"], names, float(arrays["norm_bound"]), ranges)

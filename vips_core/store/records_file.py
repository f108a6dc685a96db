"""Files of registered records, and the fingerprint by which records are known whatever their name."""

import hashlib
import math
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vips_core.data import BinaryRows, Corpus, LabelledRows, Sharded
from vips_core.data.labelled import pairs_told_by_names
from vips_core.data.npz import load_arrays
from vips_core.files import new_private_file


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
    """Return each row of the records as bytes, which tell of people."""
    if isinstance(records, Sharded):
        for _, some in records.loaded():
            yield from record_bytes(some)
    elif isinstance(records, BinaryRows):
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


def read(path: Path, data_type: type) -> tuple[Any, Any]:
    """Return training and held-out records (None where there are none) of a file."""
    try:
        arrays = load_arrays(path, most_bytes=math.inf)  # which were in memory when they were written
        train, test = (
            {name.removeprefix(part): value for name, value in arrays.items() if name.startswith(part)}
            for part in ("train.", "test.")
        )
        return _records(data_type, train), _records(data_type, test) if test else None
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(f"the file of this data set, {path}, cannot be read: {error}") from None


def _arrays(records: Any) -> dict[str, Any]:
    if isinstance(records, Sharded):  # the files stay where they are; the manifest knows their digests
        return {"folder": np.array(records.folder), "manifest": np.array(records.manifest)}
    if isinstance(records, Corpus):
        return {
            "indptr": records.indptr,
            "indices": records.indices,
            "counts": records.counts,
            "vocabulary": np.array(records.vocabulary),
        }
    if isinstance(records, BinaryRows):
        return {"bits": records.bits, "shape": np.array(records.shape), **_persons(records)}
    shared = {
        **_persons(records),
        "y": records.y,
        "feature_names": np.array(records.feature_names),
        "norm_bound": np.array(records.norm_bound),
        "ranged": np.array(list(records.ranges), dtype=str),
        "ranges": np.array(list(records.ranges.values()), dtype=np.float64).reshape(-1, 2),
        "missing_pairs": np.array(records.missing_pairs, dtype=np.int64).reshape(-1, 2),
    }
    if not sparse.issparse(records.x):
        return {**shared, "x": records.x}
    x = records.x
    return {**shared, "data": x.data, "indices": x.indices, "indptr": x.indptr, "shape": np.array(x.shape)}


def _persons(records: Any) -> dict[str, Any]:
    return {} if records.persons is None else {"persons": records.persons}


def _records(data_type: type, arrays: Mapping[str, Any]) -> Any:
    if "manifest" in arrays:
        return Sharded.from_manifest(str(arrays["folder"]), str(arrays["manifest"]))
    if data_type is Corpus:
        words = tuple(str(word) for word in arrays["vocabulary"])
        return Corpus(arrays["indptr"], arrays["indices"], arrays["counts"], words)
    if data_type is BinaryRows:
        height, width = arrays["shape"]
        return BinaryRows(arrays["bits"], (int(height), int(width)), arrays.get("persons"))
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
    pairs = arrays["missing_pairs"].tolist() if "missing_pairs" in arrays else pairs_told_by_names(names)
    bound, persons = float(arrays["norm_bound"]), arrays.get("persons")
    return LabelledRows(x, arrays["y"], names, bound, ranges, persons, pairs)

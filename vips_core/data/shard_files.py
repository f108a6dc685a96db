"""The files of a sharded data set: how records become bytes and again records, and where bytes are kept.

documents   `.npz`: indptr, indices and counts of compressed sparse rows, in the smallest types that hold them
rows        Parquet: label, person where there are persons, and features, or indices and values of sparse ones
images      `.npz`: packed bits, and persons where there are some
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vips_core.data.corpus import Corpus
from vips_core.data.images import BinaryRows
from vips_core.data.labelled import LabelledRows, checked_missing_pairs, pairs_told_by_names
from vips_core.data.npz import plain_arrays
from vips_core.files import make_private_folder, new_private_file, regular_size

KINDS: Mapping[str, type] = {"documents": Corpus, "rows": LabelledRows, "images": BinaryRows}
ENDINGS: Mapping[type, str] = {Corpus: "npz", LabelledRows: "parquet", BinaryRows: "npz"}


def public_description(records: Any) -> dict[str, Any]:
    """Return what is public about records, ready for JSON."""
    if isinstance(records, Corpus):
        return {"vocabulary": list(records.vocabulary)}
    if isinstance(records, BinaryRows):
        return {"shape": list(records.shape)}
    return {
        "feature_names": list(records.feature_names),
        "norm_bound": float(records.norm_bound),
        "ranges": {name: [float(low), float(high)] for name, (low, high) in records.ranges.items()},
        "missing_pairs": [list(pair) for pair in records.missing_pairs],
    }


def read_description(kind: type, public: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is public about records as their type takes it; `KeyError` or `TypeError` if it is none."""
    if kind is Corpus:
        return {"vocabulary": tuple(public["vocabulary"])}
    if kind is BinaryRows:
        height, width = public["shape"]
        return {"shape": (int(height), int(width))}
    ranges = {name: (float(low), float(high)) for name, (low, high) in public["ranges"].items()}
    names, bound = tuple(public["feature_names"]), float(public["norm_bound"])
    pairs = public["missing_pairs"] if "missing_pairs" in public else pairs_told_by_names(names)
    pairs = checked_missing_pairs(pairs, len(names))
    return {"feature_names": names, "norm_bound": bound, "ranges": ranges, "missing_pairs": pairs}


def encode(records: Any) -> bytes:
    """Return the content of a shard's file."""
    if isinstance(records, LabelledRows):
        return _parquet(records)
    if isinstance(records, Corpus):
        sizes = {name: getattr(records, name) for name in ("indptr", "indices", "counts")}
        arrays = {
            name: array.astype(np.min_scalar_type(array.max(initial=0))) for name, array in sizes.items()
        }
    else:
        arrays = {"bits": records.bits} | ({} if records.persons is None else {"persons": records.persons})
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def decode(kind: type, content: bytes, description: Mapping[str, Any]) -> Any:
    """Return the records of a shard's file, checked like all others."""
    if kind is LabelledRows:
        return _rows(content, description)
    return kind(**plain_arrays(io.BytesIO(content)), **description)


def place_of(folder: str | Path) -> str:
    """Return an address that fsspec opens, or the whole path of a folder of this machine."""
    place = (
        str(folder).removeprefix("file://").removeprefix("local://")
    )  # whose files fsspec lets others read
    return place.rstrip("/") if "://" in place else str(Path(place).resolve())


def is_there(folder: str, name: str) -> bool:
    """Whether a file is in a folder, or at an address that fsspec opens."""
    if "://" not in folder:
        return (Path(folder) / name).exists()
    with _fsspec().open(f"{folder}/{name}", "rb") as file:
        return bool(file.read(1))


def read_bytes(folder: str, name: str, most_bytes: int) -> bytes:
    """Return the content of a file of a folder, or of any address that fsspec opens.

    Parameters
    ----------
    folder, name
        Where it is.
    most_bytes
        A larger file, or one that is not regular, is refused by a `ValueError`.
    """
    if "://" not in folder:
        path = Path(folder) / name
        content = path.read_bytes() if (size := regular_size(path)) <= most_bytes else b""
    else:
        with _fsspec().open(f"{folder}/{name}", "rb") as file:
            content = file.read(most_bytes + 1)
        size = len(content)
    if size > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return content


def write_bytes(folder: str, name: str, content: bytes) -> None:
    """Write a file that only its user may read into a folder, or to any address that fsspec opens."""
    if "://" not in folder:
        make_private_folder(Path(folder))
        with new_private_file(Path(folder) / name) as local:
            local.write(content)
        return
    with _fsspec().open(f"{folder}/{name}", "wb") as file:
        file.write(content)


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise ValueError("an address needs fsspec: install vips-explorer[cluster]") from None
    return fsspec


def _parquet(rows: LabelledRows) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"label": pa.array(rows.y)}
    if rows.persons is not None:
        columns["person"] = pa.array(rows.persons)
    if sparse.issparse(rows.x):
        ends = pa.array(rows.x.indptr.astype(np.int32))
        columns["indices"] = pa.ListArray.from_arrays(ends, pa.array(rows.x.indices.astype(np.int32)))
        columns["values"] = pa.ListArray.from_arrays(ends, pa.array(rows.x.data))
    else:
        values = pa.array(np.ascontiguousarray(rows.x).reshape(-1))
        columns["features"] = pa.FixedSizeListArray.from_arrays(values, rows.x.shape[1])
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, use_dictionary=False)
    return file.getvalue()


def _rows(content: bytes, description: Mapping[str, Any]) -> LabelledRows:
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(pa.BufferReader(content)).combine_chunks()
    columns = {name: table.column(name).chunk(0) for name in table.column_names}
    features = len(description["feature_names"])
    if "features" in columns:
        x = columns["features"].flatten().to_numpy(zero_copy_only=False).reshape(-1, features)
    else:
        places = columns["indices"]
        entries = [
            part.to_numpy(zero_copy_only=False) for part in (columns["values"].flatten(), places.flatten())
        ]
        x = sparse.csr_array((*entries, places.offsets.to_numpy()), (len(places), features))
    persons = columns["person"].to_numpy() if "person" in columns else None
    return LabelledRows(x, columns["label"].to_numpy(), **description, persons=persons)

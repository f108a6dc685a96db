"""A data set in many files, read a few at a time, and the manifest that describes them.

The manifest, `manifest.json`, is as private as the records: whoever knows all records of a file but one can
test guesses for that one against the file's digest.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from vips_core import validate
from vips_core.files import MOST_DESCRIPTION, make_private_folder, new_private_file, regular_size
from vips_core.records.base import Records
from vips_core.records.kinds import KINDS

MANIFEST = "manifest.json"
FORMAT = "vips-shards/1"
SHARD_BYTES = 32 << 20  # target size of a shard's records in memory


class ShardError(ValueError):
    """A shard differs from what the manifest describes. The message reveals nothing about records."""


@dataclass(frozen=True)
class Shard:
    """A file, its number of records, its bytes, and their digest."""

    file: str
    records: int
    size: int
    sha256: str

    def __post_init__(self) -> None:
        validate.text("file", self.file)
        if self.file in (".", "..") or "/" in self.file or "\\" in self.file:
            raise ValueError(f"a shard must lie beside its manifest, got {validate.shown(self.file)}")
        validate.whole("records", self.records, low=1)
        validate.whole("size", self.size, low=1)
        validate.text("sha256", self.sha256)


@dataclass(frozen=True, eq=False, repr=False)
class Sharded:
    """A data set in many files, for `vips_core.fit` when records do not fit in memory.

    The public fields of the records (vocabulary, image shape, columns) are attributes, as for records in
    memory.

    Parameters
    ----------
    folder
        A folder, or any address that fsspec opens.
    records_type
        `Documents`, `Table` or `Images`.
    public
        Public fields of the records, as arguments of their type.
    shards
        The files.
    person
        The column that named each row's person, None if each row is a record of its own.
    start
        Number of the first record, if these are some shards of a larger data set.

    Examples
    --------
    >>> import tempfile
    >>> import vips_core as vips
    >>> rows = vips.Images.from_images(np.eye(8), threshold=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Sharded.write(folder, rows, records_per_shard=3)
    ...     data = Sharded.open(folder)
    ...     sizes = [len(records) for _, records in data.loaded()]
    >>> len(data), data.shape, sizes
    (8, (1, 8), [3, 3, 2])
    """

    in_memory: ClassVar[bool] = False

    folder: str
    records_type: type[Records]
    public: Mapping[str, Any]
    shards: tuple[Shard, ...]
    person: str | None = None
    start: int = 0

    @property
    def kind(self) -> str:
        """Name of the kind of records."""
        return self.records_type.kind

    def __len__(self) -> int:
        return sum(shard.records for shard in self.shards)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.public:
            return self.public[name]
        raise AttributeError(f"a sharded data set has no {name}")

    def __getitem__(self, mask: Any) -> NoReturn:
        raise ValueError(f"the data set in {self.folder} is sharded, and this needs all records in memory")

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a data set by its manifest; records are read when they are needed.

        Parameters
        ----------
        folder
            A folder, or any address that fsspec opens.

        Returns
        -------
        Sharded
            `ValueError` with one sentence if there is none.
        """
        place = place_of(folder)
        try:
            text = read_bytes(place, MANIFEST, MOST_DESCRIPTION).decode("utf-8")
        except (OSError, ImportError, ValueError) as error:
            raise ValueError(f"{folder} has no readable {MANIFEST}: {error}") from None
        return cls.from_manifest(place, text)

    @classmethod
    def from_manifest(cls, folder: str, text: str) -> Self:
        """Return the data set in a folder that a manifest describes."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {validate.shown(content['format'])}, not {FORMAT!r}")
            type_ = KINDS[validate.one_of("kind", content["kind"], KINDS)].records_type
            shards = tuple(Shard(**shard) for shard in content["shards"])
            public, person = type_.checked_public(content["public"]), content["person"]
            if person is not None:
                validate.text("person", person)
        except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
            raise ValueError(f"{MANIFEST} of {folder} cannot be read: {error}") from None
        if not shards:
            raise ValueError(f"{MANIFEST} of {folder} names no shards")
        return cls(folder, type_, public, shards, person)

    @property
    def manifest(self) -> str:
        """The manifest's text, for `from_manifest`."""
        shards = [asdict(shard) for shard in self.shards]
        about = {"format": FORMAT, "kind": self.kind, "person": self.person, "public": dict(self.public)}
        return json.dumps({**about, "shards": shards}, indent=1, ensure_ascii=False)

    def stored(self) -> dict[str, Any]:
        """Return the arrays from which `stored_records` restores this data set; its files stay in place."""
        return {"folder": np.array(self.folder), "manifest": np.array(self.manifest)}

    @classmethod
    def write(
        cls,
        folder: str | Path,
        records: Any,
        *,
        records_per_shard: int | None = None,
        person: str | None = None,
    ) -> Self:
        """Write records as shards; all rows of a person go into one shard.

        Parameters
        ----------
        folder
            A folder without a data set, or any address that fsspec opens.
        records
            `Documents`, `Table` or `Images`; or, if not all records fit in memory, an iterable of several
            data sets of one kind. Then no person may be in two of them.
        records_per_shard
            By default as many as take about 32 MB.
        person
            The column that named each row's person, if any.

        Returns
        -------
        Sharded
            The same records in the same order.
        """
        place = place_of(folder)
        if is_sharded(place):
            raise ValueError(f"{folder} holds a sharded data set already: choose another folder")
        several = (records,) if isinstance(records, Records) else records
        data: Self | None = None
        for own in _cut(several, records_per_shard):
            data = cls(place, type(own), own.public, (), person) if data is None else data
            if (type(own), own.public) != (data.records_type, data.public):
                raise ValueError("all records of a data set must have the same public description")
            data = replace(data, shards=(*data.shards, _written(place, len(data.shards), own)))
        if data is None:
            raise ValueError("a sharded data set needs at least one record")
        write_bytes(
            place, MANIFEST, data.manifest.encode("utf-8")
        )  # last: from then on, the folder holds a data set
        return data

    def load(self, shard: Shard) -> Any:
        """Return the records of a file; `ShardError` if it is not the one that the manifest describes."""
        place = f"{self.folder}/{shard.file}"
        try:
            content = read_bytes(self.folder, shard.file, shard.size)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ShardError(f"the shard {place} cannot be read: {why}") from None
        if len(content) != shard.size:
            raise ShardError(f"the shard {place} must have {shard.size:,} bytes, got {len(content):,}")
        if hashlib.sha256(content).hexdigest() != shard.sha256:
            raise ShardError(f"the shard {place} is not the file that the manifest describes")
        try:
            records = self.records_type.from_bytes(content, self.public)
        except Exception as error:  # a strange file makes NumPy and Parquet raise nearly anything
            raise ShardError(f"the shard {place} does not hold {self.kind}: {type(error).__name__}") from None
        if len(records) != shard.records:
            raise ShardError(f"the shard {place} must have {shard.records:,} records, got {len(records):,}")
        return records

    def loaded(self) -> Iterator[tuple[int, Any]]:
        """Yield the records of each shard, with the number of its first record.

        The next shard is read while one is used, so two are in memory.
        """
        starts = self.start + np.cumsum([0, *(shard.records for shard in self.shards)])
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(self.load, self.shards[0])
            for number, start in enumerate(starts[:-1]):
                records = coming.result()
                if number + 1 < len(self.shards):
                    coming = reader.submit(self.load, self.shards[number + 1])
                yield int(start), records

    def lots(self, number: int) -> list[Self]:
        """Return at most `number` parts of about equal size, each of consecutive whole shards."""
        ends = np.cumsum([shard.size for shard in self.shards])
        lot = np.minimum(np.arange(len(ends)), (ends - 1) * number // ends[-1])
        firsts = np.cumsum([0, *(shard.records for shard in self.shards)])
        places = [np.flatnonzero(lot == which) for which in np.unique(lot)]
        return [
            replace(self, shards=self.shards[own[0] : own[-1] + 1], start=self.start + int(firsts[own[0]]))
            for own in places
        ]


def stored_records(records_type: type[Records], arrays: Mapping[str, Any]) -> Any:
    """Return the records, in memory or sharded, from the arrays of their `stored()`."""
    if "manifest" in arrays:
        return Sharded.from_manifest(str(arrays["folder"]), str(arrays["manifest"]))
    private = {name: array for name, array in arrays.items() if name != "public"}
    return records_type.from_arrays(private, records_type.checked_public(json.loads(str(arrays["public"]))))


def is_sharded(folder: str | Path) -> bool:
    """Whether a folder, or any address that fsspec opens, holds a sharded data set."""
    place = place_of(folder)
    try:
        if "://" not in place:
            return (Path(place) / MANIFEST).exists()
        with _fsspec().open(f"{place}/{MANIFEST}", "rb") as file:
            return bool(file.read(1))
    except (OSError, ValueError, ImportError):
        return False


def _written(place: str, number: int, records: Any) -> Shard:
    content = records.to_bytes()
    name = f"part-{number:06}.{records.shard_ending}"
    write_bytes(place, name, content)
    return Shard(name, len(records), len(content), hashlib.sha256(content).hexdigest())


def _cut(several: Iterable[Any], size: int | None) -> Iterator[Any]:
    """Return parts of at most `size` records, or of about `SHARD_BYTES`."""
    if size is not None:
        validate.whole("records_per_shard", size, low=1)
    for records in several:
        most = size or max(1, len(records) * SHARD_BYTES // max(1, bytes_of(records)))
        for start in range(0, len(records), most):
            numbers = np.arange(len(records))
            yield records[(numbers >= start) & (numbers < start + most)]


def bytes_of(records: Any) -> int:
    """Return about how many bytes records take in memory."""
    arrays = vars(records).values()
    return sum(
        int(getattr(array, "nbytes", getattr(getattr(array, "data", 0), "nbytes", 0))) for array in arrays
    )


def place_of(folder: str | Path) -> str:
    """Return an address that fsspec opens, or the absolute path of a local folder."""
    place = str(folder).removeprefix("file://").removeprefix("local://")  # fsspec lets others read these
    return place.rstrip("/") if "://" in place else str(Path(place).resolve())


def read_bytes(folder: str, name: str, most_bytes: int) -> bytes:
    """Return the content of a regular file; `ValueError` if it has more than `most_bytes` bytes."""
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
    """Write a file to a folder, readable by its owner only, or to an address that fsspec opens."""
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

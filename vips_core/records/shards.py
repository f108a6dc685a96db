"""A data set in many files, read a few at a time, with a manifest that describes them.

The manifest, `manifest.json`, is as private as the records: with the digest of a file, anyone who knows all
of its records but one can test guesses for that one.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from vips_core import validate
from vips_core.files import MOST_DESCRIPTION, make_private_folder, new_private_file, regular_size
from vips_core.records.base import Records
from vips_core.records.documents import Documents
from vips_core.records.images import Images
from vips_core.records.table import Table

MANIFEST = "manifest.json"
FORMAT = "vips-shards/1"
SHARD_BYTES = 32 << 20  # target size of a shard's records in memory
TYPES: Mapping[str, type[Records]] = {type_.kind: type_ for type_ in (Documents, Table, Images)}


class ShardError(ValueError):
    """A shard differs from what the manifest describes. The message reveals nothing about records."""


@dataclass(frozen=True)
class Shard:
    """One file: its name, its number of records, its bytes, and their digest."""

    file: str
    records: int
    size: int
    sha256: str

    def __post_init__(self) -> None:
        validate.text("file", self.file)
        validate.whole("records", self.records, low=1)
        validate.whole("size", self.size, low=1)
        validate.text("sha256", self.sha256)


@dataclass(frozen=True, repr=False)
class Sharded:
    """A data set in many files, for `vips_core.fit` where records do not fit in memory.

    What is public about the records (vocabulary, image shape, columns) are attributes, as for records in
    memory.

    Parameters
    ----------
    folder
        Where the files are: a folder, or any address that fsspec opens.
    records_type
        `Documents`, `Table` or `Images`.
    public
        What is public about the records, as their type takes it.
    shards
        The files.
    person
        The column that named each row's person, None where each row is a record of its own.
    start
        The number of the first record, where these are some shards of a larger data set.

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
        """Read a manifest; the records are read when they are needed.

        Parameters
        ----------
        folder
            A folder, or any address that fsspec opens.

        Returns
        -------
        Sharded
            `ValueError` with one sentence where there is none.
        """
        place = place_of(folder)
        try:
            text = read_bytes(place, MANIFEST, MOST_DESCRIPTION).decode("utf-8")
        except (OSError, ImportError, ValueError) as error:
            raise ValueError(f"{folder} has no readable {MANIFEST}: {error}") from None
        return cls.from_manifest(place, text)

    @classmethod
    def from_manifest(cls, folder: str, text: str) -> Self:
        """Return the data set that a manifest describes, whose files are in a folder."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {validate.shown(content['format'])}, not {FORMAT!r}")
            type_ = TYPES[validate.one_of("kind", content["kind"], TYPES)]
            shards = tuple(Shard(**shard) for shard in content["shards"])
            public, person = type_.read_public(content["public"]), content["person"]
            if person is not None:
                validate.text("person", person)
        except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
            raise ValueError(f"{MANIFEST} of {folder} cannot be read: {error}") from None
        if not shards:
            raise ValueError(f"{MANIFEST} of {folder} names no shards")
        return cls(folder, type_, public, shards, person)

    @property
    def manifest(self) -> str:
        """What `from_manifest` reads."""
        shards = [asdict(shard) for shard in self.shards]
        about = {"format": FORMAT, "kind": self.kind, "person": self.person, "public": dict(self.public)}
        return json.dumps({**about, "shards": shards}, indent=1, ensure_ascii=False)

    @classmethod
    def write(
        cls,
        folder: str | Path,
        records: Any,
        *,
        records_per_shard: int | None = None,
        person: str | None = None,
    ) -> Self:
        """Write records as shards; all rows of a person are in one of them.

        Parameters
        ----------
        folder
            Where to: a folder without a data set, or any address that fsspec opens.
        records
            `Documents`, `Table` or `Images`, or several of one kind, one after the other, where not
            all fit in memory: no person may then be in two of them.
        records_per_shard
            By default as many as have 32 MB.
        person
            The column that named each row's person, where one did.

        Returns
        -------
        Sharded
            The same records, in their order.
        """
        place = place_of(folder)
        if is_sharded(place):
            raise ValueError(f"{folder} holds a sharded data set already: choose another folder")
        several = (records,) if isinstance(records, Records) else records
        data: Self | None = None
        for own in _cut(several, records_per_shard):
            public = own.read_public(own.public)
            data = cls(place, type(own), public, (), person) if data is None else data
            if (type(own), public) != (data.records_type, data.public):
                raise ValueError("all records of a data set must have the same public description")
            data = replace(data, shards=(*data.shards, _written(place, len(data.shards), own)))
        if data is None:
            raise ValueError("a sharded data set needs at least one record")
        write_bytes(place, MANIFEST, data.manifest.encode("utf-8"))  # last: it makes the data set
        return data

    def load(self, shard: Shard) -> Any:
        """Return the records of a file; `ShardError` where it is not the one that the manifest describes."""
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
            raise ShardError(f"the shard {place} holds no such records: {type(error).__name__}") from None
        if len(records) != shard.records:
            raise ShardError(f"the shard {place} must have {shard.records:,} records, got {len(records):,}")
        return records

    def loaded(self) -> Iterator[tuple[int, Any]]:
        """Return the shards' records, one after the other, each with the number of its first record.

        While one is used the next is read, so that two are held at a time.
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
        """Cut the data set in at most so many parts of whole, consecutive shards and about equal size."""
        ends = np.cumsum([shard.size for shard in self.shards])
        lot = np.minimum(np.arange(len(ends)), (ends - 1) * number // ends[-1])
        firsts = np.cumsum([0, *(shard.records for shard in self.shards)])
        places = [np.flatnonzero(lot == which) for which in np.unique(lot)]
        return [
            replace(self, shards=self.shards[own[0] : own[-1] + 1], start=self.start + int(firsts[own[0]]))
            for own in places
        ]


def is_sharded(folder: str | Path) -> bool:
    """Whether a folder, or any address that fsspec opens, holds a sharded data set."""
    try:
        return is_there(place_of(folder), MANIFEST)
    except (OSError, ValueError, ImportError):
        return False


def _written(place: str, number: int, records: Any) -> Shard:
    content = records.to_bytes()
    name = f"part-{number:06}.{records.shard_ending}"
    write_bytes(place, name, content)
    return Shard(name, len(records), len(content), hashlib.sha256(content).hexdigest())


def _cut(several: Iterable[Any], size: int | None) -> Iterator[Any]:
    """Cut records into parts of at most `size`, or of about `SHARD_BYTES`."""
    if size is not None:
        validate.whole("records_per_shard", size, low=1)
    for records in several:
        most = size or max(1, len(records) * SHARD_BYTES // max(1, bytes_of(records)))
        for start in range(0, len(records), most):
            numbers = np.arange(len(records))
            yield records[(numbers >= start) & (numbers < start + most)]


def bytes_of(records: Any) -> int:
    """Return about how much memory records take."""
    arrays = vars(records).values()
    return sum(
        int(getattr(array, "nbytes", getattr(getattr(array, "data", 0), "nbytes", 0))) for array in arrays
    )


def place_of(folder: str | Path) -> str:
    """Return an address that fsspec opens, or the whole path of a folder of this machine."""
    place = str(folder).removeprefix("file://").removeprefix("local://")  # fsspec lets others read these
    return place.rstrip("/") if "://" in place else str(Path(place).resolve())


def is_there(folder: str, name: str) -> bool:
    """Whether a file is in a folder, or at an address that fsspec opens."""
    if "://" not in folder:
        return (Path(folder) / name).exists()
    with _fsspec().open(f"{folder}/{name}", "rb") as file:
        return bool(file.read(1))


def read_bytes(folder: str, name: str, most_bytes: int) -> bytes:
    """Return the content of a file; a larger one, or one that is not regular, is a `ValueError`."""
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

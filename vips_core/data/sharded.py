"""Records in many files, of which a few are held at a time, with a manifest that says what they are.

The manifest, `manifest.json`, is as private as the records: digests of a file let whoever knows all of it but
one record test guesses for that one.
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
from vips_core.data import shard_files as files
from vips_core.files import MOST_DESCRIPTION

MANIFEST = "manifest.json"
FORMAT = "vips-shards/1"
SHARD_BYTES = 32 << 20  # of records in memory, about


class ShardError(ValueError):
    """A file is not the one that the manifest describes; the sentence tells nothing of records."""


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
    """A data set in many files: what `vips_core.fit` takes where records do not fit in memory.

    What is public about the records (vocabulary, image shape, or all that is public of columns) are
    attributes, as of records in memory.

    Parameters
    ----------
    folder
        Where the files are: a folder, or any address that fsspec opens.
    kind
        `Corpus`, `LabelledRows` or `BinaryRows`.
    public
        What is public about the records.
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
    >>> rows = vips.BinaryRows.from_images(np.eye(8), threshold=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Sharded.write(folder, rows, records_per_shard=3)
    ...     data = Sharded.open(folder)
    ...     sizes = [len(records) for _, records in data.loaded()]
    >>> len(data), data.shape, sizes
    (8, (1, 8), [3, 3, 2])
    """

    folder: str
    kind: type
    public: Mapping[str, Any]
    shards: tuple[Shard, ...]
    person: str | None = None
    start: int = 0

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
        place = files.place_of(folder)
        try:
            text = files.read_bytes(place, MANIFEST, MOST_DESCRIPTION).decode("utf-8")
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
            kind = files.KINDS[validate.one_of("kind", content["kind"], files.KINDS)]
            shards = tuple(Shard(**shard) for shard in content["shards"])
            public, person = files.read_description(kind, content["public"]), content["person"]
            if person is not None:
                validate.text("person", person)
        except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
            raise ValueError(f"{MANIFEST} of {folder} cannot be read: {error}") from None
        if not shards:
            raise ValueError(f"{MANIFEST} of {folder} names no shards")
        return cls(folder, kind, public, shards, person)

    @property
    def manifest(self) -> str:
        """What `from_manifest` reads."""
        kind = next(name for name, kind in files.KINDS.items() if kind is self.kind)
        shards = [asdict(shard) for shard in self.shards]
        about = {"format": FORMAT, "kind": kind, "person": self.person, "public": dict(self.public)}
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
            `Corpus`, `LabelledRows` or `BinaryRows`, or several of one kind, one after the other, where not
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
        place = files.place_of(folder)
        if is_sharded(place):
            raise ValueError(f"{folder} holds a sharded data set already: choose another folder")
        several = (records,) if isinstance(records, tuple(files.KINDS.values())) else records
        data: Self | None = None
        for own in _cut(several, records_per_shard):
            kind, public = type(own), files.public_description(own)
            public = files.read_description(kind, public)
            data = cls(place, kind, public, (), person) if data is None else data
            if (kind, public) != (data.kind, data.public):
                raise ValueError("all records of a data set must have the same public description")
            data = replace(data, shards=(*data.shards, _written(place, len(data.shards), own)))
        if data is None:
            raise ValueError("a sharded data set needs at least one record")
        files.write_bytes(place, MANIFEST, data.manifest.encode("utf-8"))  # last: it makes the data set
        return data

    def load(self, shard: Shard) -> Any:
        """Return the records of a file; `ShardError` where it is not the one that the manifest describes."""
        place = f"{self.folder}/{shard.file}"
        try:
            content = files.read_bytes(self.folder, shard.file, shard.size)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ShardError(f"the shard {place} cannot be read: {why}") from None
        if len(content) != shard.size:
            raise ShardError(f"the shard {place} must have {shard.size:,} bytes, got {len(content):,}")
        if hashlib.sha256(content).hexdigest() != shard.sha256:
            raise ShardError(f"the shard {place} is not the file that the manifest describes")
        try:
            records = files.decode(self.kind, content, self.public)
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
        return files.is_there(files.place_of(folder), MANIFEST)
    except (OSError, ValueError, ImportError):
        return False


def kind_of(records: Any) -> type:
    """Return the type of records, in memory or sharded.

    Examples
    --------
    >>> from vips_core import BinaryRows
    >>> kind_of(BinaryRows.from_images(np.eye(2), 0.5)).__name__
    'BinaryRows'
    """
    return records.kind if isinstance(records, Sharded) else type(records)


def check_alike(train: Any, test: Any) -> None:
    """Refuse held-out records of another kind, or with other words, columns or sides, than the others.

    Examples
    --------
    >>> from vips_core import BinaryRows
    >>> check_alike(BinaryRows.from_images(np.eye(2), 0.5), BinaryRows.from_images(np.eye(3), 0.5))
    Traceback (most recent call last):
    ...
    ValueError: held-out records must have the same shape as the others
    """
    kind = kind_of(train)
    if type(test) is not kind:
        raise ValueError(f"held-out records must be of the same kind as the others, {kind.__name__}")
    for name in ("vocabulary", "feature_names", "shape"):
        if getattr(train, name, None) != getattr(test, name, None):
            raise ValueError(f"held-out records must have the same {name.replace('_', ' ')} as the others")


def _written(place: str, number: int, records: Any) -> Shard:
    content = files.encode(records)
    name = f"part-{number:06}.{files.ENDINGS[type(records)]}"
    files.write_bytes(place, name, content)
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

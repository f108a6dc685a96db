"""Cut a user's files into a sharded data set, in bounded memory.

Without a column of persons, the files are read once, in order, and every few megabytes become a shard. With
one, rows are first distributed to buckets by a hash of their person, so that one shard holds all rows of a
person. Memory then holds one bucket at a time: about a shard, or more where one person has more rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.files import make_private_folder, new_private_file
from vips_core.records.base import Records, person_numbers
from vips_core.records.identity import identities
from vips_core.records.kinds import PERSON, Kind
from vips_core.records.shards import SHARD_BYTES, Sharded

OnRead = Callable[[int], object]  # takes the number of bytes read so far


def shard(
    kind: Kind,
    paths: Sequence[Path],
    out: str | Path,
    options: Mapping[str, Any],
    *,
    scratch: Path,
    records_per_shard: int | None = None,
    on_read: OnRead | None = None,
) -> Sharded:
    r"""Write a user's files as one sharded data set.

    Parameters
    ----------
    kind
        Kind of the records.
    paths
        Files, or folders of images, as `Kind.chunks` reads them.
    out
        A folder, or any address that fsspec opens.
    options
        Public facts about the files, by the names of the kind's options.
    scratch
        An empty private folder with room for the files, where rows are collected by person.
    records_per_shard
        By default as many as take about 32 MB.
    on_read
        Called with the number of bytes read so far.

    Returns
    -------
    Sharded
        Records in the order of the files, unless a column names persons.

    Examples
    --------
    >>> import tempfile
    >>> from vips_core.records import KINDS
    >>> with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
    ...     file = Path(folder) / "letters.txt"
    ...     _ = file.write_text("rain and sun\nsun and tea\n", encoding="utf-8")
    ...     len(shard(KINDS["documents"], [file], Path(folder) / "shards", {}, scratch=Path(scratch)))
    2
    """
    given = kind.checked(options)
    person = given[PERSON]
    for path in paths:
        if not path.exists():
            raise ValueError(f"there is no file {str(path)!r}")
    for file, times in Counter(path.resolve() for path in paths).items():
        if times > 1:  # each record would count twice, with half the protection
            raise ValueError(f"each file must be given once, got {file.name} {times} times")
    chunks = _chunks(kind, paths, given, on_read or (lambda count: None))
    several: Iterator[Any] = (records for records, _ in chunks)
    if person is not None:
        buckets = max(1, -(-sum(map(_size, paths)) // SHARD_BYTES))
        public = _fill_buckets(chunks, buckets, scratch)
        several = (_read_bucket(folder, kind.records_type, public) for folder in sorted(scratch.iterdir()))
    return Sharded.write(out, several, records_per_shard=records_per_shard, person=person)


def _chunks(
    kind: Kind, paths: Iterable[Path], given: Mapping[str, Any], on_read: OnRead
) -> Iterator[tuple[Any, Any]]:
    """Yield rows in chunks, not grouped, with the person of each; None if no column names persons."""
    done = 0
    for path in paths:
        for records, persons, position in kind.chunks(path, **given):
            yield records, persons
            on_read(done + position)
        done += _size(path)
        on_read(done)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else (path,)))


def _fill_buckets(chunks: Iterable[tuple[Any, Any]], buckets: int, folder: Path) -> dict[str, Any]:
    """Distribute rows over folders, all rows of a person to one; return their public fields."""
    import pandas as pd

    public: dict[str, Any] = {}
    for number, (records, persons) in enumerate(chunks):
        own = records.public
        if own != (public := public or own):
            raise ValueError("all records of a data set must have the same public description")
        person_numbers(persons, len(records))  # refuses a row without a person
        identifiers = identities(persons)
        bucket_of = pd.util.hash_array(identifiers) % buckets
        for bucket in np.unique(bucket_of):
            place = folder / f"{bucket:08}"
            make_private_folder(place)
            mine = bucket_of == bucket
            with new_private_file(place / f"{number:08}.records") as file:
                file.write(records[mine].to_bytes())
            with new_private_file(place / f"{number:08}.npy") as file:
                np.save(file, identifiers[mine].astype(str))
    return public


def _read_bucket(folder: Path, records_type: type[Records], public: Mapping[str, Any]) -> Records:
    """Return the records of the persons in a folder."""
    places = sorted(folder.glob("*.records"))
    parts = [records_type.from_bytes(place.read_bytes(), public) for place in places]
    persons = np.concatenate([np.load(place.with_suffix(".npy")) for place in places])
    return records_type.concatenated(parts, persons)

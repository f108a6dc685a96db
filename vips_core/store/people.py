"""Which people are in which data sets: keyed digests of what identifies them, kept sorted.

A budget belongs to people, not to a file. A data set that shares a source row or a person with an earlier
private one joins its pool, which has one budget. Digests of public and held-out records are kept too: what
was computed from them was not counted, so they cannot become private later. The digests are keyed by the
store's secret, so that nobody without the store can test guesses. They stay in the store, except for those
that `write_beside` keeps beside shards.
"""

import contextlib
import hashlib
import io
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vips_core import validate
from vips_core.records import Sharded
from vips_core.records.files.npz import plain_arrays
from vips_core.records.shards import read_bytes, write_bytes
from vips_core.store import ledger_chain as chain
from vips_core.store.database import StoreError, find, insert

Digests = npt.NDArray[np.uint64]
_BESIDE = "people.npz"  # file beside shards
_LONGEST = 64  # characters of a study's name, which reports and errors show
_MOST_BESIDE = 8 << 30  # bytes of that file: a billion digests
_NONE: Digests = np.empty(0, np.uint64)
PRIVATE, PUBLIC = "people", "public_people"  # kinds of digests, and of rows that seal them


@dataclass(frozen=True)
class Sources:
    """What identifies the people of a data set in its source file, as bytes.

    Attributes
    ----------
    rows, persons
        Rows of the file, whatever the schema, and identifiers of persons.
    test_rows, test_persons
        Those of the held-out file.
    known
        Digests of rows and persons that were computed earlier.
    person_namespace
        The study that assigned the identifiers: equal identifiers of other studies are other people. None
        if an identifier means the same person in all data sets.
    """

    rows: Iterable[bytes] = ()
    persons: Iterable[bytes] = ()
    test_rows: Iterable[bytes] = ()
    test_persons: Iterable[bytes] = ()
    known: Digests = field(default_factory=lambda: _NONE)
    person_namespace: str | None = None

    def __post_init__(self) -> None:
        if self.person_namespace is not None:
            text = unicodedata.normalize("NFC", validate.text("person_namespace", self.person_namespace))
            study = " ".join(text.split())
            if not 1 <= len(study) <= _LONGEST:
                raise ValueError(f"person_namespace must have 1 to {_LONGEST} characters, got {len(study)}")
            vars(self).update(person_namespace=study)

    def digests(self, key: str) -> tuple[Digests, Digests]:
        """Return the digests of the training records and of the held-out ones."""
        both = ((self.rows, self.persons), (self.test_rows, self.test_persons))
        study = self.person_namespace or ""
        train, test = (
            _distinct(digests(rows, key, b"row"), digests(persons, key, b"person", study))
            for rows, persons in both
        )
        return np.union1d(train, self.known), test


def digests(items: Iterable[bytes], key: str, kind: bytes, namespace: str = "") -> Digests:
    """Return sorted, distinct keyed digests. Empty items identify nobody; namespaces keep equal items apart.

    Examples
    --------
    >>> digests([b"ann", b"bob", b"ann", b""], "ab" * 32, b"person").size
    2
    """
    secret, salt = bytes.fromhex(key), _salt(namespace)
    together = b"".join(
        hashlib.blake2b(item, key=secret, person=kind, salt=salt, digest_size=8).digest()
        for item in items
        if item
    )
    return _distinct(np.frombuffer(together, np.uint64))


def write_beside(data: Sharded, sources: Sources, key: str) -> None:
    """Write digests beside shards, sealed for this store and these shards alone."""
    own, study = sources.digests(key)[0], sources.person_namespace or ""
    file = io.BytesIO()
    np.savez(file, digests=own, study=study, of=_seal_of(data, own, study, key))
    write_bytes(data.folder, _BESIDE, file.getvalue())


def read_beside(data: Sharded, key: str) -> Sources:
    """Return what this store wrote beside shards; `ValueError` if it did not cut them."""
    with contextlib.suppress(Exception):  # a damaged file makes zipfile and NumPy raise nearly anything
        content = read_bytes(data.folder, _BESIDE, _MOST_BESIDE)
        arrays = plain_arrays(io.BytesIO(content), _MOST_BESIDE)
        own, study = np.asarray(arrays["digests"], np.uint64), str(arrays["study"])
        if arrays["of"] == _seal_of(data, own, study, key):
            return Sources(known=own, person_namespace=study or None)
    raise ValueError(
        f"this store did not cut the shards in {data.folder}, so it cannot find their people in other data "
        "sets: cut the files again with vips-explorer data shard and this store"
    )


def _seal_of(data: Sharded, own: Digests, study: str, key: str) -> str:
    """Return a keyed hash of shards and digests, which differs for another store or after any edit."""
    content = data.manifest.encode() + own.tobytes()
    return hashlib.blake2b(content, key=bytes.fromhex(key), salt=_salt(study), digest_size=16).hexdigest()


def common(first: Digests, second: Digests) -> int:
    """Return how many digests two sorted lists share."""
    fewer, more = sorted((first, second), key=len)
    if not fewer.size:
        return 0
    places = np.minimum(np.searchsorted(more, fewer), more.size - 1)
    return int(np.count_nonzero(more[places] == fewer))


def kept(connection: sqlite3.Connection, fingerprint: str, kind: str) -> Digests:
    """Return the stored digests of some records."""
    row = find(connection, "people", fingerprint=fingerprint, kind=kind)
    if row is None:
        return _NONE
    if not isinstance(row["digests"], bytes) or len(row["digests"]) % _NONE.itemsize:
        raise StoreError("the digests of people in the store are damaged: restore a backup of the store")
    return np.frombuffer(row["digests"], np.uint64)


def keep(connection: sqlite3.Connection, fingerprint: str, name: str, new: Digests, kind: str) -> None:
    """Add digests to those stored for some records, and seal all of them in the chain."""
    before = kept(connection, fingerprint, kind)
    every = _distinct(before, new)
    if every.size > before.size:
        values = {"fingerprint": fingerprint, "kind": kind, "digests": every.tobytes()}
        insert(connection, "people", values, replace=True)
        chain.append(connection, kind, fingerprint, name, {"seal": _seal(every)})


def overlaps(connection: sqlite3.Connection, new: Digests, own: str, kind: str = PRIVATE) -> dict[str, int]:
    """Count the digests that each other data set shares with new ones, by fingerprint."""
    if not new.size:
        return {}
    statement = "SELECT fingerprint FROM people WHERE fingerprint != ? AND kind = ?"
    others = connection.execute(statement, [own, kind]).fetchall()
    counts = {row["fingerprint"]: common(kept(connection, row["fingerprint"], kind), new) for row in others}
    return {fingerprint: count for fingerprint, count in counts.items() if count}


def public_without_digests(connection: sqlite3.Connection) -> list[str]:
    """Return the names of public data sets whose rows would not be found in private ones."""
    statement = (
        "SELECT name FROM data WHERE NOT private AND fingerprint NOT IN "
        "(SELECT fingerprint FROM people WHERE kind = ?) ORDER BY created"
    )
    return [row["name"] for row in connection.execute(statement, [PUBLIC])]


def ties(connection: sqlite3.Connection) -> dict[frozenset[str], int | None]:
    """Return the ledger's row that linked each pair of records; None for a pair that was separated since."""
    return {
        frozenset((row.fingerprint, other)): row.number if row.kind == "link" else None
        for row in chain.rows(connection, "kind IN ('link', 'separate')")
        for other in row.content["with" if row.kind == "link" else "apart"]
    }


def pool(connection: sqlite3.Connection, *fingerprints: str) -> set[str]:
    """Return the fingerprints of some records and of all that share a budget with them."""
    return connected(fingerprints, [pair for pair, link in ties(connection).items() if link is not None])


def connected(fingerprints: Iterable[str], links: Collection[Set[str]]) -> set[str]:
    """Return some records and all that links connect with them.

    Examples
    --------
    >>> sorted(connected(["a"], [{"b", "c"}, {"a", "b"}, {"d", "e"}]))
    ['a', 'b', 'c']
    """
    members, grown = set(fingerprints), True
    while grown:
        larger = members.union(*(link for link in links if link & members))
        members, grown = larger, larger != members
    return members


def pool_rows(connection: sqlite3.Connection, *fingerprints: str) -> list[chain.LedgerRow]:
    """Return the ledger of everything that shares a budget with some records.

    Announcements, which are most of the rows, are left out: only the end of their own run needs them.
    """
    members = sorted(pool(connection, *fingerprints))
    marks = ", ".join("?" * len(members))
    return chain.rows(connection, f"fingerprint IN ({marks}) AND kind != 'announce'", members)


def names(connection: sqlite3.Connection, fingerprints: Collection[str]) -> str:
    """Return the last names of some records, as a sentence lists them."""
    last = {row.fingerprint: row.data for row in chain.rows(connection, "kind = 'data'")}
    return ", ".join(sorted(last[fingerprint] for fingerprint in fingerprints if fingerprint in last))


def problems(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each list of digests that is not the one sealed in the chain."""
    sealed = chain.rows(connection, "kind IN (?, ?)", [PRIVATE, PUBLIC])
    return [
        f"The digests of the people in {last.data} were changed."
        for last in {(row.fingerprint, row.kind): row for row in sealed}.values()
        if _seal(kept(connection, last.fingerprint, last.kind)) != last.content["seal"]
    ]


def _distinct(*lists: Digests) -> Digests:
    """Return the distinct digests of all lists, sorted; for millions this is faster than `np.unique`."""
    every = np.sort(np.concatenate(lists))
    return every[np.append(True, every[1:] != every[:-1])] if every.size else every


def _salt(study: str) -> bytes:
    """Return the salt that tells the digests of a study from those of any other, or of none."""
    return hashlib.blake2b(study.encode(), digest_size=16).digest() if study else b""


def _seal(every: Digests) -> str:
    return hashlib.blake2b(every.tobytes(), digest_size=16).hexdigest()

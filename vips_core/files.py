"""Size limits for files that a user names, and files and folders that only their owner can read."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# Largest files, in bytes, that are read into memory, where parsing takes up to 20 times as much.
MOST_KEY = 1 << 20  # a certificate or key
MOST_SETTINGS = 1 << 20  # a schema, config or sweep in TOML
MOST_VOCABULARY = 16 << 20  # a vocabulary: more than a million words
MOST_LEDGER = 16 << 20  # a ledger in JSON: about ten thousand different releases
MOST_DESCRIPTION = 64 << 20  # a saved fit's settings, or a manifest, each with its vocabulary
MOST_RECORDS = 256 << 20  # a file of texts or a table; larger ones must be sharded

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def regular_size(path: Path) -> int:
    """Return a file's size in bytes; `ValueError` for folders, pipes and devices, which may have no end.

    Examples
    --------
    >>> regular_size(Path("/"))
    Traceback (most recent call last):
    ...
    ValueError: / must be a regular file, got a folder
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise ValueError(f"{path.name or path} must be a regular file, got {kind}")
    return status.st_size


def bounded(path: Path, most_bytes: int, otherwise: str = "") -> Path:
    """Return the path; `ValueError` unless it is a regular file of at most `most_bytes`.

    Parameters
    ----------
    path
        The file.
    most_bytes
        Limit in bytes, a whole number of megabytes.
    otherwise
        Advice for larger files, which ends the error.
    """
    size = regular_size(path)
    if size > most_bytes:
        hint = f": {otherwise}" if otherwise else ""
        raise ValueError(
            f"{path.name} must have at most {written_size(most_bytes)}, got {written_size(size)}{hint}"
        )
    return path


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file of at most `most_bytes`."""
    return bounded(path, most_bytes).read_bytes()


def written_size(size: int) -> str:
    """Return a size in megabytes as text, rounded up.

    Examples
    --------
    >>> written_size((256 << 20) + 1)
    '257 MB'
    """
    return f"{-(-size // 2**20):,} MB"


def make_private_folder(path: Path) -> None:
    """Create a folder and its missing parents for their owner only; existing folders stay unchanged."""
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)  # `parents=True` would give the parents the default mode


@contextmanager
def new_private_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that only its owner may read, whatever the umask; an existing file is replaced."""
    path.unlink(missing_ok=True)  # the existing file might belong to someone else or be readable by others
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        yield file

"""Private folders for records on their way into a store, removed at the latest when their process is gone.

Each folder has a file beside it, which the process that uses it keeps locked; the system frees the lock when
the process ends, however it ends. A folder without a locked file is nobody's.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vips_core import files

if sys.platform != "win32":
    import fcntl

PLACE = "tmp"  # in the store's folder
_LOCK = ".lock"


@contextlib.contextmanager
def temporary_folder(home: Path) -> Iterator[Path]:
    """Return a new private folder within a store, for a `with` block; what is in it goes at the end."""
    place = home / PLACE
    files.make_private_folder(place)
    lock, descriptor = _locked_file(place)
    folder = lock.with_suffix("")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)
        lock.unlink(missing_ok=True)


def remove_abandoned(home: Path) -> None:
    """Remove the folders of processes that no longer live."""
    with contextlib.suppress(OSError):  # there is none, or it cannot be done now: another time, then
        for name in {path.stem for path in (home / PLACE).iterdir()}:
            _remove_if_abandoned(home / PLACE / name)


def _locked_file(place: Path) -> tuple[Path, int]:
    """Return a new file and the descriptor that locks it; `remove_abandoned` may have been faster."""
    while True:
        descriptor, name = tempfile.mkstemp(_LOCK, dir=place)
        if _lock(descriptor) and _is_there(Path(name), descriptor):
            return Path(name), descriptor
        os.close(descriptor)


def _is_there(path: Path, descriptor: int) -> bool:
    return path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor))


def _remove_if_abandoned(folder: Path) -> None:
    lock = folder.with_suffix(_LOCK)
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:  # removed while this process looked, or by a process that was killed then
        shutil.rmtree(folder, ignore_errors=True)
        return
    with open(descriptor, "rb"):
        if _lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


if sys.platform != "win32":

    def _lock(descriptor: int) -> bool:
        """Lock a file, or return False where another process has."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

else:
    import msvcrt

    def _lock(descriptor: int) -> bool:
        """Lock a file, or return False where another process has."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

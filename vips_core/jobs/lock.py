"""Whether a worker still works: it holds a lock on a file, freed when it dies, and touches the file."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

BEAT = 1.0  # seconds between two heartbeats
STALE = 60.0  # without a heartbeat for so long a worker counts as dead, whatever holds its lock
LOCK_FILE = "alive"  # in the folder of a run; a name that workers of all versions agree on


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder while the body runs; `BlockingIOError` where another process does."""
    path = folder / LOCK_FILE
    with path.open("w") as file:
        _lock(file.fileno())
        ended = threading.Event()
        heart = threading.Thread(target=_beat, args=(path, ended), daemon=True)
        heart.start()
        try:
            yield
        finally:
            ended.set()
            heart.join()


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a run's folder and has touched it lately."""
    path = folder / LOCK_FILE
    try:
        with path.open("r+") as file:
            if _is_free(file.fileno()):
                return False
            if not _is_fresh(path):
                time.sleep(2 * BEAT)  # if the machine slept or its clock was set, the heart beats again
            return _is_fresh(path)
    except FileNotFoundError:
        return False


def _is_fresh(path: Path) -> bool:
    return time.time() - path.stat().st_mtime < STALE


def _beat(path: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT):
        with contextlib.suppress(OSError):  # a missed beat is no reason to stop
            os.utime(path)


if sys.platform != "win32":

    def _lock(descriptor: int) -> None:
        for _ in range(50):  # whoever looks whether the file is free holds it for a moment
            try:
                return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _is_free(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

else:  # no such locks: the heartbeat alone tells

    def _lock(descriptor: int) -> None:
        """Do nothing."""

    def _is_free(descriptor: int) -> bool:
        return False

"""Threads for kernels: fixed chunks with results in their order, so bits do not depend on their number."""

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from vips_core import validate
from vips_core.kernels import Array

GROUPS = 8  # groups of chunks in `grouped_sums`; each holds one set of sums in memory
# Environment variables that limit a process's threads; libraries read theirs when they are imported.
THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VIPS_THREADS",
)

Result = TypeVar("Result")


_ALONE: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run kernels in the caller's thread alone."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def thread_count() -> int:
    """Return the number of threads for kernels: ``VIPS_THREADS`` if set, otherwise the number of cores."""
    if _ALONE.get():
        return 1
    return validate.from_environment("VIPS_THREADS", default=os.cpu_count() or 1, low=1)


@contextmanager
def set_variables(**variables: str) -> Iterator[None]:
    """Set environment variables within a block, for this process and its children."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def map_chunks(function: Callable[[int, int], Result], items: int, chunk: int) -> list[Result]:
    """Return ``function(start, stop)`` for consecutive chunks of ``range(items)``, in threads.

    The chunks depend only on ``items`` and ``chunk``, and results are in the order of chunks, so a reduction
    over them gives the same bits for any number of threads. BLAS has one thread meanwhile.
    """
    bounds = [(start, min(start + chunk, items)) for start in range(0, items, chunk)]
    threads = min(thread_count(), len(bounds))
    with one_blas_thread():
        if threads <= 1:
            return [function(start, stop) for start, stop in bounds]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda pair: function(*pair), bounds))


_BLAS_LOCK = threading.Lock()
_FOUND: list[list[int]] = []  # one entry for each holder of the limit: BLAS's threads before the first holder


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: our own threads suffice, and BLAS threads would change rounding.

    BLAS has one number of threads for the whole process. If each holder restored the number that it had
    found, two overlapping holders would leave BLAS at one thread for good, or remove each other's limit. So
    the first holder sets the limit, and the last one removes it.
    """
    with _BLAS_LOCK:
        if not _FOUND:
            found = [library.num_threads for library in _blas()]
            _set_blas_threads(itertools.repeat(1))
        _FOUND.append(_FOUND[0] if _FOUND else found)
    try:
        yield
    finally:
        with _BLAS_LOCK:
            found = _FOUND.pop()
            if not _FOUND:
                _set_blas_threads(found)


@functools.cache
def _blas() -> list[Any]:
    """Return the BLAS libraries, searched only once because a search takes milliseconds."""
    import scipy.linalg  # noqa: F401 (SciPy has its own BLAS, which is found only once loaded)

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_blas_threads(threads: Iterable[int]) -> None:
    """Set the number of threads of each library, from any thread.

    The private method is used because later versions of threadpoolctl accept the setting from one thread of a
    process only, and silently ignore it from others.
    """
    for library, number in zip(_blas(), threads, strict=False):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


def grouped_sums(
    chunk_sums: Callable[[int, int], tuple[Array, ...]],
    zeros: Callable[[], tuple[Array, ...]],
    items: int,
    chunk: int,
) -> tuple[Array, ...]:
    """Return the total of `chunk_sums(start, stop)` over chunks of at most `chunk` items, in threads.

    The chunks form at most eight groups, each with its own sums from `zeros()`, so memory does not grow with
    the number of items, and bits do not depend on the number of threads. All chunks but the last are full.
    """

    def group_sums(start: int, stop: int) -> tuple[Array, ...]:
        chunks = range(start, stop, chunk)
        return _total(zeros(), (chunk_sums(first, min(first + chunk, stop)) for first in chunks))

    return _total(zeros(), map_chunks(group_sums, items, chunk * max(1, -(-items // (chunk * GROUPS)))))


def _total(sums: tuple[Array, ...], parts: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    for part in parts:
        for total, added in zip(sums, part, strict=True):
            total += added
    return sums


def concatenated(
    chunk_rows: Callable[[int, int], tuple[Array, ...]], items: int, chunk: int
) -> tuple[Array, ...]:
    """Return arrays whose rows are computed chunk by chunk by `chunk_rows(start, stop)`, in threads."""
    chunks = map_chunks(chunk_rows, items, chunk)
    return tuple(np.concatenate(rows) for rows in zip(*chunks, strict=True))

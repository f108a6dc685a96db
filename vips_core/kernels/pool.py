"""Threads for kernels: fixed chunks, results in chunk order, the same bits for any thread count."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def thread_count() -> int:
    """Threads for kernels: ``VIPS_THREADS`` where set, otherwise the number of cores."""
    text = os.environ.get("VIPS_THREADS", "")
    if not text:
        return os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"VIPS_THREADS must be a whole number of at least 1, got {text!r}")
    return int(text)


def map_chunks(function: Callable[[int, int], Result], items: int, chunk: int) -> list[Result]:
    """Call ``function(start, stop)`` on consecutive chunks of ``range(items)``, in threads.

    The chunks depend on ``items`` and ``chunk`` only, and results come back in their order, so that a
    reduction over them gives the same bits whatever the number of threads.
    """
    bounds = [(start, min(start + chunk, items)) for start in range(0, items, chunk)]
    threads = min(thread_count(), len(bounds))
    if threads <= 1:
        return [function(start, stop) for start, stop in bounds]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda pair: function(*pair), bounds))

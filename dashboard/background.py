"""Slow work in the background: a page shows its result when it is ready."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import streamlit as st

from dashboard.state import visit

_LOOK = 0.05  # seconds between checks for newer input while a page waits
_SOON = 0.01  # seconds between checks for a result
_TOGETHER = 0.3  # seconds to wait for further results after the first, to show them together
_PATIENCE = 0.06  # seconds that a page waits for a usually quick result


class Background:
    """Slow pure functions of hashable arguments, computed in threads, once for all visitors."""

    def __init__(self, threads: int, keep: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="vips-background")
        self._keep = keep
        self._futures: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def result(self, function: Callable[..., Any], *args: Hashable) -> Any | None:
        """Return the result of a call that was asked for, None until it ends; raise what it raised."""
        with self._lock:
            future = self._futures.get((function, args))
        return future.result() if future is not None and future.done() and not future.cancelled() else None

    def ask(self, function: Callable[..., Any], *args: Hashable) -> Future[Any]:
        """Return the future of this call, submitting it if it is new or was cancelled."""
        with self._lock:
            future = self._futures.pop((function, args), None)
            if future is None or future.cancelled():
                future = self._pool.submit(function, *args)
            self._futures[(function, args)] = future
            while len(self._futures) > self._keep:
                self._futures.popitem(last=False)[1].cancel()
            return future


_background = Background(threads=1, keep=256)  # a second thread would slow down the pages


def compute_ahead(function: Callable[..., Any], *args: Hashable) -> None:
    """Compute a call that a page will probably need; nothing waits for it."""
    _background.ask(function, *args)


class Later:
    """The slow calls of one run of a page, each of which returns a result or None for now.

    At the end of the `with` block, calls that only the previous run needed are dropped. If a result is
    missing, the run waits for it, with its fast part already shown, and then reruns the page.
    """

    def __init__(self) -> None:
        self._asked: list[tuple[Any, ...]] = []
        self._missing: list[tuple[Any, ...]] = []

    def __call__(self, function: Callable[..., Any], *args: Hashable) -> Any | None:
        """Return the result, or None while it is being computed; raise what the call raised."""
        call = (function, *args)
        self._asked.append(call)
        result = _background.result(function, *args)
        if result is None:
            self._missing.append(call)  # starts after the fast part is drawn, which it would slow down
        return result

    def soon(self, function: Callable[..., Any], *args: Hashable) -> Any | None:
        """Return the result after a short wait, so that quick results do not flicker."""
        wait([_background.ask(function, *args)], _PATIENCE)
        return self(function, *args)

    def __enter__(self) -> "Later":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        for call in visit.get("waiting", []):
            if call not in self._asked:
                _background.ask(*call).cancel()
        visit["waiting"] = self._missing
        if self._missing and kind is None:
            rerun_when_ready(self._missing)


def rerun_when_ready(calls: Sequence[tuple[Any, ...]]) -> None:
    """Wait for the first of these calls, and those that end soon after it, then rerun the page."""
    futures = [_background.ask(*call) for call in calls]
    wait_until(lambda: any(future.done() for future in futures), every=_SOON)
    wait_until(lambda: all(future.done() for future in futures), every=_SOON, most=_TOGETHER)
    st.rerun()


def wait_until(ready: Callable[[], bool], *, every: float, most: float = math.inf) -> None:
    """Wait until something is ready, checking every `every` seconds; any input of the visitor ends the wait.

    Pages wait in no other way. A polling fragment would send the browser's values with every poll, and a late
    poll would undo an input.
    """
    end = time.monotonic() + most
    while not ready() and (left := end - time.monotonic()) > 0:
        pause(min(every, left))


def pause(seconds: float) -> None:
    """Wait on a page; any input of the visitor ends its run."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(_LOOK, left))
        visit.get("page")  # each access to the state has Streamlit check for newer input, which ends this run

"""State of one visitor: values from the page's address, and slow work in the background."""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import streamlit as st

from dashboard.formats import brief

_POLLS = (*(0.1,) * 5, 0.4)  # seconds between looks at what is awaited; each look costs a message
_TOGETHER = 0.3  # seconds in which results that follow the first come with it
_MANTISSAS = (1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1)  # fmt: skip  # noqa: E501


@dataclass(frozen=True)
class Number:
    """A number in the page's address, within bounds; a slider moves on the `stops`."""

    name: str
    label: str
    default: float | None
    low: float
    high: float
    help: str
    stops: tuple[float, ...]
    whole: bool = False

    def parse(self, text: str) -> float:
        """Read a number; `ValueError` with one sentence where it is none or out of bounds."""
        try:
            value = int(text) if self.whole else float(text)
        except ValueError:
            kind = "a whole number" if self.whole else "a number"
            raise ValueError(f"{self.name} must be {kind}, got {text[:40]!r}") from None
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{self.name} must be from {brief(self.low)} to {brief(self.high)}, got {text[:40]}"
            )
        return value


@dataclass(frozen=True)
class Choice:
    """One of a few words in the page's address, with their labels."""

    name: str
    label: str
    default: str
    options: Mapping[str, str]
    help: str

    def parse(self, text: str) -> str:
        """Read one of the options; `ValueError` with one sentence where it is none."""
        if text not in self.options:
            raise ValueError(f"{self.name} must be one of {', '.join(self.options)}, got {text[:40]!r}")
        return text


@dataclass(frozen=True)
class Text:
    """A word in the page's address that matches a pattern, or, with `several`, a list of them with commas."""

    name: str
    default: str | None
    pattern: str
    several: bool = False

    def parse(self, text: str) -> str:
        """Read the text; `ValueError` with one sentence where it does not match."""
        for word in text.split(",") if self.several else [text]:
            if not re.fullmatch(self.pattern, word):
                raise ValueError(f"{self.name} cannot be {text[:40]!r}")
        return text


Parameter = Number | Choice | Text


def log_stops(low: float, high: float, whole: bool = False, mantissas: Sequence[float] = _MANTISSAS) -> tuple:
    """Return round numbers from `low` to `high`, about equally far apart in logarithm."""
    numbers = (float(f"{mantissa}e{power}") for power in range(-16, 10) for mantissa in mantissas)
    inside = {low, high, *(x for x in numbers if low <= x <= high and not (whole and x % 1))}
    return tuple(sorted(int(x) if whole else float(x) for x in inside))


def load(parameters: Sequence[Parameter]) -> None:
    """Take the values of a new visit from the address, with a complaint for each that cannot be used."""
    for parameter in parameters:
        if _key(parameter.name) in st.session_state:
            continue
        put(parameter.name, parameter.default)
        if parameter.name in st.query_params:
            try:
                put(parameter.name, parameter.parse(st.query_params[parameter.name]))
            except ValueError as problem:
                default = parameter.default
                instead = "it is left out" if default is None else f"{brief(default)} is used instead"
                complain(f"In the address, {problem}; {instead}.")


def save(parameters: Sequence[Parameter]) -> None:
    """Write the values into the address, so that a copy of it restores the page."""
    values = {item.name: str(get(item.name)) for item in parameters if get(item.name) is not None}
    if st.query_params.to_dict() != values:
        st.query_params.from_dict(values)


def get(name: str) -> Any:
    """Return a value of this visit."""
    return st.session_state[_key(name)]


def put(name: str, value: Any) -> None:
    """Change a value of this visit."""
    st.session_state[_key(name)] = value


def change(name: str, value: Any) -> None:
    """Change a value because the visitor did; what was complained about before is settled."""
    put(name, value)
    st.session_state["problems"] = []


def complain(sentence: str) -> None:
    """Keep a sentence about a value for the page to show until the visitor changes something."""
    st.session_state["problems"] = [*problems(), sentence]


def problems() -> list[str]:
    """Return the complaints that the page has to show."""
    return st.session_state.get("problems", [])


def enter(page: str) -> None:
    """Say which page is drawn: each has values of its own, and a link to it that has values sets them all."""
    if st.session_state.get("page") == page:
        return
    st.session_state["page"], st.session_state["problems"] = page, []
    if st.query_params.to_dict():
        for name in [name for name in st.session_state if str(name).startswith(_key(""))]:
            del st.session_state[name]


def _key(name: str) -> str:
    page = st.session_state.get("page")
    return f"value:{page}/{name}" if page else f"value:{name}"


class Background:
    """Slow pure functions of hashable arguments, computed in threads, once for all visitors."""

    def __init__(self, threads: int, keep: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="vips-background")
        self._keep = keep
        self._futures: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def result(self, function: Callable[..., Any], *args: Hashable) -> Any | None:
        """Return the result of a call that was asked for and has ended, else None; raise what it raised."""
        with self._lock:
            future = self._futures.get((function, args))
        return future.result() if future is not None and future.done() and not future.cancelled() else None

    def ask(self, function: Callable[..., Any], *args: Hashable) -> Future[Any]:
        """Return the future of this call, submitted now where it is new or was cancelled."""
        with self._lock:
            future = self._futures.pop((function, args), None)
            if future is None or future.cancelled():
                future = self._pool.submit(function, *args)
            self._futures[(function, args)] = future
            while len(self._futures) > self._keep:
                self._futures.popitem(last=False)[1].cancel()
            return future


_background = Background(threads=1, keep=256)  # a second would take turns from the pages


class Later:
    """The slow calls of one run of a page: call it for a result or None, and the page follows when ready.

    On leaving the `with` block, calls that only the previous run waited for are dropped, and if something
    is missing the run, whose fast part is on the page by then, waits for it and starts the page again.
    """

    def __init__(self) -> None:
        self._asked: list[tuple[Any, ...]] = []
        self._missing: list[tuple[Any, ...]] = []

    def __call__(self, function: Callable[..., Any], *args: Hashable) -> Any | None:
        """Return the result, or None while it is being computed; raise what the call raised."""
        call = (function, *args)
        self._asked.append(call)
        result = _background.result(*call)
        if result is None:
            self._missing.append(call)  # started when the fast part is drawn, which it would slow down
        return result

    def __enter__(self) -> "Later":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        for call in st.session_state.get("waiting", []):
            if call not in self._asked:
                _background.ask(*call).cancel()
        st.session_state["waiting"] = self._missing
        if self._missing and kind is None:
            rerun_when_ready(self._missing)


def rerun_when_ready(calls: Sequence[tuple[Any, ...]]) -> None:
    """Wait for the first of these calls, then run the page again; any input of the visitor ends the wait.

    A call that ends soon after the first comes with it. (A polling fragment would send the browser's values
    with every poll, and a late poll would undo an input.)
    """
    futures, yield_point = [_background.ask(*call) for call in calls], st.empty()
    for pause in chain(_POLLS, repeat(_POLLS[-1])):
        if wait(futures, timeout=pause, return_when=FIRST_COMPLETED).done:
            break
        yield_point.empty()  # Streamlit stops the run here when the visitor asks for another
    wait(futures, timeout=_TOGETHER)
    yield_point.empty()  # what the visitor asked for meanwhile goes first
    st.rerun()

"""State of one visitor: values from the page's address, and callbacks that change them."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException

from dashboard.formats import brief

_MANTISSAS = (1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1)  # fmt: skip  # noqa: E501


T = TypeVar("T")
_newer = threading.local()  # input that came while this thread had something to finish


class State:
    """The state of one visitor: `st.session_state`, with which `whole` can finish what it has begun."""

    def __getitem__(self, key: str) -> Any:
        return _access(lambda: st.session_state[key])

    def __setitem__(self, key: str, value: Any) -> None:
        _access(lambda: st.session_state.__setitem__(key, value))

    def __delitem__(self, key: str) -> None:
        _access(lambda: st.session_state.__delitem__(key))

    def __contains__(self, key: str) -> bool:
        return _access(lambda: key in st.session_state)

    def __iter__(self) -> Iterator[Any]:
        return _access(lambda: iter(list(st.session_state)))

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default where there is none."""
        return _access(lambda: st.session_state.get(key, default))

    def setdefault(self, key: str, default: Any) -> Any:
        """Return a value, which is the default from now on where there was none."""
        return _access(lambda: st.session_state.setdefault(key, default))


state = State()


def whole(action: Callable[..., T]) -> Callable[..., T]:
    """Return an action that is always finished; all callbacks have to be.

    Streamlit looks for newer input of the visitor at every access to the state, and where there is some it
    abandons what is running. It never calls an abandoned callback again, so that half of what the visitor
    asked for would be done. Here newer input waits for the end of the action.
    """

    def finished(*args: Any, **named: Any) -> T:
        if getattr(_newer, "waits", False):  # part of another
            return action(*args, **named)
        _newer.waits, _newer.input = True, None
        try:
            result = action(*args, **named)
        finally:
            _newer.waits = False
        if _newer.input is not None:
            raise _newer.input
        return result

    return finished


def takes(name: str, widget: str, read: Callable[[Any], Any] = lambda value: value) -> Callable[..., None]:
    """Return a callback by which a value of the visit becomes what a widget says, read in some way."""
    return whole(lambda: change(name, read(state[widget])))


def sets(name: str, value: Any) -> Callable[..., None]:
    """Return a callback that sets a value of the visit."""
    return whole(lambda: change(name, value))


def _access(access: Callable[[], T]) -> T:
    while True:
        try:
            return access()
        except RerunException as newer:
            if not getattr(_newer, "waits", False):
                raise
            _newer.input = newer


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
        if _key(parameter.name) not in state:
            whole(_take_from_address)(parameter)


def _take_from_address(parameter: Parameter) -> None:
    value = default = parameter.default
    if parameter.name in st.query_params:
        try:
            value = parameter.parse(st.query_params[parameter.name])
        except ValueError as problem:
            instead = "it is left out" if default is None else f"{brief(default)} is used instead"
            complain(f"In the address, {problem}; {instead}.")
    put(parameter.name, value)


def save(parameters: Sequence[Parameter]) -> None:
    """Write the values into the address, so that a copy of it restores the page."""
    values = {item.name: str(get(item.name)) for item in parameters if get(item.name) is not None}
    if st.query_params.to_dict() != values:
        st.query_params.from_dict(values)


def get(name: str) -> Any:
    """Return a value of this visit."""
    return state[_key(name)]


def put(name: str, value: Any) -> None:
    """Change a value of this visit."""
    state[_key(name)] = value


def change(name: str, value: Any) -> None:
    """Change a value because the visitor did; what was complained about before is settled."""
    put(name, value)
    state["problems"] = []


def complain(sentence: str) -> None:
    """Keep a sentence about a value for the page to show until the visitor changes something."""
    state["problems"] = [*problems(), sentence]


def problems() -> list[str]:
    """Return the complaints that the page has to show."""
    return state.get("problems", [])


def enter(page: str) -> None:
    """Say which page is drawn: each has values of its own, and a link to it that has values sets them all."""
    if state.get("page") != page:
        whole(_begin)(page, linked=bool(st.query_params.to_dict()))


def _begin(page: str, linked: bool) -> None:
    state["page"], state["problems"] = page, []
    if linked:
        for name in [name for name in state if str(name).startswith(_key(""))]:
            del state[name]


def _key(name: str) -> str:
    page = state.get("page")
    return f"value:{page}/{name}" if page else f"value:{name}"

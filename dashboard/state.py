"""State of one visit: values from the page's address, and callbacks that change them."""

import contextlib
import functools
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard.clicks import uninterrupted
from dashboard.components.formats import brief

if TYPE_CHECKING:
    from vips_core.options import Option

_DECADE = "1 1.1 1.2 1.3 1.5 1.6 1.8 2 2.2 2.4 2.7 3 3.3 3.6 3.9 4.3 4.7 5.1 5.6 6.2 6.8 7.5 8.2 9.1"
_MANTISSAS = tuple(map(float, _DECADE.split()))
_LARGEST_WHOLE = 2**53 - 1  # largest whole number that a browser holds exactly

visit = st.session_state  # the values of one visitor


def widget_key(name: str, kind: str, shape: Hashable = "") -> str:
    """Return the key of the current widget of some kind for a value; another `shape` is another widget.

    When the value changes elsewhere, the widget gets a new key and starts from the new value. Setting it
    under its old key would race: a message that the browser sent earlier reports the old value, as if the
    visitor had changed it back. So no widget is set by its key; its default is always the visit's value.
    A page that is entered again gets new keys too, so that messages of the previous page are ignored.
    """
    renewed = visit.setdefault(f"widgets:{name}", {}).setdefault(kind, 0)
    return f"{kind}:{name}:{visit.get('entered', 0)}:{renewed}:{shape}"


def on_widget_change(key: str, act: Callable[[Any], object]) -> Callable[..., None]:
    """Return a callback that passes the value of the widget with this key to `act`.

    A widget that was replaced is ignored, although the browser reports its value until a run has ended.
    """
    kind, name, _, _, shape = key.split(":", 4)

    def callback() -> None:
        if key == widget_key(name, kind, shape):
            act(visit[key])

    return callback


def store_widget_value(
    name: str, key: str, read: Callable[[Any], Any] = lambda value: value
) -> Callable[..., None]:
    """Return a callback that sets a value of the visit to what its widget shows, converted by `read`."""

    def store(shown: Any) -> None:
        put(name, read(shown), by=key.split(":")[0])
        settle()

    return on_widget_change(key, store)


def set_value(name: str, value: Any) -> Callable[..., None]:
    """Return a callback that sets a value of the visit."""
    return lambda: change(name, value)


@dataclass(frozen=True)
class Number:
    """A bounded number in the page's address; a slider moves on `stops`, an entry by `step`."""

    name: str
    label: str
    default: float | None
    low: float
    high: float
    help: str
    stops: tuple[float, ...]
    whole: bool = False
    step: float | None = None

    @classmethod
    def of(cls, name: str, option: "Option", stops: tuple[float, ...] = (), **changes: Any) -> "Number":
        """Return the input for an option of requests, with its bounds and words, and with `changes`."""
        whole = option.kind is int
        low = max(option.low, math.nextafter(option.above, math.inf))
        high = min(option.high, _LARGEST_WHOLE) if whole else option.high
        number = cls(name, option.title, option.default, low, high, option.help, stops, whole)
        return replace(number, **changes)

    def parse(self, text: str) -> float:
        """Read a number; `ValueError` with one sentence if it is invalid."""
        from vips_core import validate  # here: it loads the core

        value: float | str = text
        with contextlib.suppress(ValueError):
            value = int(text) if self.whole else float(text)
        check = validate.whole if self.whole else validate.number
        return check(self.name, value, low=self.low, high=self.high)


@dataclass(frozen=True)
class Choice:
    """A choice among words in the page's address, each with a label."""

    name: str
    label: str
    default: str
    options: Mapping[str, str]
    help: str

    @classmethod
    def of(cls, name: str, option: "Option") -> "Choice":
        """Return the input for an option of requests, with its words."""
        return cls(name, option.title, option.default, option.choices or {}, option.help)

    def parse(self, text: str) -> str:
        """Read one of the options; `ValueError` with one sentence for any other word."""
        from vips_core import validate  # here: it loads the core

        return validate.one_of(self.name, text, self.options)


@dataclass(frozen=True)
class Text:
    """A word in the page's address that matches a pattern; with `several`, words separated by commas."""

    name: str
    default: str | None
    pattern: str
    several: bool = False

    def parse(self, text: str) -> str:
        """Read the text; `ValueError` with one sentence if it does not match."""
        for word in text.split(",") if self.several else [text]:
            if not re.fullmatch(self.pattern, word):
                raise ValueError(f"{self.name} cannot be {text[:40]!r}")
        return text


Parameter = Number | Choice | Text


@functools.lru_cache(maxsize=64)
def log_stops(
    low: float, high: float, whole: bool = False, mantissas: tuple[float, ...] = _MANTISSAS
) -> tuple[float, ...]:
    """Return round numbers from `low` to `high` at about equal logarithmic distances."""
    numbers = (float(f"{mantissa}e{power}") for power in range(-16, 10) for mantissa in mantissas)
    inside = {low, high, *(x for x in numbers if low <= x <= high and not (whole and x % 1))}
    return tuple(sorted(int(x) if whole else float(x) for x in inside))


def load(parameters: Sequence[Parameter]) -> None:
    """Take the values of a new visit from the address, with a complaint for each unusable one."""
    for parameter in parameters:
        if _key(parameter.name) not in visit:
            with uninterrupted():
                _take_from_address(parameter)


def _take_from_address(parameter: Parameter) -> None:
    value = default = parameter.default
    try:
        value = _in_address(parameter)
    except ValueError as problem:
        instead = "it is left out" if default is None else f"{brief(default)} is used instead"
        complain(f"In the address, {problem}; {instead}.")
    put(parameter.name, value)


def _in_address(parameter: Parameter) -> Any:
    text = st.query_params.get(parameter.name)
    return parameter.default if text is None else parameter.parse(text)


def save(parameters: Sequence[Parameter]) -> None:
    """Write the values into the address, unless the address already restores them.

    Each write is a step in the browser's history. A write right after a change of pages may reach the browser
    before the new path: the step then leads to the old page with values of the new one.
    """
    if _is_restored(parameters):
        if not st.query_params:
            visit["plain"] = visit.get("plain", set()) | {visit.get("page")}
    else:
        values = {item.name: str(get(item.name)) for item in parameters if get(item.name) is not None}
        _remember(values)
        st.query_params.from_dict(values)


def _is_restored(parameters: Sequence[Parameter]) -> bool:
    """Return whether the address holds exactly the values of the visit."""
    if not set(st.query_params) <= {item.name for item in parameters}:
        return False
    try:
        return all(_in_address(item) == get(item.name) for item in parameters)
    except ValueError:
        return False


def get(name: str) -> Any:
    """Return a value of this visit."""
    return visit[_key(name)]


def put(name: str, value: Any, by: str | None = None) -> None:
    """Change a value of this visit, and renew its widgets except the kind (`by`) that changed it."""
    if visit.get(_key(name)) != value:
        renewed = visit.get(f"widgets:{name}", {})
        visit[f"widgets:{name}"] = {kind: count + (kind != by) for kind, count in renewed.items()}
    visit[_key(name)] = value


def change(name: str, value: Any) -> None:
    """Change a value for the visitor, which settles earlier complaints."""
    put(name, value)
    settle()


def settle() -> None:
    """Forget the problems and notes of the page, because the visitor moved on."""
    visit["problems"], visit["notes"] = [], []


def note(sentence: str) -> None:
    """Keep a sentence about a value that the page adapted; the visitor made no mistake."""
    visit["notes"] = [*notes(), sentence]


def notes() -> list[str]:
    """Return the sentences about adapted values."""
    return list(visit.get("notes", []))


def complain(sentence: str) -> None:
    """Keep a sentence about a problem; it is shown until the visitor changes something."""
    visit["problems"] = [*dict.fromkeys([*problems(), sentence])]


@contextlib.contextmanager
def complaining() -> Iterator[None]:
    """Keep the sentence of a `ValueError` for the page to show."""
    try:
        yield
    except ValueError as problem:
        complain(str(problem))


def problems() -> list[str]:
    """Return the sentences about problems."""
    return list(visit.get("problems", []))


def enter(page: str) -> None:
    """Note which page is drawn. Each page has its own values, and a link with values sets all of them.

    An address is such a link if this visit neither began with it nor wrote it, even if it arrives late: the
    first run of a visit may come before the browser reports its address. It is also a link if the visitor
    reached it through the browser's history. An address without values is a link only in that case, and only
    if the page was once drawn with all defaults, which it then restores.
    """
    address = st.query_params.to_dict()
    if getattr(get_script_run_ctx(), "is_history_navigation", False):
        linked = bool(address) or page in visit.get("plain", ())
    else:
        linked = bool(address) and frozenset(address.items()) not in visit.get("addresses", ())
    if visit.get("page") != page or linked:
        with uninterrupted():
            _begin(page, address, linked)


def _begin(page: str, address: Mapping[str, str], linked: bool) -> None:
    visit["page"], visit["entered"] = page, visit.get("entered", 0) + 1
    settle()
    _remember(address)
    if not address:
        visit["plain"] = visit.get("plain", set()) - {page}  # until it is drawn without values
    if address or linked:
        for name in [name for name in visit if str(name).startswith(_key(""))]:
            del visit[name]


def _remember(address: Mapping[str, str]) -> None:
    visit["addresses"] = {*visit.get("addresses", ()), frozenset(address.items())}


def _key(name: str) -> str:
    page = visit.get("page")
    return f"value:{page}/{name}" if page else f"value:{name}"

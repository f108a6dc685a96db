"""Checks of values. Each error is one sentence that names the value and says what is allowed."""

import math
import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

_MOST_NAMED = 3  # names listed in one error, so that it stays readable
_MOST_CHARACTERS = 300  # of a printed error, about four lines of a terminal


def number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    or_zero: bool = False,
) -> float:
    """Return a finite number within bounds; `low` and `high` are inclusive.

    Parameters
    ----------
    name
        The name under which the user gave the value.
    value
        Any object; booleans, texts, NaN and infinities are refused.
    low, high, above, below
        Bounds.
    or_zero
        Whether 0 is allowed as well.

    Returns
    -------
    float
        The value.

    Examples
    --------
    >>> number("delta", 2, above=0, below=1)
    Traceback (most recent call last):
    ...
    ValueError: delta must be a number above 0 and below 1, got 2
    """
    try:
        given = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        given = math.nan
    within = math.isfinite(given) and low <= given <= high and above < given < below
    if not within and not (or_zero and given == 0):
        allowed = f"{'0 or ' if or_zero else ''}a number{_bounds(low, high, above, below)}"
        raise ValueError(f"{name} must be {allowed}, got {shown(value)}")
    return given


def whole(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> int:
    """Return a whole number from `low` to `high`; 20.0 counts as 20.

    Examples
    --------
    >>> whole("topics", 20.0, low=2)
    20
    >>> whole("topics", 1.5, low=2)
    Traceback (most recent call last):
    ...
    ValueError: topics must be a whole number of at least 2, got 1.5
    """
    is_whole = hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole or not low <= int(value) <= high:
        raise ValueError(f"{name} must be a whole number{_bounds(low, high)}, got {shown(value)}")
    return int(value)


def from_environment(variable: str, default: int, low: int) -> int:
    """Return an environment variable as a whole number, `default` if it is not set.

    Examples
    --------
    >>> from_environment("NO_SUCH_VARIABLE", default=2, low=1)
    2
    """
    text = os.environ.get(variable)
    return whole(variable, int(text) if text.isdecimal() else text, low) if text else default


def positive(name: str, value: Any, high: float = math.inf) -> float:
    """Return a finite number above 0 and at most `high`.

    Examples
    --------
    >>> positive("epsilon", 1)
    1.0
    """
    return number(name, value, above=0, high=high)


def share(name: str, value: Any) -> float:
    """Return a number above 0 and below 1.

    Examples
    --------
    >>> share("test_share", 0.2)
    0.2
    """
    return number(name, value, above=0, below=1)


def one_of(name: str, value: Any, choices: Collection[str]) -> str:
    """Return a text that is one of the choices.

    Examples
    --------
    >>> one_of("method", "refined", ("refined", "paper"))
    'refined'
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {shown(value)}")
    return value


def text(name: str, value: Any) -> str:
    """Return text.

    Examples
    --------
    >>> text("data", 3)
    Traceback (most recent call last):
    ...
    ValueError: data must be text, got 3
    """
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {shown(value)}")
    return value


def known_options(of: str, names: Iterable[Any], known: Collection[str]) -> None:
    """Refuse the first unknown name.

    Examples
    --------
    >>> known_options("lda", ["topics", "colour"], ["topics", "words"])
    Traceback (most recent call last):
    ...
    ValueError: colour is not an option of lda; its options are topics, words
    """
    for name in names:
        if name not in known:
            plain = isinstance(name, str) and name.isidentifier() and len(name) <= 60
            raise ValueError(
                f"{name if plain else shown(name)} is not an option of {of}; "
                f"its options are {', '.join(known)}"
            )


def same_order(what: str, known: Sequence[str], given: Sequence[str]) -> None:
    """Refuse the model's own names in a different order; different names are taken as synonyms.

    Examples
    --------
    >>> same_order("features", ["age", "dose"], ["dose", "age"])
    Traceback (most recent call last):
    ...
    ValueError: the features must be in the model's order: got 'dose' where it has 'age'
    """
    if tuple(known) != tuple(given) and sorted(known) == sorted(given):
        own, got = next((own, got) for own, got in zip(known, given, strict=True) if own != got)
        raise ValueError(
            f"the {what} must be in the model's order: got {shown(got)} where it has {shown(own)}"
        )


def _bounds(low: float, high: float, above: float = -math.inf, below: float = math.inf) -> str:
    limits = [f" above {_written(above)}"] if above > -math.inf else []
    limits += [f" of at least {_written(low)}"] if low > -math.inf else []
    limits += [f" below {_written(below)}"] if below < math.inf else []
    limits += [f" at most {_written(high)}"] if high < math.inf else []
    return " and".join(limits)


def _written(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,g}".replace("e+0", "e")


def few(names: Iterable[Any]) -> str:
    """List at most three public names, and count the rest.

    Only for public names, such as options and columns. An error about private values may give their row,
    and nothing else.

    Examples
    --------
    >>> few(["age", "dose", "sex", "ill"])
    "'age', 'dose', 'sex' and 1 more"
    >>> few([])
    'none'
    """
    every = list(names)
    listed = ", ".join(shown(name) for name in every[:_MOST_NAMED]) or "none"
    return f"{listed} and {len(every) - _MOST_NAMED:,} more" if len(every) > _MOST_NAMED else listed


def sentence(problem: object) -> str:
    """Return a problem as one line of at most 300 characters.

    Examples
    --------
    >>> len(sentence(ValueError("x" * 1000)))
    300
    """
    text = " ".join(str(problem).split())
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def shown(value: Any) -> str:
    """Return a value as errors show it, cut after 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"

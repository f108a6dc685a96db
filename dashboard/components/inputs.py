"""Inputs for the values of a visit: numbers, choices, lists."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from dashboard import state
from dashboard.components import formats
from dashboard.components.layout import fresh, narrow_columns
from dashboard.state import Choice, Number, Text

_WRITTEN_OUT = 1e-4  # smallest number shown without an exponent, as on the slider beside the entry


def number_with_slider(
    parameter: Number, most: float | None = None, before_change: Callable[[float], None] | None = None
) -> float:
    """Show a slider on a logarithmic scale with an exact entry beside it.

    `before_change` gets each new value first, so that other values can follow it.
    """
    high = parameter.high if most is None else most
    value: float = state.get(parameter.name)
    if value > high:
        value = high
        state.put(parameter.name, value)
        state.note(f"{parameter.label} was lowered to {high:,}, the maximum here.")
    key = state.widget_key(parameter.name, "slider", high)

    def read(entered: Any) -> float:
        new = _kind(parameter)(entered)
        if before_change is not None:
            before_change(new)
        return new

    left, right = narrow_columns(parameter.name, [3, 2], vertical_alignment="bottom")
    with left, fresh(f"slider:{parameter.name}", key):
        st.select_slider(
            parameter.label,
            _stops(parameter, value, high),
            value,
            key=key,
            on_change=state.store_widget_value(parameter.name, key, read),
            help=parameter.help,
            format_func=formats.brief,
        )
    with right:
        exact_number(parameter, f"{parameter.label}, exact", high, read, label_visibility="collapsed")
    return value


def exact_number(
    parameter: Number, label: str, high: float, read: Callable[[Any], float] | None = None, **more: Any
) -> None:
    """Show an entry for a number up to `high`."""
    kind, value = _kind(parameter), state.get(parameter.name)
    key = state.widget_key(parameter.name, "number", high)
    with fresh(f"number:{parameter.name}", key):
        st.number_input(
            label,
            kind(parameter.low),
            kind(high),
            kind(value),
            key=key,
            step=1 if parameter.whole else parameter.step or (parameter.default or 1.0) / 10,
            format="%d" if parameter.whole else "%e" if 0 < value < _WRITTEN_OUT else "%g",
            on_change=state.store_widget_value(parameter.name, key, read or kind),
            **more,
        )


def _kind(parameter: Number) -> type[int] | type[float]:
    return int if parameter.whole else float


def switch(name: str, label: str, value: Any, help: str | None = None) -> bool:
    """Show a switch that sets a value, or None while it is off; return whether it is on."""
    on, key = state.get(name) is not None, state.widget_key(name, "own")
    on_change = state.store_widget_value(name, key, lambda on: value if on else None)
    st.toggle(label, on, key=key, help=help, on_change=on_change)
    return on


def optional_number(
    parameter: Number, label: str, help: str, usual: float, most: float | None = None
) -> None:
    """Show a switch and, while it is on, an entry for a number that starts at `usual`."""
    if switch(parameter.name, label, usual, help):
        number_with_slider(parameter, most)


def buttons(
    name: str,
    label: str,
    options: Mapping[str, str],
    value: str,
    help: str | None = None,
    read: Callable[[str], Any] = str,
    **more: Any,
) -> None:
    """Show options as a row of buttons; `read` turns the chosen one into the visit's value."""
    key = state.widget_key(name, "choice", ",".join(options))
    st.segmented_control(
        label,
        list(options),
        default=value,
        required=True,
        key=key,
        help=help,
        format_func=options.__getitem__,
        on_change=state.store_widget_value(name, key, read),
        **{"width": "stretch", **more},
    )


def choice(parameter: Choice, as_buttons: bool = False) -> str:
    """Show a choice as a row of buttons or as a list."""
    value = str(state.get(parameter.name))
    show = buttons if as_buttons else one_of
    show(parameter.name, parameter.label, parameter.options, value, parameter.help)
    return value


def several_of(name: str, label: str, options: Mapping[str, str], help: str | None = None) -> None:
    """Show a list of options, of which the visit holds one or more, joined by commas.

    All other words are dropped; if none is left, the first option is chosen.
    """
    names = list(options)
    chosen = [word for word in state.get(name).split(",") if word in options] or names[:1]
    state.put(name, ",".join(chosen))
    key = state.widget_key(name, "several", ",".join(names))
    st.multiselect(
        label,
        names,
        chosen,
        key=key,
        format_func=options.__getitem__,
        on_change=state.store_widget_value(name, key, lambda chosen: ",".join(chosen) or names[0]),
        help=help,
    )


def start_button(label: str, key: str, start: Callable[..., None], *args: Any, **more: Any) -> None:
    """Show a button that starts runs; `args` go to its callback."""
    st.button(
        label,
        type="primary",
        icon=":material/play_arrow:",
        key=key,
        on_click=start,
        args=args,
        **{"width": "stretch", **more},
    )


def _stops(parameter: Number, value: float, high: float) -> list[float]:
    """Return the slider's stops with all values typed so far: changing stops would drop a moving thumb."""
    typed = state.visit.setdefault(f"typed:{parameter.name}", set())
    if value not in parameter.stops:
        typed.add(value)
    return sorted({min(stop, high) for stop in (*parameter.stops, *typed)})


def plain_slider(parameter: Number, step: float) -> float:
    """Show a slider on a linear scale."""
    key = state.widget_key(parameter.name, "plain")
    st.slider(
        parameter.label,
        parameter.low,
        parameter.high,
        float(state.get(parameter.name)),
        step,
        key=key,
        format=f"%.{max(0, -math.floor(math.log10(step)))}f",
        help=parameter.help,
        on_change=state.store_widget_value(parameter.name, key),
    )
    return float(state.get(parameter.name))


def one_existing(parameter: Text, label: str, options: Mapping[str, str]) -> None:
    """Show a list of what exists now; a value that no longer exists becomes the first option."""
    if state.get(parameter.name) not in options:
        state.put(parameter.name, next(iter(options)))
    one_of(parameter.name, label, options, state.get(parameter.name))


def one_of(
    name: str,
    label: str,
    options: Mapping[str, str],
    value: str,
    help: str | None = None,
    on_choice: Callable[[str], object] | None = None,
    **more: Any,
) -> None:
    """Show a list; a choice goes to `on_choice`, or becomes the visit's value of that name.

    A list with different labels is another widget: a browser reports a choice by its label, which may be old.
    """
    names, key = list(options), state.widget_key(name, "one-of", hash(tuple(options.values())))
    on_change = state.on_widget_change(key, on_choice) if on_choice else state.store_widget_value(name, key)
    st.selectbox(
        label,
        names,
        names.index(value),
        key=key,
        help=help,
        format_func=lambda item: options.get(item, item),
        on_change=on_change,
        **more,
    )

"""Pieces that pages share: inputs, and charts with their tables."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st
from plotly.basedatatypes import BaseFigure

from dashboard import charts, formats, session, words
from dashboard.layout import fresh, narrow_columns
from dashboard.session import Choice, Number


def number_with_slider(parameter: Number, most: float | None = None) -> float:
    """Show a slider on a logarithmic scale with exact entry beside it; both follow the value of the visit."""
    high = parameter.high if most is None else most
    value = session.get(parameter.name)
    if value > high:
        value = high
        session.put(parameter.name, value)
        for widget in ("slider", "number"):
            _renew(widget, parameter.name)
        session.complain(f"{parameter.label} cannot be more than {high:,}, so it was lowered to that.")
    slider_key, number_key = (_fresh_key(kind, parameter.name, high) for kind in ("slider", "number"))
    stops = _stops(parameter, value, high)
    kind = int if parameter.whole else float

    @session.whole
    def take(key: str, other: str) -> None:
        session.change(parameter.name, kind(session.state[key]))
        _renew(other, parameter.name)

    left, right = narrow_columns(parameter.name, [3, 2], vertical_alignment="bottom")
    with left, fresh(f"slider:{parameter.name}", slider_key):
        st.select_slider(
            parameter.label, stops, value, key=slider_key, on_change=take, args=(slider_key, "number"),
            help=parameter.help, format_func=formats.brief,
        )  # fmt: skip
    with right, fresh(f"number:{parameter.name}", number_key):
        st.number_input(
            f"{parameter.label}, exact", kind(parameter.low), kind(high), kind(value), key=number_key,
            step=1 if parameter.whole else parameter.default / 10, format="%d" if parameter.whole else "%g",
            on_change=take, args=(number_key, "slider"), label_visibility="collapsed",
        )  # fmt: skip
    return value


def choice(parameter: Choice, as_buttons: bool = False) -> str:
    """Show a choice as a row of buttons or as a list."""
    value, key = session.get(parameter.name), f"choice:{parameter.name}"
    options = list(parameter.options)
    common = {
        "key": key,
        "help": parameter.help,
        "format_func": lambda name: parameter.options[name],
        "on_change": session.takes(parameter.name, key),
    }
    if as_buttons:
        st.segmented_control(
            parameter.label, options, default=value, required=True, width="stretch", **common
        )
    else:
        st.selectbox(parameter.label, options, options.index(value), **common)
    return value


def plot(figure: dict[str, Any], name: str, alt: str) -> None:
    """Show a chart alone."""
    st.plotly_chart(Drawn(figure), key=f"chart:{name}", config={"displayModeBar": False}, alt=alt)


def clickable(
    figure: dict[str, Any], name: str, alt: str, take: Callable[[list[Mapping[str, Any]]], None]
) -> None:
    """Show a chart whose points can be clicked; `take` gets those that were."""
    key = f"chart:{name}"
    st.plotly_chart(
        Drawn(figure), key=key, config={"displayModeBar": False}, alt=alt, selection_mode="points",
        on_select=session.whole(lambda: take(session.state[key]["selection"]["points"])),
    )  # fmt: skip


class Drawn(BaseFigure):
    """A figure of ours, which Plotly takes as it is: checking it again takes longer than drawing the page."""

    def __init__(self, figure: dict[str, Any]) -> None:
        self._figure = figure

    def to_dict(self) -> dict[str, Any]:
        """Return the figure."""
        return self._figure


def chart(figure: dict[str, Any] | None, name: str, alt: str, table: Callable[[], pd.DataFrame]) -> None:
    """Show a chart, and its numbers as a table and CSV when asked for; None is being computed."""
    if figure is None:
        waiting(charts.HEIGHT)
        return
    plot(figure, name, alt)
    table_twin(name, alt, table)


def table_twin(name: str, alt: str, table: Callable[[], pd.DataFrame]) -> None:
    """Show the numbers of a picture as a table and CSV, when asked for."""
    twin = st.expander("As a table", key=f"table:{name}", on_change="rerun", type="compact")
    if twin.open:
        rows = table()
        with twin:
            st.dataframe(rows, hide_index=True, height=min(300, 38 + 35 * len(rows)), alt=alt)
            csv_button(rows, name)


def text_table(rows: pd.DataFrame) -> None:
    """Show a short table with sentences in it, which wrap."""
    st.table(rows, border="horizontal", hide_index=True)


def csv_button(rows: pd.DataFrame, name: str) -> None:
    """Offer a table as CSV."""
    st.download_button(
        "Download CSV", lambda: rows.to_csv(index=False).encode(), f"{name}.csv", "text/csv",
        key=f"csv:{name}", icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def waiting(height: int) -> None:
    """Keep the place of something that is being computed."""
    st.skeleton(height=height)
    st.caption(words.WAITING)


def _fresh_key(widget: str, name: str, high: float) -> str:
    """Return the key of the present slider or entry of a number.

    When one of the two changes, the other gets a new key and starts from the new value. Setting it under its
    old key would race: a message that the browser sent before it heard of the new value reports the old one,
    which looks like a visitor changing it back. For the same reason no widget is set by its key; the value
    of the visit is always its default.
    """
    return f"{widget}:{name}:{session.state.get(f'renewed:{widget}:{name}', 0)}:{high}"


def _renew(widget: str, name: str) -> None:
    key = f"renewed:{widget}:{name}"
    session.state[key] = session.state.get(key, 0) + 1


def _stops(parameter: Number, value: float, high: float) -> list[float]:
    """Return the slider's stops and all values typed so far: options that change drop a moving thumb."""
    typed = session.state.setdefault(f"typed:{parameter.name}", set())
    if value not in parameter.stops:
        typed.add(value)
    stops = {*parameter.stops, *typed}
    if high < parameter.high:
        stops = {stop for stop in stops if stop < high} | {high}
    return sorted(stops)


def refresh(name: str) -> None:
    """Let slider and entry of a number start again from the value of the visit, which the page changed."""
    for widget in ("slider", "number"):
        _renew(widget, name)


def plain_slider(parameter: Number, step: float) -> float:
    """Show a slider on a linear scale."""
    key = f"plain:{parameter.name}"
    st.slider(
        parameter.label, parameter.low, parameter.high, float(session.get(parameter.name)), step, key=key,
        format=f"%.{max(0, -math.floor(math.log10(step)))}f", help=parameter.help,
        on_change=session.takes(parameter.name, key),
    )  # fmt: skip
    return float(session.get(parameter.name))


def one_of(name: str, label: str, options: dict[str, str], value: str) -> None:
    """Show a list whose options depend on results; the choice becomes the visit's value of that name."""
    key, names = f"one-of:{name}", list(options)
    st.selectbox(
        label, names, names.index(value), key=key, format_func=lambda item: options.get(item, item),
        on_change=session.takes(name, key),
    )  # fmt: skip


def take_one_of(name: str, value: str) -> None:
    """Choose from such a list elsewhere on the page, in a callback."""
    session.state[f"one-of:{name}"] = value
    session.change(name, value)

"""The form for one person's risk: sliders over the public ranges, yes-or-no buttons, unknown values.

A person maps each predictor to a value in the units of its range, or to None where it is unknown. The address
holds the differences from the person that the form starts with, as "position:value".
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from scipy import sparse

import sample_data
from dashboard import state
from dashboard.components import layout
from dashboard.views.risk.data import INTERCEPT
from vips_core import Table
from vips_core.records import DataSet

PARAMETER = state.Text("person", None, r"\d{1,6}:(-|[0-9.e+-]{1,24})", several=True)
YES_NO = (0.0, 1.0)
FEW = 40  # options that fit on the page as buttons; more become a list
STEPS = 100  # most steps of a slider
LABEL = "\0"  # stands for the outcome: no predictor has this name

Person = dict[str, float | None]


def predictors(rows: Table) -> dict[str, tuple[float, float]]:
    """Return the predictors with their public ranges; without a schema, all are yes or no."""
    if rows.ranges:
        return dict(rows.ranges)
    return {name: YES_NO for name in rows.feature_names if name != INTERCEPT}


def optional(rows: Table) -> dict[str, int]:
    """Return the predictors that may be unknown, each with the column of its indicator."""
    places = {rows.feature_names[column]: indicator for column, indicator in rows.missing_pairs}
    return {name: place for name, place in places.items() if name in rows.ranges}


def yes_or_no(rows: Table, public: Table | None) -> list[str]:
    """Return the predictors with the range 0 to 1 whose public values are all 0 or 1."""
    names = list(rows.feature_names)
    return [
        name
        for name, ends in predictors(rows).items()
        if ends == YES_NO
        and (public is None or not rows.ranges or np.isin(public.x[:, names.index(name)], YES_NO).all())
    ]


def usual(rows: Table, public: Table | None) -> Person:
    """Return the person to start with: the median of public people, or the middle of every range."""
    names, simple, indicators = list(rows.feature_names), yes_or_no(rows, public), optional(rows)
    person: Person = {}
    for name, (low, high) in predictors(rows).items():
        share = 0.0 if name in simple else 0.5
        if public is not None and rows.ranges:
            known = public.x[:, indicators[name]] == 0 if name in indicators else slice(None)
            share = float(np.median(public.x[known, names.index(name)]))
        step = round_step(high - low)
        person[name] = float(f"{low + round(share * (high - low) / step) * step:.6g}")
    return person


def as_row(rows: Table, person: Person) -> Table:
    """Return the person as a row with the features of `rows`."""
    if rows.ranges:
        frame = pd.DataFrame([{**person, LABEL: 0}]).astype(float)
        return Table.from_frame(frame, LABEL, rows.ranges, rows.norm_bound, optional(rows))
    values = [[1.0 if name == INTERCEPT else person[name] for name in rows.feature_names]]
    return Table(sparse.csr_array(values), np.zeros(1, np.uint8), rows.feature_names, rows.norm_bound)


def from_address(text: str | None, rows: Table, start: Person) -> Person:
    """Return the person in the address; `ValueError` with one sentence where the values are impossible."""
    person, ranges, may_be_missing = dict(start), list(predictors(rows).items()), optional(rows)
    for item in (text or "").split(","):
        if not item:
            continue
        place, _, value = item.partition(":")
        if int(place) >= len(ranges):
            raise ValueError(f"person has {len(ranges)} predictors, got number {place}")
        name, (low, high) = ranges[int(place)]
        if value == "-":
            if name not in may_be_missing:
                raise ValueError(f"{name} must be known")
            person[name] = None
        else:
            person[name] = state.Number(name, name, None, low, high, "", ()).parse(value)
    return person


def _described(rows: Table, start: Person) -> tuple[Person, ValueError | None]:
    """Return the person of the visit, or the usual one and the problem with the address."""
    try:
        return from_address(state.get(PARAMETER.name), rows, start), None
    except ValueError as problem:
        return start, problem


def to_address(person: Person, start: Person) -> str | None:
    """Return the differences from the starting person, None where there are none."""
    differences = [
        f"{place}:{'-' if value is None else f'{value:.6g}'}"
        for place, (name, value) in enumerate(person.items())
        if value != start[name]
    ]
    return ",".join(differences) or None


def show(data_set: DataSet) -> Person:
    """Draw the form and return the person that it describes."""
    data, rows = data_set.name, data_set.train
    start, ranges, may_be_missing = usual(rows, data_set.test), predictors(rows), list(optional(rows))
    simple = yes_or_no(rows, data_set.test)
    if state.visit.setdefault("person-data", data) != data:  # the person of another data set
        state.visit["person-data"] = data
        state.put(PARAMETER.name, None)
    person, problem = _described(rows, start)
    if problem is not None:
        layout.problem(f"In the address, {problem}; the form starts over.")

    def take(changes: Mapping[str, float | None]) -> None:
        now, _ = _described(rows, start)  # two sliders may move before the form is drawn again
        state.change(PARAMETER.name, to_address(now | dict(changes), start))

    turn = f"{data}:{state.visit.get('person-turn', 0)}"
    measured = [name for name in ranges if name not in simple]
    columns = layout.narrow_columns("person", 2) if measured else []
    for place, name in enumerate(measured):
        with columns[place % 2]:
            unit = sample_data.UNITS.get(data, {}).get(name, "")
            _slider(name, unit, ranges[name], person[name], start[name], f"person:{turn}:{place}", take)
    known = [name for name in simple if person[name] is not None]
    if known:
        _several(
            "Yes",
            known,
            [name for name in known if person[name]],
            f"yes:{turn}:{len(known)}",
            lambda chosen: take({name: float(name in chosen) for name in known}),
        )
    if may_be_missing:
        _several(
            "Unknown",
            may_be_missing,
            [name for name in may_be_missing if person[name] is None],
            f"unknown:{turn}",
            lambda chosen: take(
                {
                    name: None if name in chosen else start[name] if person[name] is None else person[name]
                    for name in may_be_missing
                }
            ),
        )
    st.button("Reset", icon=":material/restart_alt:", key="usual-person", on_click=_reset)
    return person


def round_step(width: float) -> float:
    """Return the step of a slider over a range of this width: 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> round_step(60.0), round_step(1320.0), round_step(5.0)
    (1.0, 20.0, 0.05)
    """
    power = 10.0 ** math.floor(math.log10(width / STEPS))
    return float(f"{next(part * power for part in (1, 2, 5, 10) if part * power * STEPS >= width):.1g}")


def _slider(
    name: str,
    unit: str,
    ends: tuple[float, float],
    value: float | None,
    usual_value: float | None,
    key: str,
    take: Callable[[Mapping[str, float | None]], None],
) -> None:
    (low, high), unknown = ends, value is None
    key = f"{key}:{unknown}"
    st.slider(
        layout.plain(name[:1].upper() + name[1:]),
        low,
        high,
        usual_value if unknown else value,
        round_step(high - low),
        key=key,
        disabled=unknown,
        format=f"%g {unit.replace('%', '%%')}".rstrip(),
        on_change=lambda: take({name: float(f"{state.visit[key]:.6g}")}),
    )


def _several(
    label: str, options: Sequence[str], chosen: list[str], key: str, changed: Callable[[list[str]], None]
) -> None:
    def on_change() -> None:
        changed(state.visit[key])

    if len(options) <= FEW:
        st.pills(
            label,
            options,
            selection_mode="multi",
            default=chosen,
            key=key,
            on_change=on_change,
            format_func=layout.plain,
        )
    else:
        st.multiselect(label, options, chosen, key=key, on_change=on_change)


def _reset() -> None:
    state.change(PARAMETER.name, None)
    state.visit["person-turn"] = state.visit.get("person-turn", 0) + 1

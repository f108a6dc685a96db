"""The sidebar of the Frontier page: the sweeps that there are, and the form for a new one."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import pages, state, stored
from dashboard.components import layout
from dashboard.components.inputs import choice, number_with_slider
from dashboard.views.frontier import text
from dashboard.views.frontier.parameters import (
    DATA,
    EPSILONS,
    METHODS,
    MODEL,
    PRESET,
    SCORE,
    SEEDS,
    SHIPPED,
    SIZE,
    SWEEP,
    UTILITY,
)
from vips_core.jobs import supervisor
from vips_core.models.task import NON_PRIVATE, TASKS
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import RunRow
from vips_core.sweeps.grid import Size, Sweep, preset
from vips_core.sweeps.job import submit_sweep


def results_choice(sweeps: Sequence[RunRow]) -> None:
    """Offer the results that come with the project, and the visitor's own where there are some."""
    shown = state.get(SWEEP.name)
    options = SHIPPED | ({sweeps[0].id: text.OWN} if sweeps else {})
    chosen = shown if shown in SHIPPED else sweeps[0].id
    key = state.widget_key(SWEEP.name, "results", len(options))
    st.segmented_control(
        "Results",
        list(options),
        default=chosen,
        required=True,
        key=key,
        format_func=options.__getitem__,
        on_change=state.heeds(key, look_at),
        label_visibility="collapsed",
    )


def new_sweep() -> None:
    """Show the form for a sweep."""
    if choice(PRESET) == pages.OWN_GRID:
        _own_grid()
    else:
        choice(SIZE, as_buttons=True)
    try:
        sweep = asked_sweep()
        runs = len(sweep.cells())
    except ValueError as problem:
        layout.problem(str(problem))
        return
    st.button(
        f"Start {runs:,} runs",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        key="start-sweep",
        on_click=start,
        args=(sweep.to_mapping(),),
    )
    st.caption(text.A_SWEEP)
    st.caption(text.PUBLIC_ONLY)


def _own_grid() -> None:
    model = choice(MODEL)
    names = public_data(model)
    if state.get(DATA.name) not in names:
        state.put(DATA.name, names[0])
    data_key = state.widget_key(DATA.name, "sweep", model)
    st.selectbox(
        "Data",
        names,
        names.index(state.get(DATA.name)),
        key=data_key,
        on_change=state.takes(DATA.name, data_key),
    )
    methods = list(TASKS[model].methods)
    kept = [name for name in state.get(METHODS.name).split(",") if name in methods] or methods[:1]
    state.put(METHODS.name, ",".join(kept))
    methods_key = state.widget_key(METHODS.name, "sweep", model)
    st.multiselect(
        "Methods",
        methods,
        kept,
        key=methods_key,
        format_func=lambda name: METHOD_NAMES[name],
        on_change=state.takes(METHODS.name, methods_key, lambda names: ",".join(names) or methods[0]),
    )
    st.text_input(
        "Values of ε",
        state.get(EPSILONS.name),
        key="sweep-epsilons",
        max_chars=200,
        on_change=_take_epsilons,
        help="Numbers with commas between them.",
    )
    number_with_slider(SEEDS)


def _take_epsilons() -> None:
    typed = state.visit["sweep-epsilons"]
    try:
        state.change(EPSILONS.name, EPSILONS.parse(typed))
    except ValueError:
        state.complain(f"Values of ε must be numbers with commas between them, got {typed[:40]!r}.")


def public_data(model: str) -> list[str]:
    """Return the data sets that may be swept: a sweep would spend a private one's budget on trials."""
    return [row.name for row in stored.data_sets(model) if not row.private]


def asked_sweep() -> Sweep:
    """Return the sweep that the visitor has set up; `ValueError` with one sentence where it is none."""
    if state.get(PRESET.name) != pages.OWN_GRID:
        return _preset(state.get(PRESET.name), state.get(SIZE.name))
    model, data = state.get(MODEL.name), state.get(DATA.name)
    methods = state.get(METHODS.name).split(",")
    noisy = [method for method in methods if method != NON_PRIVATE]
    grids: list[dict[str, Any]] = [{"method": NON_PRIVATE}] if NON_PRIVATE in methods else []
    if noisy:
        epsilons = sorted({float(word) for word in state.get(EPSILONS.name).split(",")})
        grids.append({"method": noisy, "epsilon": epsilons})
    return Sweep.from_mapping(
        {
            "title": f"{TASKS[model].title} on {data}",
            "model": model,
            "data": data,
            "figures": ["epsilon"],
            "delta": stored.suggested_delta(stored.store().data_row(data)),
            "seeds": int(state.get(SEEDS.name)),
            "grid": grids,
        }
    )


@st.cache_data(max_entries=8, show_spinner="Setting up the paper's sweep.")
def _preset(name: str, size: Size) -> Sweep:
    """Return one of the paper's experiments; its ε take a moment to compute."""
    return preset(name, size)


def start(config: Mapping[str, Any]) -> None:
    """Queue a sweep and look at it; a refusal is kept for the page to show."""
    try:
        run_id = submit_sweep(stored.store(), dict(config))
        supervisor.start(stored.store())
    except ValueError as problem:
        state.complain(str(problem))
        return
    look_at(run_id)


def look_at(run_id: str) -> None:
    """Look at another sweep, and at what it has."""
    for name, value in ((SWEEP.name, run_id), (SCORE.name, None), (UTILITY.name, None)):
        state.change(name, value)

"""The inputs of the Frontier page, each with its name in the address, and the form for a new sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import pages, state, stored
from dashboard.components import inputs, layout
from dashboard.state import Choice, Number, Parameter, Text
from dashboard.views.frontier import text
from vips_core.models.task import NON_PRIVATE, REFINED, TASKS, TITLES
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import RunRow
from vips_core.sweeps.grid import SIZES, Size, Sweep, preset
from vips_core.sweeps.job import submit_sweep

SHIPPED = {"paper-logistic": "Stroke risk", "paper-lda": "Topics", "paper-sbn": "Digits"}  # with the project
SWEEP = Text("sweep", next(iter(SHIPPED)), rf"[0-9a-f]{{8}}|{'|'.join(SHIPPED)}")  # a run, or shipped
BESIDE = Choice("beside", "Show shipped runs too", "yes", {"yes": "Yes", "no": "No"}, text.BESIDE_HELP)
SCORE = Text("score", None, r"[\w ().,-]{1,60}")
UTILITY = Number("utility", "Target utility", None, -1e6, 1e6, "A score on public held-out records.", ())
_PRESETS = {
    "paper-logistic": "The paper's stroke risk (Figure 5)",
    "paper-lda": "The paper's topics (Figures 2, 3, Table 1)",
    "paper-sbn": "The paper's digits (Figure 7)",
    pages.OWN_GRID: "Your own grid",
}
PRESET = Choice("preset", "New sweep", "paper-logistic", _PRESETS, text.PRESET_HELP)
SIZE = Choice("size", "Size", SIZES[0], {size: size.capitalize() for size in SIZES}, text.SIZE_HELP)
MODEL = Choice("model", "Model", "logistic", TITLES, "The model that every run trains.")
DATA = Text("data", None, r"\w[\w .-]{0,63}")  # by default, the first public data set of the model's kind
EPSILONS = Text("epsilons", "0.25,0.5,1,2,4", r"\s*\d{1,4}(\.\d{1,6})?\s*", several=True)
METHODS = Text("methods", f"{REFINED},{NON_PRIVATE}", r"[a-z-]{1,20}", several=True)
SEEDS = Number("seeds", "Seeds", 5, 1, 100, text.SEEDS_HELP, (1, 2, 3, 5, 8, 10, 20, 50, 100), whole=True)
_FORM: tuple[Parameter, ...] = (PRESET, SIZE, MODEL, DATA, EPSILONS, METHODS, SEEDS)
PARAMETERS: tuple[Parameter, ...] = (SWEEP, BESIDE, SCORE, UTILITY, *_FORM)


def results_choice(sweeps: Sequence[RunRow]) -> None:
    """Offer the results that come with the project, and the visitor's own if there are any."""
    shown = state.get(SWEEP.name)
    options = SHIPPED | ({sweeps[0].id: text.OWN} if sweeps else {})
    value = shown if shown in SHIPPED else sweeps[0].id
    look = {"width": "content", "label_visibility": "collapsed"}
    inputs.buttons(SWEEP.name, "Results", options, value, read=_with_score_reset, **look)


def new_sweep() -> None:
    """Show the form for a new sweep."""
    if inputs.choice(PRESET) == pages.OWN_GRID:
        _own_grid()
    else:
        inputs.choice(SIZE, as_buttons=True)
    try:
        sweep = asked_sweep()
        runs = len(sweep.cells())
    except ValueError as problem:
        layout.problem(str(problem))
        return
    inputs.start_button(f"Start {runs:,} runs", "start-sweep", start, sweep.to_mapping())
    st.caption(text.A_SWEEP)
    st.caption(text.PUBLIC_ONLY)


def _own_grid() -> None:
    model = inputs.choice(MODEL)
    inputs.one_existing(DATA, "Data", {name: name for name in public_data(model)})
    inputs.several_of(METHODS.name, "Methods", {name: METHOD_NAMES[name] for name in TASKS[model].methods})
    st.text_input(
        "Values of ε",
        state.get(EPSILONS.name),
        key="sweep-epsilons",
        max_chars=200,
        on_change=_take_epsilons,
        help="Numbers, separated by commas.",
    )
    inputs.number_with_slider(SEEDS)


def _take_epsilons() -> None:
    typed = state.visit["sweep-epsilons"]
    try:
        state.change(EPSILONS.name, EPSILONS.parse(typed))
    except ValueError:
        state.complain(f"Values of ε must be numbers separated by commas, got {typed[:40]!r}.")


def public_data(model: str) -> list[str]:
    """Return the data sets that may be swept: on private data, every trial would spend budget."""
    return [row.name for row in stored.data_sets(model) if not row.private]


def asked_sweep() -> Sweep:
    """Return the sweep that the visitor has set up, or raise `ValueError` with one sentence."""
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
            "title": f"{TITLES[model]} on {data}",
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
    """Return one of the paper's experiments; finding its values of ε takes a moment."""
    return preset(name, size)


def start(config: Mapping[str, Any]) -> None:
    """Queue a sweep and show it."""
    with state.complaining():
        look_at(stored.start(submit_sweep, dict(config)))


def look_at(run_id: str) -> None:
    """Show another sweep, and reset the score and the target utility."""
    state.change(SWEEP.name, _with_score_reset(run_id))


def _with_score_reset(run_id: str) -> str:
    for parameter in (SCORE, UTILITY):
        state.put(parameter.name, None)
    return run_id

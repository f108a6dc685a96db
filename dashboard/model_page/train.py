"""Training: the requests that a page's values make, their submission, and the runs that an address names."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout
from dashboard.model_page.definition import ModelPage
from vips_core.jobs import submission, supervisor
from vips_core.jobs.request import Request
from vips_core.store.rows import DataRow, RunRow

_SHARED = ("data", "delta", "epochs", "batch", "accountant", "seed", "engine")


def button(
    page: ModelPage, *, ask: Callable[[], None] | None = None, ready: bool = True, refusal: str = ""
) -> None:
    """Show the button that trains, and below it what is asked before a budget is spent.

    The button stays where it is while it asks, so that a second click on it spends nothing.

    Parameters
    ----------
    ask
        Draws, below the answers, which must not move, what yes would cost; None where nothing is asked.
    ready
        Whether it is known what would be spent.
    refusal
        Why nothing may be spent: the answer to a click that came before this was known.
    """
    turn = state.visit.get("turn", 0)
    if refusal and state.visit.get("asked") == turn:
        _not_now()
        state.complain(refusal)
    asked = ask is not None and state.visit.get("asked") == turn
    _button(page, "Train", turn, asks=ask is not None, disabled=asked)
    if asked and ask is not None:
        with st.container(border=True):
            st.markdown(f"**Spend budget of {layout.plain(state.get('data'))}?**")
            st.button("Not now", key="not-now", width="stretch", on_click=_not_now)
            _button(page, "Spend and train", turn, disabled=not ready)
            ask()


def _button(page: ModelPage, label: str, turn: int, *, asks: bool = False, disabled: bool = False) -> None:
    st.button(
        label,
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        key="ask" if asks else "train",
        on_click=_pressed,
        args=(page, turn, asks),
        disabled=disabled,
    )


def _pressed(page: ModelPage, turn: int, asks: bool) -> None:
    if asks:
        state.visit["asked"] = turn
    else:
        clicked(page, turn)


def _not_now() -> None:
    state.visit["asked"] = None


def clicked(page: ModelPage, turn: int) -> None:
    """Submit once for each time that the button was drawn: a second click on it must not spend again."""
    if turn == state.visit.get("turn", 0):
        state.visit["turn"] = turn + 1
        state.settle()
        state.put("upload", None)
        submit(page)


def submit(page: ModelPage) -> None:
    """Queue the chosen runs and put them into the address; refusals are kept for the page to show."""
    run_ids = []
    try:
        for request in requests(page):
            same = stored.same_run(request)
            run_ids.append(submission.submit(stored.store(), request) if same is None else same.id)
        supervisor.start(stored.store())
    except ValueError as problem:
        state.complain(str(problem))
    if run_ids:
        state.put("runs", ",".join(run_ids))


def requests(page: ModelPage, value: Callable[[str], Any] = state.get) -> list[Request]:
    """Return one request for each chosen method; `ValueError` with one sentence where they do not agree.

    `value` gives what is chosen by its name in the address; by default it is the visitor's.
    """
    names = (*_SHARED, *page.task.options)
    shared = {"model": page.task.name} | {name: value(name) for name in names}
    spending = "epsilon" if value("noise") is None else "noise"
    return [
        Request.from_mapping(shared | {"method": method} | _spent(page, method, spending, value))
        for method in value("methods").split(",")
    ]


def _spent(page: ModelPage, method: str, spending: str, value: Callable[[str], Any]) -> dict[str, float]:
    """Return ε or σ, whichever is given; nothing for a method that takes neither."""
    takes_none = {"epsilon", "noise"} <= set(page.task.methods[method].refused_options)
    return {} if takes_none else {spending: value(spending)}


def runs_of_visit(page: ModelPage, row: DataRow) -> dict[str, RunRow]:
    """Return the runs that the address names, by method; those that are not there are complained of."""
    runs: dict[str, RunRow] = {}
    for run_id in filter(None, (state.get("runs") or "").split(",")):
        try:
            run = stored.store().run(run_id)
        except ValueError as problem:
            state.complain(f"In the address, {problem}.")
            state.put("runs", None)
            return {}
        if run.request.get("model") == page.task.name and run.data == row.name:
            runs.setdefault(run.request["method"], run)
    return {method: runs[method] for method in page.task.methods if method in runs}

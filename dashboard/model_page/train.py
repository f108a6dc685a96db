"""Training: the button, the submission of the chosen runs, and the runs that an address names."""

from collections.abc import Callable

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout
from dashboard.components.inputs import start_button
from dashboard.model_page.cost_preview import requests
from dashboard.model_page.definition import ModelPage
from vips_core.jobs import submission, supervisor
from vips_core.store.rows import DataRow, RunRow


def button(
    page: ModelPage, *, ask: Callable[[], None] | None = None, ready: bool = True, refusal: str = ""
) -> None:
    """Show the button that trains, and below it the question that a private data set needs.

    The button keeps its place while the question stands, so that a second click on it spends nothing.

    Parameters
    ----------
    ask
        Draws what the runs would spend, below the two answers, which must not move; None asks nothing.
    ready
        Whether the cost is known.
    refusal
        Why nothing may be spent, which answers a click that came before this was known.
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
    start_button(label, "ask" if asks else "train", _pressed, page, turn, asks, disabled=disabled)


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
    with state.complaining():
        for request in requests(page):
            same = stored.same_run(request)
            run_ids.append(submission.submit(stored.store(), request) if same is None else same.id)
        supervisor.start(stored.store())
    if run_ids:
        state.put("runs", ",".join(run_ids))


def runs_of_visit(page: ModelPage, row: DataRow) -> dict[str, RunRow]:
    """Return the runs that the address names, by method, and complain of those that do not exist."""
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

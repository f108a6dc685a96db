"""Training: the button, the submission of the chosen runs, and the runs that an address names."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout
from dashboard.components.inputs import start_button
from dashboard.model_page import cost_preview
from dashboard.model_page.cost_preview import Quote, requests
from dashboard.model_page.definition import ModelPage
from vips_core.jobs import submission
from vips_core.store.rows import DataRow, RunRow


def button(page: ModelPage, row: DataRow, quote: Quote | None) -> None:
    """Show the button that trains and, for a private data set, the question that confirms it.

    The button keeps its place while the question is shown, so that a second click on it spends nothing. If
    the runs are refused once their cost is known, the page withdraws the question and says why.
    """
    turn = state.visit.get("turn", 0)
    asked = state.visit.get("asked") == turn
    refusal = cost_preview.refusal(row, quote)
    if refusal and asked:
        _ask(None)
        state.complain(refusal)
    if refusal or not row.private:
        start_button("Train", "train", clicked, page, turn)
        return
    start_button("Train", "ask", _ask, turn, disabled=asked)
    if asked:
        with st.container(border=True):
            st.markdown(f"**Spend budget of {layout.plain(row.name)}?**")
            st.button("Not now", key="not-now", width="stretch", on_click=_ask, args=(None,))
            start_button("Spend and train", "train", clicked, page, turn, disabled=quote is None)
            st.markdown(cost_preview.spending(quote))  # below the buttons, which must not move


def _ask(turn: int | None) -> None:
    """Ask whether to spend budget; None withdraws the question."""
    state.visit["asked"] = turn


def clicked(page: ModelPage, turn: int) -> None:
    """Submit the runs once per drawing of the button: a second click on it must not spend again."""
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
            run_ids.append(stored.start(submission.submit, request) if same is None else same.id)
    if run_ids:
        state.put("runs", ",".join(run_ids))


def runs_of_visit(page: ModelPage, row: DataRow) -> dict[str, RunRow]:
    """Return the runs that the address names, by method, and complain about those that do not exist."""
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

"""Parts of the Runs page: the table of runs, their comparison, configs, and budgets."""

import time
from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import background, components, history, layout, library, pages, reports, session
from dashboard.layout import card
from vips_core.runs import supervisor
from vips_core.runs.request import Request
from vips_core.runs.rows import RunRow
from vips_core.runs.tasks import TASKS
from vips_core.sweeps.grid import Sweep

_POLL, _REDRAW = 0.5, 3.0  # seconds


def part() -> str:
    """Choose between runs, budgets and configs; an import that was submitted leads back to the runs."""
    value, key = session.get("part"), f"part:{session.state.get('submitted', 0)}"
    st.segmented_control(
        history.PART.label, list(history.PART.options), default=value, required=True, width="stretch",
        key=key, format_func=history.PART.options.get, help=history.PART.help,
        on_change=session.takes("part", key),
    )  # fmt: skip
    return value


def filters(runs: Sequence[RunRow]) -> list[RunRow]:
    """Show the filters and return the runs that match."""
    names = [history.ALL, *dict.fromkeys(run.data for run in runs)]
    if session.get("data") not in names:
        session.put("data", history.ALL)
    key = f"filter:data:{len(names)}"
    components.choice(history.MODEL)
    st.selectbox(
        "Data", names, names.index(session.get("data")), key=key,
        format_func=lambda name: "All data sets" if name == history.ALL else name,
        on_change=session.takes("data", key),
    )  # fmt: skip
    components.choice(history.STATUS)
    components.choice(history.METHOD)
    return history.filtered(runs, *(session.get(name) for name in ("model", "data", "status", "method")))


def chosen(runs: Sequence[RunRow]) -> list[RunRow]:
    """Return the runs that the address names; those that are not there are complained of."""
    known = {run.id: run for run in runs}
    wanted = [name for name in (session.get("runs") or "").split(",") if name]
    for name in wanted:
        if name not in known:
            session.complain(f"There is no run {name!r}.")
    found = [known[name] for name in wanted if name in known]
    session.put("runs", ",".join(run.id for run in found) or None)
    return found


def table(shown: Sequence[RunRow], selected: Sequence[RunRow]) -> None:
    """Show the runs; those whose rows are marked are compared below."""
    ids, marked = [run.id for run in shown], {run.id for run in selected}
    rows = history.table(shown)
    # Rows that have moved must not stay marked by their place, so that other rows are another widget.
    key = f"history:{hash(tuple(ids))}:{session.state.get('marked', 0)}"

    @session.whole
    def take() -> None:
        places = session.state[key]["selection"]["rows"]
        session.change("runs", ",".join(ids[place] for place in places if place < len(ids)) or None)

    st.dataframe(
        rows, hide_index=True, key=key, on_select=take, selection_mode="multi-row",
        selection_default={"selection": {"rows": [i for i, name in enumerate(ids) if name in marked]}},
        height=min(420, 40 + 35 * max(1, len(rows))), alt="Runs, newest first",
        column_config={
            "Progress": st.column_config.ProgressColumn(format="%d%%", min_value=0, max_value=100, width=80),
            "Held-out score": st.column_config.TextColumn(width=140),
            "Started": st.column_config.DatetimeColumn("Started (UTC)", format="D MMM, HH:mm", width=105),
            "Seconds": st.column_config.NumberColumn(format="%.0f", width=70),
        },
    )  # fmt: skip


def compare(runs: Sequence[RunRow], later: background.Later) -> None:
    """Show the chosen runs side by side."""
    for run in runs:
        with st.container(border=True):
            _actions(run)
    home = str(library.store().home)
    fits = [run for run in runs if run.kind == "fit"]
    ended = [run for run in fits if run.status not in library.ALIVE]
    if not fits:
        return
    found: Mapping[str, history.Released | None] = {
        run.id: later(history.released, home, run.id, run.status) for run in ended
    }
    left, right = st.columns(2, gap="medium")
    with left, card("Settings", "What differs." if len(fits) > 1 else ""):
        settings = history.settings(fits)
        if len(settings):
            components.text_table(settings)
        else:
            st.markdown("These runs had the same settings.")
    with right, card("ε by every accountant", "From the ledger of what was released, at each run's δ."):
        accounts = history.accounts_table(fits, found)
        if len(accounts):
            components.text_table(accounts)
            components.csv_button(accounts, "accounts")
        else:
            st.markdown("There is no ledger yet.")
    with card("Held-out scores", "On public held-out records. Training records are never scored."):
        _scores(fits, found)


def _scores(fits: Sequence[RunRow], found: Mapping[str, history.Released | None]) -> None:
    scores = history.scores_table(fits, found)
    if len(scores):
        components.text_table(scores)
    curves = history.score_curves(fits)
    for model in dict.fromkeys(curves["Model"]):
        part, score = curves[curves["Model"] == model], TASKS[model].watched
        alt = f"Held-out {score} after each step, a line for each run."
        components.chart(history.curves_figure(part, score), f"curves-{model}", alt, lambda part=part: part)
    if not len(scores) and not len(curves):
        st.markdown("There are no scores.")


def _actions(run: RunRow) -> None:
    about = f"**{history.label_of_method(run)}** on {layout.plain(run.data)}, run {run.id}: {run.status}"
    told, buttons = st.columns([2, 3], vertical_alignment="center")
    told.markdown(about)
    if run.error:
        with told:
            layout.problem(run.error)
    with buttons.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        if run.kind == "sweep":
            st.page_link(pages.page("frontier"), label="Open", query_params={"sweep": run.id})
        else:
            values = history.page_values(Request.from_mapping(run.request)) | {"runs": run.id}
            st.page_link(pages.page(history.PAGES[run.request["model"]]), label="Open", query_params=values)
        if run.status in library.ALIVE:
            st.button("Cancel", key=f"cancel:{run.id}", on_click=_do, args=("cancel", run.id))
            return
        reports.buttons(run.id)
        st.button(
            "Unpin" if run.pinned else "Pin", key=f"pin:{run.id}:{run.pinned}", icon=":material/keep:",
            on_click=_do, args=("pin", run.id, not run.pinned),
        )  # fmt: skip
        with st.popover("Delete", icon=":material/delete:", key=f"ask:{run.id}"):
            st.markdown("This removes the run and its files for good. The ledger keeps what it cost.")
            st.button(
                f"Delete run {run.id}", key=f"delete:{run.id}", type="primary", on_click=_do,
                args=("delete", run.id),
            )  # fmt: skip


@session.whole
def _do(action: str, run_id: str, *rest: bool) -> None:
    try:
        getattr(library.store(), action)(run_id, *rest)
    except ValueError as problem:
        session.complain(str(problem))
        return
    if action == "delete":
        kept = [name for name in (session.get("runs") or "").split(",") if name != run_id]
        session.change("runs", ",".join(kept) or None)
    session.state["marked"] = session.state.get("marked", 0) + 1  # the table starts from what is chosen


def wait(runs: Sequence[RunRow]) -> None:
    """Follow live runs, and draw the page again when they have moved on; any input ends the wait."""
    start, before = time.monotonic(), _states(runs)
    while True:
        background.pause(_POLL)
        supervisor.start(library.store())
        now = _states(library.store().runs())
        ended = {key: value[0] for key, value in now.items()} != {
            key: value[0] for key, value in before.items()
        }
        if ended or (now != before and time.monotonic() - start > _REDRAW):
            st.rerun()


def _states(runs: Sequence[RunRow]) -> dict[str, tuple[str, int]]:
    return {run.id: (run.status, run.step) for run in runs}


def import_config() -> None:
    """Show the form for a config, and what can be done with a good one."""
    with card("Run a config", "A run's or a sweep's config.toml, from a report or written by hand."):
        given = st.file_uploader("Config file", ["toml"], max_upload_size=1, key="config-file")
        text = st.text_area(
            "Or paste it here", height=220, key="config-text", max_chars=history.LARGEST_CONFIG
        )
        if given is not None:
            text = given.getvalue().decode("utf-8", errors="replace")
        if not text.strip():
            return
        try:
            config = history.read_config(text)
        except ValueError as problem:
            layout.problem(str(problem))
            return
        st.success(layout.plain(_about(config)), icon=":material/check:")
        with st.container(horizontal=True):
            st.button(
                "Submit", type="primary", icon=":material/play_arrow:", key="submit", on_click=_submit,
                args=(text,),
            )  # fmt: skip
            if isinstance(config, Request):
                page = pages.page(history.PAGES[config.model])
                st.page_link(page, label="Open on its page", query_params=history.page_values(config))


def _about(config: Request | Sweep) -> str:
    if isinstance(config, Request):
        return f"A run of {config.model} ({config.method}) on {config.data}."
    return f"A sweep of {config.model} on {config.data} with {len(config.cells()):,} cells."


@session.whole
def _submit(text: str) -> None:
    try:
        config = history.read_config(text)
        store = library.store()
        run_id = (
            store.submit(config) if isinstance(config, Request) else store.submit_sweep(config.to_mapping())
        )
        supervisor.start(store)
    except ValueError as problem:
        session.complain(str(problem))
        return
    session.change("runs", run_id)
    session.put("part", "history")
    session.state["submitted"] = session.state.get("submitted", 0) + 1

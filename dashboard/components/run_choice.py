"""Which stored run a page looks at: the one in its address, and the list of all to choose from."""

from collections.abc import Callable, Sequence

import streamlit as st

from dashboard import state
from vips_core.store.rows import RunRow


def chosen_run(runs: Sequence[RunRow], parameter: str) -> RunRow | None:
    """Return the run that the address names, otherwise the newest; None where there is none.

    Parameters
    ----------
    runs
        Those that the page can look at, the newest first.
    parameter
        Its name in the address, which is also what the page calls such a run.
    """
    known = {run.id: run for run in runs}
    run_id = state.get(parameter)
    if run_id is not None and run_id not in known:
        state.complain(f"In the address, there is no {parameter} {run_id!r}.")
    if run_id not in known:
        state.put(parameter, next(iter(known), None))
    return known.get(state.get(parameter))


def run_list(
    runs: Sequence[RunRow],
    run: RunRow | None,
    parameter: str,
    label: Callable[[RunRow], str],
    look_at: Callable[[str], None],
) -> None:
    """List the runs, of which `run` is looked at; `look_at` gets the id of another one that is chosen.

    A label must not change with the run's progress: a browser that still has the old one would report it.
    """
    if run is None:
        return
    labels = {item.id: label(item) for item in runs}
    key = state.widget_key(parameter, "runs", len(labels))
    st.selectbox(
        parameter.capitalize(),
        list(labels),
        list(labels).index(run.id),
        key=key,
        format_func=lambda run_id: labels[run_id],
        on_change=state.heeds(key, look_at),
    )

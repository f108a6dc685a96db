"""Live runs on a page: following and cancelling them, and why one failed."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dashboard import background, state, stored
from vips_core.store.rows import RunRow

_POLL = 0.1  # seconds between checks of the runs
_STARTED = 1.0  # seconds before a changed status reruns the page; short runs end sooner


def follow(
    runs: Sequence[RunRow],
    *,
    read: Callable[[], Sequence[RunRow]] | None = None,
    show: Callable[[Sequence[RunRow]], None] | None = None,
    redraw: float = math.inf,
    rest: float = 0.0,
) -> None:
    """Follow the runs that a page shows, and rerun the page when one ends or has begun.

    Parameters
    ----------
    read
        Reads the runs again; by default one by one.
    show
        Draws progress, at first and whenever something changed.
    redraw
        Seconds after which progress alone reruns the page.
    rest
        Seconds that the browser needs to draw the page before a rerun.
    """
    start = time.monotonic()
    shown: Sequence[RunRow] | None = None
    changes = (rest, _live), (_STARTED, _statuses), (redraw, _steps)  # seconds before each reruns the page

    def have_changed() -> bool:
        nonlocal shown
        stored.supervise()
        now = [stored.store().run(run.id) for run in runs] if read is None else read()
        waited = time.monotonic() - start
        if any(waited >= after and what(now) != what(runs) for after, what in changes):
            return True
        if show is not None and now != shown:
            show(now)
            shown = now
        return False

    background.wait_until(have_changed, every=_POLL)
    st.rerun()


def follow_bar(run: RunRow, bar: Any, unit: str, redraw: float = math.inf) -> None:
    """Follow a run with a bar that counts its steps in this unit; `redraw` is as for `follow`."""
    follow([run], show=lambda now: draw_bar(bar, now[0], unit), redraw=redraw)


def draw_bar(bar: Any, run: RunRow, unit: str, before: float = 0.0) -> None:
    """Show the steps of a run in the place of its bar; `before` is the share until its first step."""
    share = run.step / run.steps if run.steps and run.step else before
    bar.progress(min(1.0, share), f"{run.step:,} of {run.steps:,} {unit}")


def cancel_button(run_id: str, **more: Any) -> None:
    """Show a button that stops a live run within one step."""
    key, icon = f"cancel:{run_id}", ":material/stop_circle:"
    st.button("Cancel", key=key, icon=icon, on_click=_cancel, args=(run_id,), **more)


def why_failed(run: RunRow) -> str:
    """Return why a run failed, without the server's paths: the command shows the folder of saved results."""
    reason, saved, _ = (run.error or "").partition(" was kept in ")
    return (
        f"{reason} was kept: the command “vips-explorer runs show {run.id}” says where" if saved else reason
    )


def _cancel(run_id: str) -> None:
    with state.complaining():
        stored.store().cancel(run_id)


def _live(runs: Sequence[RunRow]) -> set[str]:
    return {run.id for run in runs if run.status in stored.LIVE}


def _statuses(runs: Sequence[RunRow]) -> dict[str, str]:
    return {run.id: run.status for run in runs}


def _steps(runs: Sequence[RunRow]) -> dict[str, int]:
    return {run.id: run.step for run in runs}

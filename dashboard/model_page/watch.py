"""Progress of runs: a bar and a Cancel button for each, ε so far, and the held-out score."""

import math
import time
from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import state, stored
from dashboard.components import charts, layout, live_runs, price
from dashboard.components.formats import at_most, number
from dashboard.model_page.definition import ModelPage
from vips_core.store.rows import CANCELLED, DONE, FAILED, QUEUED, RUNNING, RunRow

_CURVES = 2.0  # seconds before the first curve and between curves, since drawing one delays results


def show(page: ModelPage, runs: Mapping[str, RunRow]) -> "ProgressCard | None":
    """Show the progress of each run; return the card that follows the live ones, None where none is live."""
    for method, run in runs.items():
        label = page.labels[method]
        if run.status == FAILED:
            layout.problem(f"{label} failed: {live_runs.why_failed(run)}")
        elif run.status == CANCELLED:
            st.info(
                f"{label} was cancelled after {run.step:,} of {run.steps:,} steps.{_cost_of_stopping(run)}"
            )
    names, live = [run.id for run in runs.values()], [run.id for run in runs.values() if _lives(run)]
    if live:
        state.visit["watched"] = names
    if state.visit.get("watched") != names:
        return None
    with layout.fresh("progress", (*names, *live)), st.container(border=True):
        progress = ProgressCard(page, list(runs.values()))
    progress.update(list(runs.values()))
    return progress if live else None


def _cost_of_stopping(run: RunRow) -> str:
    """State the cost of a stopped run."""
    whole = price.whole_run(run)
    if run.epsilon is None or whole is None:
        return ""
    return (
        f" Planned with these steps only, it would have cost ε = {at_most(run.epsilon)}. Whoever stops a run "
        f"may have looked at it first, so the ε of the whole run holds: {at_most(whole)}."
    )


def _spent(run: RunRow) -> str:
    if run.epsilon is None:
        return "without privacy"
    if run.status != RUNNING:
        return f"ε = {at_most(run.epsilon)}"
    # 0 until the worker first reports the cost of its releases
    return f"ε = {at_most(run.epsilon)} so far" if run.epsilon else "ε: computing…"


def _lives(run: RunRow) -> bool:
    return run.status in stored.LIVE


class ProgressCard:
    """A bar for each run, and a chart of their scores, updated in place.

    A run that has ended keeps its bar during the visit, so that no result moves when another arrives.
    """

    def __init__(self, page: ModelPage, runs: Sequence[RunRow]) -> None:
        self._page = page
        self._bars = {run.id: self._bar(run) for run in runs}
        self._chart: DeltaGenerator | None = None
        self._points, self._drawn = 1, 0.0  # points in the last curve (a curve needs two), and its time
        if any(map(_lives, runs)):
            st.caption("You can close this page: training continues. Bookmark it to come back.")
        else:
            st.caption("Done. Bookmark this page to come back to these results.")

    def place_chart(self) -> None:
        """Place the chart of scores here, below all results."""
        self._chart = st.empty()

    def _bar(self, run: RunRow) -> DeltaGenerator:
        bar, button = layout.narrow_columns(f"run-{run.id}", [5, 1], vertical_alignment="center")
        if _lives(run):
            with button:
                help = f"Stop {self._page.labels[run.request['method']]} within one step."
                live_runs.cancel_button(run.id, help=help, width="stretch")
        place: DeltaGenerator = bar.empty()
        return place

    def update(self, runs: Sequence[RunRow]) -> None:
        """Show the present progress of the runs."""
        for run in runs:
            share = 1.0 if run.status == DONE else min(1.0, run.step / max(1, run.steps))
            self._bars[run.id].progress(share, self._standing(run))
        began = min((run.started for run in runs if _lives(run) and run.started), default=math.inf)
        if self._chart is not None and time.time() > _CURVES + max(began, self._drawn):
            self._draw_curves([run for run in runs if run.validation_scores], self._chart)

    def _draw_curves(self, runs: Sequence[RunRow], place: DeltaGenerator) -> None:
        points, score = sum(len(run.validation_scores) for run in runs), self._page.task.validation_score
        if points > self._points:
            self._points, self._drawn = points, time.time()
            scores = {run.request["method"]: run.validation_scores for run in runs}
            planned = [run.steps for run in runs]
            figure = charts.scores_over_steps(scores, self._page.labels, score, planned=planned)
            with place:
                charts.plot(figure, f"live:{points}", f"Held-out {score} so far, by iteration.")

    def _standing(self, run: RunRow) -> str:
        label = self._page.labels[run.request["method"]]
        if run.status == QUEUED:
            return f"**{label}** is waiting for its turn"
        if run.status == RUNNING and run.step == 0:
            return f"**{label}** is preparing its first step (the first run after installation compiles code)"
        return f"**{label}**: step {run.step:,} of {run.steps:,}, {_spent(run)}{self._score(run)}"

    def _score(self, run: RunRow) -> str:
        """Return the score on all held-out records or, while training, on those scored during training."""
        name = self._page.task.validation_score
        whole = stored.held_out(run).get(name)
        if whole is None and not run.validation_scores:
            return ""
        of = "" if whole is not None else self._page.followed(run.data)
        return f", held-out {name} {number(run.validation_scores[-1][1] if whole is None else whole)}{of}"

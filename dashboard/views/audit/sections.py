"""The cards of the Audit page: how far an audit is, what it says, and its ROC."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import stored
from dashboard.components import downloads, layout, live_runs
from dashboard.components.bounds import at_least, at_most
from dashboard.components.charts import chart
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, text_table
from dashboard.views.audit import text
from vips_core.audits.verdict import NEVER_PROVES, Verdict
from vips_core.reports.audit_report import attack_figure, roc_caption, verdict_table
from vips_core.store.rows import FAILED, RunRow


def invitation() -> None:
    """Say what an audit is, where there is none."""
    with card("No audit yet"):
        st.markdown(text.INVITATION)
        st.markdown("Choose model, data and plan, and press **Start the audit**.")


def progress(run: RunRow) -> Any:
    """Say how far a live audit is; return the place of its bar."""
    with card(text.label(run)):
        st.markdown(text.INVITATION)
        bar = st.empty()
        _draw_bar(bar, run)
        live_runs.cancel_button(run.id)
    return bar


def follow(run: RunRow, place: Any) -> None:
    """Follow a live audit to its end."""

    def show(now: Sequence[RunRow]) -> None:
        for item in now:
            _draw_bar(place, item)

    live_runs.follow([run], show=show)


def _draw_bar(place: Any, run: RunRow) -> None:
    place.progress(run.step / max(1, run.steps), f"{run.step:,} of {run.steps:,} {_unit(run)}")


def _unit(run: RunRow) -> str:
    return "releases" if run.request["attack"] == "wall" else "steps of the run"


def ended_without_result(run: RunRow) -> None:
    """Say why there is nothing to show."""
    with card(text.label(run)):
        if run.status == FAILED:
            layout.problem(text.state(run))
        else:
            st.markdown(text.state(run) or "This audit has left no result.")


def result(run: RunRow, verdict: Verdict, roc: pd.DataFrame) -> None:
    """Show the verdict first, then the numbers, then the curve."""
    tone = st.error if verdict.refuted else st.info
    tone(f"**{verdict.sentence()}** {NEVER_PROVES}", icon=":material/policy:")
    numbers = {
        f"Claimed ε of {verdict.target}": "∞" if verdict.claimed is None else at_most(verdict.claimed),
        "Measured ε, at least": at_least(verdict.measured),
        "Measured over claimed": "–" if verdict.ratio is None else f"{verdict.ratio:.0%}",
    }
    for column, (label, value) in zip(layout.narrow_columns("audit", 3), numbers.items(), strict=True):
        layout.metric(label, value, column)
    left, right = st.columns([3, 2], gap="medium")
    with left, card("The attack under the claimed curve", roc_caption(verdict)):
        chart(attack_figure(roc), "audit-roc", text.ROC_ALT, lambda: roc)
    with right, card("What was attacked"):
        protected = layout.protected(stored.store().data_of(run).unit)
        st.markdown(f"{text.explanation(verdict)} {protected} {text.state(run)}")
        st.markdown(verdict.inspection_sentence())
        st.markdown(verdict.support_sentence())
        table = verdict_table(verdict)
        text_table(table)
        with st.container(horizontal=True):
            csv_button(table, "audit")
            if run.status not in stored.LIVE:
                downloads.buttons(run.id)

"""The result of an audit on the Audit page: the verdict, the numbers behind it and the ROC."""

import pandas as pd
import streamlit as st

from dashboard import stored
from dashboard.components import layout, stored_runs
from dashboard.components.charts import chart
from dashboard.components.formats import at_least, at_most
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, text_table
from dashboard.views.audit import text
from vips_core.audits import job
from vips_core.audits.verdict import NEVER_PROVES, Verdict
from vips_core.reports.audit_report import attack_figure, roc_caption, verdict_table
from vips_core.store.rows import FAILED, RunRow


@st.cache_data(max_entries=32, show_spinner=False)
def _verdict(home: str, run_id: str, status: str) -> tuple[Verdict, pd.DataFrame] | None:
    """Return the verdict and ROC of an ended audit, or None if it left no result."""
    return job.results(stored.store(), run_id)


def show(run: RunRow) -> None:
    """Show the verdict, the numbers behind it and the ROC, or why there is no result."""
    left = _verdict(str(stored.store().home), run.id, run.status)
    if left is None:
        with card(text.label(run)):
            tell = layout.problem if run.status == FAILED else st.markdown
            tell(text.state(run) or "This audit left no result.")
        return
    verdict, roc = left
    tone = st.error if verdict.refuted else st.info
    tone(f"**{verdict.sentence()}** {NEVER_PROVES}", icon=":material/policy:")
    numbers = {
        f"Claimed ε of {verdict.target}": "∞" if verdict.claimed is None else at_most(verdict.claimed),
        "Measured ε, at least": at_least(verdict.measured),
        "Measured over claimed": "–" if verdict.ratio is None else f"{verdict.ratio:.0%}",
    }
    for column, (label, value) in zip(layout.narrow_columns("audit", 3), numbers.items(), strict=True):
        layout.metric(label, value, column)
    left_half, right_half = st.columns([3, 2], gap="medium")
    with left_half, card("Measured and claimed curves", roc_caption(verdict)):
        chart(attack_figure(roc), "audit-roc", text.ROC_ALT, lambda: roc)
    with right_half, card("What was attacked"):
        protected = layout.protected(stored.store().data_of(run).unit)
        st.markdown(f"{text.explanation(verdict)} {protected} {layout.plain(text.state(run))}")
        st.markdown(verdict.inspection_sentence())
        st.markdown(verdict.support_sentence())
        table = verdict_table(verdict)
        text_table(table)
        with st.container(horizontal=True):
            csv_button(table, "audit")
            if run.status not in stored.LIVE:
                stored_runs.report_buttons(run.id)

"""What the Audit page asks of the store."""

import pandas as pd
import streamlit as st

from dashboard import stored
from vips_core.audits import job
from vips_core.audits.verdict import Verdict
from vips_core.store.rows import RunRow


def results(run: RunRow) -> tuple[Verdict, pd.DataFrame] | None:
    """Return verdict and ROC of an audit that has ended, None where it has left none."""
    return _results(str(stored.store().home), run.id, run.status)


@st.cache_data(max_entries=32, show_spinner=False)
def _results(home: str, run_id: str, status: str) -> tuple[Verdict, pd.DataFrame] | None:
    return job.results(stored.store(), run_id)

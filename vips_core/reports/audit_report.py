"""The report of an audit: the claim, the lower bound from the attack, and the attack's ROC."""

from typing import TYPE_CHECKING

import numpy as np

from vips_core import rounding
from vips_core.audits import job
from vips_core.audits.verdict import CLAIMED, FALSE, NEVER_PROVES, TRUE, WALL, Verdict
from vips_core.privacy.accountants import stated
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports import bundle, page
from vips_core.reports.exhibits import Exhibit
from vips_core.reports.figures import BLUE, GREY, RATES, VERMILION, Figure, figure, log_axis
from vips_core.reports.traces import band, line, marked_line
from vips_core.store.rows import versions
from vips_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


def attack_figure(roc: "pd.DataFrame") -> Figure:
    """Draw the attack's measured ROC, with its interval, and the claimed limit on it.

    Parameters
    ----------
    roc
        The table of `vips_core.audits.verdict.roc`.

    Returns
    -------
    dict
        A Plotly figure with logarithmic axes, which leave out rates of 0.
    """
    shown = roc[roc[FALSE] > 0]
    rates = shown[FALSE].to_numpy()
    least = float(rates.min(initial=1.0))
    floor = least / 2
    measured = np.maximum(shown[TRUE], floor)
    small = {"size": 4, "color": BLUE}
    traces = [
        line("Claimed limit", rates, shown[CLAIMED], VERMILION, "dash", hover=RATES),
        marked_line("Measured", rates, measured, BLUE, hover=RATES, marker=small),
        line("Guessing", [least, 1], [least, 1], GREY, "dot"),
    ]
    if f"{TRUE}, low" in shown:
        # From the attack's worst case within both intervals to its best.
        low = np.interp(rates, shown[f"{FALSE}, high"], shown[f"{TRUE}, low"], left=0)
        high = np.interp(rates, shown[f"{FALSE}, low"], shown[f"{TRUE}, high"])
        low, high = np.maximum(low, floor), np.maximum(high, floor)
        traces.insert(0, band(rates, low, high, BLUE, 0.18, name="Interval", showlegend=True))
    titles = ("Outsiders falsely accused (FPR)", "Participants found (TPR)")
    return figure(traces, *(log_axis(title, float(np.log10(floor)), 0.05) for title in titles))


def roc_caption(verdict: Verdict) -> str:
    """Return the caption of the ROC, with how certain the curve is."""
    intervals = (
        "with Clopper–Pearson intervals of both rates at each threshold"
        if verdict.attack == WALL
        else "without intervals, because the canaries of one run share its noise"
    )
    return f"Measured rates of the attack, {intervals}. Dashed: the limit that the claim sets for any attack."


def verdict_table(verdict: Verdict) -> "pd.DataFrame":
    """Return claim, lower bound and ratio, one row each."""
    import pandas as pd

    rows = {
        f"Claimed ε of {verdict.target}": stated(verdict.claimed),
        "Measured ε, at least": f"{rounding.down(verdict.measured):g}",
        "Measured over claimed": "–" if verdict.ratio is None else f"{verdict.ratio:.1%}",
        "Confidence": f"{verdict.confidence * 100:g}%",
        f"ε of the whole plan at δ = {rounding.brief(verdict.delta)}": stated(verdict.run_epsilon),
        "μ of the whole plan": PrivacyPlan(**verdict.plan).risk().gaussian_claim(),
        "Attacked": f"{verdict.attempts:,} {verdict.unit}",
    }
    return pd.DataFrame({"Quantity": list(rows), "Value": list(rows.values())})


def files(store: Store, run_id: str) -> bundle.Files:
    """Return the report of an audit with its result files; `ValueError` if the audit left none."""
    row, left = store.run(run_id), job.results(store, run_id)
    if left is None:
        raise ValueError(f"run {run_id} has no results: it is {row.status}")
    verdict, roc = left
    audit, folder = job.AuditRequest.from_mapping(row.request), store.folder(run_id)
    title = "Measured attack and claimed limit"
    exhibit = Exhibit("roc", title, roc_caption(verdict), attack_figure(roc), roc)
    html = page.render(
        "audit.html.j2",
        title=f"Audit of {row.request['model']} ({row.request['method']}) on {row.data}",
        verdict=verdict,
        table_of_verdict=verdict_table(verdict),
        never=NEVER_PROVES,
        exhibits=[exhibit],
        config=audit.to_toml(),
        versions=versions(),
    )
    return {
        bundle.HTML: html.encode(),
        **bundle.config_files(audit.to_mapping()),
        **{name: (folder / name).read_bytes() for name in (job.VERDICT, job.ROC)},
    }

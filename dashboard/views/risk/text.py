"""The sentences of the Risk page."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dashboard.components import layout
from dashboard.components.formats import at_most
from dashboard.model_page.results import promised
from dashboard.stored import Finished
from dashboard.views.risk.data import GROUPS, Scored
from vips_core.models.task import NON_PRIVATE, PAPER, REFINED, STRONG
from vips_core.records import DataSet
from vips_core.reports.figures import METHOD_NAMES

AUC_CAPTION = (
    "Probability that the model ranks a case above a non-case. Bars: 90% confidence interval over people "
    "(DeLong), with the trained model fixed. AUC measures ranking only; log loss, in the table, also "
    "measures the probabilities."
)
ROC_ALT = "ROC curve of each method with its band, and the diagonal of guessing. Numbers in the table."
CALIBRATION_ALT = "Observed against predicted risk in groups of equal size, for each method."
COEFFICIENTS_ALT = "Largest coefficients of each method with credible intervals. All are in the table."
SWEEP_ALT = "Held-out AUC against ε on a logarithmic scale, one curve for each method."


def headline(runs: Mapping[str, Finished]) -> str:
    """Return the AUC of the first private run in a sentence, beside guessing and training without privacy."""
    aucs = {method: run.result["held_out"].get("AUC") for method, run in runs.items()}
    private = next((method for method, run in runs.items() if run.request.private), None)
    if private is None or aucs[private] is None:
        return ""
    ceiling = f"; without privacy it is {aucs[NON_PRIVATE]:.2f}" if aucs.get(NON_PRIVATE) else ""
    return (
        f"At ε = {at_most(promised(runs[private]))} the risk model reaches a held-out AUC of "
        f"{aucs[private]:.2f}{ceiling}; guessing reaches 0.5."
    )


def failures(scored_runs: Mapping[str, Scored]) -> str:
    """Name the methods that have failed, and their log loss."""
    failed = {method: scored for method, scored in scored_runs.items() if scored.failed}
    if not failed:
        return ""
    names = [METHOD_NAMES[method] for method in failed]
    losses = ", ".join(f"{METHOD_NAMES[method]} {scored.log_loss:.2f}" for method, scored in failed.items())
    baseline = next(iter(failed.values())).constant_log_loss
    hidden = (
        ""
        if len(failed) == len(scored_runs)
        else " Calibration, coefficients and what-if leave out failed methods."
    )
    return (
        f"{layout.failed(names)}: a constant prediction has a lower log loss, {baseline:.2f} ({losses})."
        f"{hidden}"
    )


def roc(scored: Scored) -> str:
    """Explain the curves and bands."""
    return (
        f"{scored.people:,} held-out people, {scored.cases:,} of them cases. Bands: 90% pointwise interval "
        "over 500 bootstrap samples of these people, with the trained model fixed."
    )


def auc_alt(scored_runs: Mapping[str, Scored]) -> str:
    """Return the numbers of the chart as a sentence."""
    sentences = [
        f"{METHOD_NAMES[method]} {scored.auc:.3f} ({scored.interval[0]:.3f} to {scored.interval[1]:.3f})"
        for method, scored in scored_runs.items()
    ]
    return f"AUC with 90% intervals: {', '.join(sentences)}."


def calibration(scored: Scored, off: int) -> str:
    """Explain the points, and count those beyond the axis."""
    least, most = scored.calibration["People"].min(), scored.calibration["People"].max()
    size = f"{least:,}" if least == most else f"{least:,} or {most:,}"
    return (
        f"Held-out people sorted by predicted risk into {GROUPS} groups of {size}. Dashed line: predicted "
        f"equals observed. Bars: 90% Wilson interval. {beyond(off, 'group')}"
    )


def coefficients(table: pd.DataFrame, features: Sequence[str], off: int) -> str:
    """Explain the two kinds of intervals."""
    total = table["feature"].nunique() - 1
    which = (
        f"The {len(features)} largest of {total:,} coefficients"
        if total > len(features)
        else "All coefficients"
    )
    reruns = (
        "Thin dotted lines with ticks: range of estimates over runs with the same settings and fresh noise."
        if table["reruns"].max() > 1
        else "Bars do not show the variation between runs: train again with the same settings to see it."
    )
    honest = (
        "On 20 public tables with simulated outcomes, so that the coefficients are known, 94% to 95% of "
        "refined intervals covered them, and 85% to 90% of intervals of intercepts: fewer where columns "
        "are nearly collinear (all levels of one category; a predictor that is often missing and its "
        "indicator). "
        if REFINED in set(table["method"])
        else ""
    )
    unaware = (
        "The paper's posterior ignores the noise, so its intervals are too narrow. "
        if {PAPER, STRONG} & set(table["method"])
        else ""
    )
    return (
        f"{which}, sorted by the first method. A coefficient is the change in log odds over the predictor's "
        f"whole range; the table also gives it per unit where the range is known. Thick bars: 90% credible "
        f"intervals from the posterior of one run. {honest}{unaware}{reruns} {beyond(off, 'estimate')}"
    )


def beyond(count: int, what: str) -> str:
    """Explain the triangles, where there are any."""
    if not count:
        return ""
    many = f"1 {what} lies" if count == 1 else f"{count} {what}s lie"
    return f"{many} beyond the axis (triangles at its edge); see the table for the numbers."


def person(data_set: DataSet) -> str:
    """Explain where the form starts, and what the point and the bar show."""
    start = "the middle of every range" if data_set.test is None else "the median of the held-out people"
    form = (
        f"Sliders span the public ranges of the data set and start at {start}."
        if data_set.train.ranges
        else "Mark what applies to the person; at first, nothing is marked."
    )
    return (
        f"{form} Point: probability averaged over the posterior. Bar: 90% credible interval from the "
        "posterior of the linear predictor. This illustrates the model; it is not medical advice."
    )


def one_risk(risks: pd.DataFrame) -> str:
    """Return the first method's risk in a sentence."""
    row = risks.iloc[0]
    sure = "" if np.isnan(row["low"]) else f", between {percent(row['low'])} and {percent(row['high'])}"
    return f"{METHOD_NAMES[row['method']]}: a risk of **{percent(row['risk'])}**{sure}."


def person_alt(risks: pd.DataFrame) -> str:
    """Return the numbers of the chart as a sentence."""
    by_method = [f"{METHOD_NAMES[row.method]} {percent(row.risk)}" for row in risks.itertuples()]
    return f"This person's risk: {', '.join(by_method)}. Dashed line: held-out share of cases."


def percent(share: float) -> str:
    """Write a risk as a percentage, with more digits near 0 and 100%."""
    return f"{share:.2%}" if share < 0.01 or share > 0.99 else f"{share:.1%}"

"""What the Risk page says."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dashboard.components import layout
from dashboard.components.bounds import at_most
from dashboard.model_page.results import promised
from dashboard.stored import Finished
from dashboard.views.risk.data import GROUPS, Scored
from vips_core.models.task import NON_PRIVATE, PAPER, REFINED, STRONG
from vips_core.records import DataSet
from vips_core.reports.figures import METHOD_NAMES

AUC_CAPTION = (
    "Chance that a case is ranked above a non-case. Bars: 90% confidence interval over new people by "
    "DeLong's method, the trained model as it is. AUC looks at the order alone; log loss, in the table, also "
    "at the probabilities."
)
ROC_ALT = "ROC curves of each method with bands, and the diagonal of guessing; the table has the numbers."
CALIBRATION_ALT = "Observed share of cases against predicted risk, for each method, in groups of equal size."
COEFFICIENTS_ALT = "Coefficients of each method with credible intervals; the table has all of them."
SWEEP_ALT = "Held-out AUC against ε on a logarithmic scale, one curve for each method of the sweep."


def headline(runs: Mapping[str, Finished]) -> str:
    """Say in a sentence what the first private run has reached, between guessing and no privacy."""
    aucs = {method: run.result["held_out"].get("AUC") for method, run in runs.items()}
    private = next((method for method, run in runs.items() if run.request.private), None)
    if private is None or aucs[private] is None:
        return ""
    ceiling = f"; without privacy {aucs[NON_PRIVATE]:.2f}" if aucs.get(NON_PRIVATE) else ""
    return (
        f"At ε = {at_most(promised(runs[private]))} the risk model finds cases with AUC {aucs[private]:.2f}"
        f"{ceiling}; guessing 0.5."
    )


def failures(scores: Mapping[str, Scored]) -> str:
    """Say which methods have failed, and by what."""
    failed = {method: scored for method, scored in scores.items() if scored.failed}
    if not failed:
        return ""
    names = [METHOD_NAMES[method] for method in failed]
    losses = ", ".join(f"{METHOD_NAMES[method]} {scored.log_loss:.2f}" for method, scored in failed.items())
    baseline = next(iter(failed.values())).constant_log_loss
    hidden = (
        "" if len(failed) == len(scores) else " Calibration, coefficients and the what-if leave them out."
    )
    return (
        f"{layout.failed(names)}: the same risk for everyone would have been better, with a log loss of "
        f"{baseline:.2f} ({losses}).{hidden}"
    )


def roc(scored: Scored) -> str:
    """Say what the curves and bands are."""
    return (
        f"{scored.people:,} held-out people, {scored.cases:,} of them cases. Bands: 90% pointwise interval "
        "from 500 bootstrap draws of these people; the trained model stays as it is."
    )


def auc_alt(scores: Mapping[str, Scored]) -> str:
    """Say the numbers of the chart."""
    sentences = [
        f"{METHOD_NAMES[method]} {scored.auc:.3f} ({scored.interval[0]:.3f} to {scored.interval[1]:.3f})"
        for method, scored in scores.items()
    ]
    return f"AUC with 90% intervals: {', '.join(sentences)}."


def calibration(scored: Scored, off: int) -> str:
    """Say what a point stands for, and how many lie off the axis."""
    least, most = int(scored.calibration.records.min()), int(scored.calibration.records.max())
    size = f"{least:,}" if least == most else f"{least:,} or {most:,}"
    return (
        f"Held-out people in {GROUPS} groups of {size}, from the least to the greatest predicted risk. "
        "On the dashed line, as many are cases as predicted. Bars: 90% Wilson interval of the "
        f"share. {beyond(off, 'group')}"
    )


def coefficients(table: pd.DataFrame, features: Sequence[str], off: int) -> str:
    """Say what the two kinds of intervals are."""
    total = table["feature"].nunique() - 1
    which = (
        f"The {len(features)} largest of {total:,} coefficients"
        if total > len(features)
        else "All coefficients"
    )
    reruns = (
        "Thin dotted lines with ticks are something else: the range of estimates over runs with the same "
        "settings, each with fresh noise."
        if table["reruns"].max() > 1
        else "They are not the spread over reruns: train again with the same settings, and that range is "
        "drawn apart from them."
    )
    honest = (
        "On twelve public tables with known coefficients, 88% to 93% of the improved variant's intervals "
        "held them, fewer where columns nearly determine each other (all levels of one category; a predictor "
        "that is often missing and its indicator), and 73% of intercepts at ε = 0.25. "
        if REFINED in set(table["method"])
        else ""
    )
    unaware = (
        "The paper's posterior does not know of the noise, so its intervals are too narrow. "
        if {PAPER, STRONG} & set(table["method"])
        else ""
    )
    return (
        f"{which}, ordered by the first method. A coefficient is the change of the log odds over the "
        f"predictor's whole range; the table also has it per unit, where the range is known. Thick bars: 90% "
        f"credible intervals, what the posterior of one run says. {honest}{unaware}{reruns} "
        f"{beyond(off, 'estimate')}"
    )


def beyond(count: int, what: str) -> str:
    """Say what triangles mean, where there are some."""
    if not count:
        return ""
    many = f"1 {what} lies" if count == 1 else f"{count} {what}s lie"
    return f"{many} beyond the axis, as triangles at its edge; the table has the numbers."


def person(data_set: DataSet) -> str:
    """Say what the form starts from, and what the point and the bar are."""
    start = "the middle of every range" if data_set.test is None else "the median of the held-out people"
    form = (
        f"Sliders span the public ranges of the data set and start at {start}."
        if data_set.train.ranges
        else "Choose what applies to a person; the form starts with nothing."
    )
    return (
        f"{form} The point is the probability with all weights integrated out, the bar the 90% credible "
        "interval from the posterior of the linear predictor. An illustration of the model, not medical "
        "advice."
    )


def one_risk(risks: pd.DataFrame) -> str:
    """Say the first method's answer."""
    row = risks.iloc[0]
    sure = "" if np.isnan(row["low"]) else f", between {percent(row['low'])} and {percent(row['high'])}"
    return f"{METHOD_NAMES[row['method']]}: a risk of **{percent(row['risk'])}**{sure}."


def person_alt(risks: pd.DataFrame) -> str:
    """Say the numbers of the chart."""
    by_method = [f"{METHOD_NAMES[row.method]} {percent(row.risk)}" for row in risks.itertuples()]
    return f"This person's risk: {', '.join(by_method)}. The dashed line is the share of cases held out."


def percent(share: float) -> str:
    """Write a risk for people, small ones with more digits."""
    return f"{share:.2%}" if share < 0.01 or share > 0.99 else f"{share:.1%}"

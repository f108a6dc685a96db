"""What the Risk page says."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dashboard import person as persons
from dashboard.risk import GROUPS, Scored
from dashboard.training import Bench
from vips_core.reports.figures import METHOD_NAMES
from vips_core.runs.sources import DataSet

BENCH = Bench(
    "logistic",
    "Risk from features",
    "Bayesian logistic regression predicts a yes or no from what is known of a person, and says how sure it "
    "is. Each training record is protected; all scores are of public held-out people.",
    METHOD_NAMES,
    (),
    {"data": "nhanes-stroke", "methods": "refined,paper,strong,non-private", "epsilon": 1.0, "seed": 1},
    (persons.PARAMETER,),
)
NOTHING_HELD_OUT = (
    "This data set has no public held-out records, so there is no ROC curve, AUC or calibration: a score of "
    "the training records would be a release that no ledger holds."
)
AUC_CAPTION = (
    "Chance that a case is ranked above a non-case. Bars: 90% confidence interval over new people by "
    "DeLong's method, the trained model as it is."
)
ROC_ALT = "ROC curves of each method with bands, and the diagonal of guessing; the table has the numbers."
CALIBRATION_ALT = "Observed share of cases against predicted risk, for each method, in groups of equal size."
COEFFICIENTS_ALT = "Coefficients of each method with credible intervals; the table has all of them."
SWEEP_ALT = "Held-out AUC against ε on a logarithmic scale, one curve for each method of the sweep."


def roc(found: Scored) -> str:
    """Say what the curves and bands are."""
    return (
        f"{found.people:,} held-out people, {found.cases:,} of them cases. Bands: 90% pointwise interval "
        "from 500 bootstrap draws of these people; the trained model stays as it is."
    )


def auc_alt(scores: Mapping[str, Scored]) -> str:
    """Say the numbers of the chart."""
    parts = [
        f"{METHOD_NAMES[method]} {found.auc:.3f} ({found.interval[0]:.3f} to {found.interval[1]:.3f})"
        for method, found in scores.items()
    ]
    return f"AUC with 90% intervals: {', '.join(parts)}."


def calibration(found: Scored, off: int) -> str:
    """Say what a point stands for, and how many lie off the axis."""
    least, most = int(found.calibration.records.min()), int(found.calibration.records.max())
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
    unaware = (
        "The paper's posterior does not know of the noise, so its intervals are too narrow. "
        if {"paper", "strong"} & set(table["method"])
        else ""
    )
    return (
        f"{which}, ordered by the first method. Thick bars: 90% credible intervals, what the posterior of "
        f"one run says. {unaware}{reruns} {beyond(off, 'estimate')}"
    )


def beyond(count: int, what: str) -> str:
    """Say what triangles mean, where there are some."""
    if not count:
        return ""
    many = f"1 {what} lies" if count == 1 else f"{count} {what}s lie"
    return f"{many} beyond the axis, as triangles at its edge; the table has the numbers."


def person(data: DataSet) -> str:
    """Say what the form starts from, and what the point and the bar are."""
    start = "the middle of every range" if data.test is None else "the median of the held-out people"
    form = (
        f"Sliders span the public ranges of the data set and start at {start}."
        if data.train.ranges
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
    parts = [f"{METHOD_NAMES[row.method]} {percent(row.risk)}" for row in risks.itertuples()]
    return f"This person's risk: {', '.join(parts)}. The dashed line is the share of cases held out."


def percent(share: float) -> str:
    """Write a risk for people, small ones with more digits."""
    return f"{share:.2%}" if share < 0.01 or share > 0.99 else f"{share:.1%}"

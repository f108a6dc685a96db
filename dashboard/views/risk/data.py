"""Numbers of the Risk page: held-out curves and intervals, coefficients, reruns, one person's risk.

Scores and coefficients come from the run's result; this module computes only the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import expit, ndtri

from dashboard import stored
from dashboard.stored import Finished
from vips_core import BayesianLogistic, Table
from vips_core.kernels import Array
from vips_core.models.logistic import scores
from vips_core.models.logistic.task import per_unit
from vips_core.reports.exhibits import Exhibit
from vips_core.reports.figures import METHOD_NAMES
from vips_core.reports.sweep_report import sweep_exhibits
from vips_core.store.rows import DONE
from vips_core.sweeps.grid import Sweep

LEVEL = 0.9  # level of every interval on the page
RATES = np.linspace(0, 1, 101)  # false positive rates of the ROC curves
ENDS = ("low (90%)", "high (90%)")  # names of the columns with an interval's ends
GROUPS = 10  # groups in the calibration chart, of equal size
MOST_RERUNS = 30  # most other runs read for the range over reruns
INTERCEPT = "intercept"
SHOWN = 12  # coefficients in the chart


@dataclass(frozen=True)
class Scored:
    """A run's scores and curves on public held-out people.

    Attributes
    ----------
    scores
        The scores of the run's result, by name.
    interval
        Ends of the AUC's confidence interval.
    roc
        Share of cases found at each of `RATES`, with its band.
    calibration
        Predicted against observed risk in groups of equal size, with its Wilson interval.
    """

    people: int
    cases: int
    predicted_cases: float
    scores: Mapping[str, float]
    interval: tuple[float, float]
    roc: pd.DataFrame
    calibration: pd.DataFrame
    constant_log_loss: float

    @property
    def auc(self) -> float:
        """The area under the ROC curve."""
        return self.scores["AUC"]

    @property
    def log_loss(self) -> float:
        """The mean of −log P(label)."""
        return self.scores["log loss"]

    @property
    def failed(self) -> bool:
        """Whether a constant prediction would have been as good."""
        return self.log_loss >= self.constant_log_loss


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={Finished: lambda run: run.run.id})
def scored(run: Finished) -> Scored:
    """Return a run's scores and curves on held-out people; the bootstrap runs once for all visitors."""
    labels, risks = run.data.test.y, probabilities(run, run.data.test)
    roc, groups = scores.roc_of(labels, risks), scores.calibration_of(labels, risks, GROUPS)
    found = np.interp(RATES, roc.false_positive_rate, roc.true_positive_rate)
    curve = {"False positive rate": RATES, "True positive rate": found}
    band = scores.roc_band(labels, risks, RATES, LEVEL)
    cases = np.rint(groups.observed * groups.records).astype(int)
    calibration = {"Predicted": groups.predicted, "Observed": groups.observed}
    calibration |= dict(zip(ENDS, wilson(groups.observed, groups.records), strict=True))
    return Scored(
        people=len(labels),
        cases=int(labels.sum()),
        predicted_cases=float(risks.sum()),
        scores=run.result["held_out"],
        interval=scores.auc_interval(labels, risks, LEVEL),
        roc=pd.DataFrame(curve | dict(zip(ENDS, band, strict=True))),
        calibration=pd.DataFrame(calibration | {"People": groups.records.astype(int), "Cases": cases}),
        constant_log_loss=scores.constant_log_loss(labels),
    )


def without_failures(scored_runs: Mapping[str, Scored]) -> dict[str, Scored]:
    """Return the methods that beat a constant prediction, or all methods where none does."""
    return {method: run for method, run in scored_runs.items() if not run.failed} or dict(scored_runs)


def probabilities(run: Finished, rows: Table) -> Array:
    """Return each person's risk by a run's fit, or by its coefficients if it has no fit."""
    if run.fit is not None:
        return np.asarray(run.fit.model.predict_probability(run.fit, rows))
    return np.asarray(expit(rows.x @ run.tables["coefficients"]["mean"].to_numpy()))


def scores_table(scored_runs: Mapping[str, Scored]) -> pd.DataFrame:
    """Return each method's held-out scores, with the interval of the AUC."""
    rows = []
    for method, run in scored_runs.items():
        interval = dict(zip(("AUC, low (90%)", "AUC, high (90%)"), run.interval, strict=True))
        counts = {"Predicted cases": run.predicted_cases, "Cases": run.cases, "People": run.people}
        named = {name[:1].upper() + name[1:]: score for name, score in run.scores.items()}
        rows.append({"Method": METHOD_NAMES[method], **named, **interval, **counts})
    return pd.DataFrame(rows)


def person_table(runs: Mapping[str, Finished], row: Table) -> pd.DataFrame:
    """Return one person's risk by each method, with its interval where there is a posterior."""
    rows = []
    for method, run in runs.items():
        low = high = np.nan
        if run.fit is not None and isinstance(run.fit.model, BayesianLogistic):
            [(low, high)] = run.fit.model.risk_intervals(run.fit, row, LEVEL)
        rows.append({"method": method, "risk": probabilities(run, row)[0], "low": low, "high": high})
    return pd.DataFrame(rows)


def readable_person(risks: pd.DataFrame) -> pd.DataFrame:
    """Return one person's risks with readable columns."""
    names = {"method": "Method", "risk": "Risk", "low": "low (90% credible)", "high": "high (90% credible)"}
    return risks.assign(method=risks["method"].map(METHOD_NAMES)).rename(columns=names)


def by_method(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one table of every method's rows."""
    named = {METHOD_NAMES[method]: table for method, table in tables.items()}
    return pd.concat(named, names=["Method"]).reset_index("Method")


def wilson(share: Array, people: Array) -> tuple[Array, Array]:
    """Return the Wilson (1927) interval of a share, which has positive width even without cases."""
    z = float(ndtri(0.5 + LEVEL / 2))
    centre = (share + z**2 / (2 * people)) / (1 + z**2 / people)
    half = z * np.sqrt(share * (1 - share) / people + z**2 / (4 * people**2)) / (1 + z**2 / people)
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def coefficients(runs: Mapping[str, Finished]) -> pd.DataFrame:
    """Return the coefficients of every method, with credible intervals where there is a posterior.

    Columns: method, feature, mean, low, high, unit (mean per unit of the predictor), and over reruns in the
    store: reruns (their number), least and greatest.
    """
    tables = []
    for method, run in runs.items():
        names = {"low (90 %)": "low", "high (90 %)": "high", "per unit": "unit"}
        table = run.tables["coefficients"].rename(columns=names)
        if "unit" not in table:  # absent if nothing was held out
            table["unit"] = per_unit(table, run.data.train.ranges)
        tables.append(table.assign(method=method, **_spread_of_reruns(run)))
    columns = ["method", "feature", "mean", "low", "high", "unit", "reruns", "least", "greatest"]
    return pd.concat(tables, ignore_index=True).reindex(columns=columns)


def _spread_of_reruns(run: Finished) -> dict[str, object]:
    """Return the range of estimates over runs of the same request with other seeds."""
    wanted = _unseeded(run.run.request)
    others = [
        row
        for row in stored.store().runs(data=run.run.data, model="logistic", status=DONE, kind="fit")
        if row.id != run.run.id and _unseeded(row.request) == wanted
    ]
    means = [stored.finished(row.id).tables["coefficients"]["mean"] for row in others[:MOST_RERUNS]]
    if not means:
        return {"reruns": 0, "least": np.nan, "greatest": np.nan}
    all_runs = np.array([run.tables["coefficients"]["mean"], *means])
    return {"reruns": len(all_runs), "least": all_runs.min(axis=0), "greatest": all_runs.max(axis=0)}


def _unseeded(request: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in request.items() if name != "seed"}


def largest(table: pd.DataFrame, count: int) -> list[str]:
    """Return the features with the largest coefficients of the first method, largest first."""
    first = table[(table["method"] == table["method"].iloc[0]) & (table["feature"] != INTERCEPT)]
    return list(first.sort_values("mean", key=abs, ascending=False)["feature"].head(count))


def coefficients_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficients with readable columns."""
    names = {
        "method": "Method",
        "feature": "Predictor",
        "mean": "Over the whole range",
        "unit": "Per unit",
        "low": "low (90% credible)",
        "high": "high (90% credible)",
        "reruns": "Reruns",
        "least": "smallest over reruns",
        "greatest": "largest over reruns",
    }
    readable = table[list(names)].rename(columns=names)
    return readable.assign(Method=readable["Method"].map(METHOD_NAMES))


def sweep_exhibit(data: str) -> Exhibit | None:
    """Return AUC against ε from the newest sweep on this data set, None where there is none."""
    store = stored.store()
    for row in store.runs(data=data, model="logistic", kind="sweep"):
        sweep = replace(Sweep.from_mapping(row.request), figures=("epsilon",))
        for exhibit in sweep_exhibits(sweep, store):
            if exhibit.name == "epsilon-auc":
                return exhibit
    return None

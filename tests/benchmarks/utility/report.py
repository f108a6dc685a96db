"""Report the bench's results: scores with standard errors, refined against its rivals, and a figure.

python -m tests.benchmarks.utility.report utility.csv --out utility
"""

import argparse
import datetime
import math
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tests.benchmarks.utility.leave_one_out import chosen, same_seeds
from tests.benchmarks.utility.logistic import NOT_PRIVATE
from tests.benchmarks.utility.rivals import FROZEN
from tests.benchmarks.utility.run import read

METRICS = {
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier score",
    "expected_over_observed": "expected/observed",
    "calibration_slope": "calibration slope",
}
RIVALS = (*FROZEN, "Opacus", "diffprivlib", "paper", "strong")
ORDER = ("refined", *RIVALS, NOT_PRIVATE)
MARGINS = {"auc": 0.002, "log_loss": 0.003}  # largest differences that count as none
WORSE_WITH_EPSILON = 0.002
HIGHER_IS_BETTER = ("auc",)
STANDARD_ERRORS = 2  # by which a difference counts as seen


def main() -> None:
    """Write a CSV, a text table and an HTML figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True, help="beginning of the files' names")
    options = parser.parse_args()
    rows = same_seeds(chosen(pd.concat([read(path) for path in options.results], ignore_index=True)))
    summary = summarised(rows)
    summary.to_csv(options.out.with_suffix(".csv"), index=False, float_format="%.4g")
    command = f"python -m tests.benchmarks.utility.report {' '.join(path.name for path in options.results)}"
    heading = f"{datetime.date.today()}, {command}"
    shown = "\n\n".join(
        [text(summary), differences(rows), behind(rows), worse_with_epsilon(summary), calibration(summary)]
    )
    options.out.with_suffix(".txt").write_text(f"{heading}\n\n{shown}\n", encoding="utf-8")
    figure(summary, heading).write_html(options.out.with_suffix(".html"), include_plotlyjs=True)
    print(shown)


def summarised(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each metric's mean over splits, and its standard error if there are several.

    A split's score is the mean of its draws of noise, so the standard error covers both.
    """
    groups = rows.groupby(["data", "method", "epsilon"])
    summary = groups[list(METRICS)].mean()
    for metric in METRICS:
        summary[f"{metric} ±"] = groups[metric].std() / np.sqrt(groups[metric].count())
    summary["seeds"] = groups.seed.nunique()
    summary["setting"] = groups.setting.first()
    return summary.reset_index()


def gaps(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return how much better refined is than each rival on the same splits, with the standard error.

    Columns: data, epsilon, rival, gap (positive where refined is better) and error.
    """
    wide = rows.pivot_table(index=["data", "epsilon", "seed"], columns="method", values=metric)
    rivals = [rival for rival in RIVALS if rival in wide.columns]
    sign = 1 if metric in HIGHER_IS_BETTER else -1
    better = -sign * wide[rivals].sub(wide["refined"], axis=0)
    groups = better.rename_axis(columns="rival").stack().dropna().groupby(level=["data", "epsilon", "rival"])
    error = groups.std() / np.sqrt(groups.count())
    return pd.DataFrame({"gap": groups.mean(), "error": error}).reset_index()


def with_errors(means: pd.DataFrame, errors: pd.DataFrame) -> str:
    """Print cells as "mean ± standard error", the latter in thousandths; no error where it is unknown."""
    shown = means.map(lambda mean: "" if np.isnan(mean) else f"{mean:.3f}")
    thousandths = errors.map(lambda error: "" if np.isnan(error) else f" ±{1000 * error:.0f}")
    return (shown + thousandths).to_string()


def text(summary: pd.DataFrame) -> str:
    """Print AUC and log loss, a block for each ε, with means over the tables that all methods have."""
    parts = []
    for metric in MARGINS:
        for epsilon, rows in summary.groupby("epsilon"):
            means, errors = (
                rows.pivot(index="data", columns="method", values=value) for value in (metric, f"{metric} ±")
            )
            methods = [method for method in ORDER if method in means.columns]
            means, errors = means[methods], errors[methods]
            whole = means.notna().all(axis=1)
            means.loc["mean of complete rows"] = means[whole].mean()
            errors.loc["mean of complete rows"] = mean_error(errors[whole])
            parts.append(
                f"{METRICS[metric]} at ε = {epsilon:g} (± standard error in thousandths)\n"
                f"{with_errors(means, errors)}"
            )
    return "\n\n".join(parts)


def mean_error(errors: pd.DataFrame | pd.Series) -> pd.Series | float:
    """Return the standard error of the mean over tables, these tables given."""
    return np.sqrt((errors**2).mean() / len(errors))


def differences(rows: pd.DataFrame) -> str:
    """Print the mean over tables of refined less each rival, positive where refined is better."""
    parts = []
    for metric in MARGINS:
        groups = gaps(rows, metric).groupby(["epsilon", "rival"])
        means = groups.gap.mean().unstack()
        errors = groups.error.apply(mean_error).unstack()
        rivals = [rival for rival in RIVALS if rival in means.columns]
        shown = (1000 * means[rivals]).map("{:+.1f}".format) + (1000 * errors[rivals]).map(" ± {:.1f}".format)
        parts.append(
            f"{METRICS[metric]} by which refined is better, in thousandths: mean over tables ± standard "
            f"error of paired differences\n{shown.to_string()}"
        )
    return "\n\n".join(parts)


def behind(rows: pd.DataFrame) -> str:
    """List where refined is behind a rival by more than the margin and by two standard errors."""
    lines = []
    for metric, margin in MARGINS.items():
        worse = gaps(rows, metric).query("gap < -@margin and not gap >= -@STANDARD_ERRORS * error")
        lines.append(
            f"{METRICS[metric]}: refined behind by more than {margin} and {STANDARD_ERRORS} standard errors:"
        )
        for (rival, epsilon), group in worse.groupby(["rival", "epsilon"]):
            cells = [f"{row.data} {row.gap:+.4f} ± {row.error:.4f}" for row in group.itertuples()]
            lines.append(f"  {rival} at {epsilon:g}: {'; '.join(cells)}")
        if worse.empty:
            lines.append("  nowhere")
    return "\n".join(lines)


def worse_with_epsilon(summary: pd.DataFrame) -> str:
    """List where refined is worse with more ε."""
    lines = []
    for metric in ("auc", "log_loss", "brier"):
        refined = summary[summary.method == "refined"].pivot(index="data", columns="epsilon", values=metric)
        gains = (1 if metric in HIGHER_IS_BETTER else -1) * refined.diff(axis=1)
        worse = gains[gains < -WORSE_WITH_EPSILON].stack().dropna()
        parts = [f"{data} to {epsilon:g}: {gain:.3f}" for (data, epsilon), gain in worse.items()]
        lines.append(f"{METRICS[metric]} of refined worse with more epsilon: {'; '.join(parts) or 'nowhere'}")
    return "\n".join(lines)


def calibration(summary: pd.DataFrame) -> str:
    """Print refined's calibration slopes: 1 is right, below 1 the log odds are too far from the mean."""
    rows = summary[summary.method == "refined"]
    slopes, errors = (
        rows.pivot(index="data", columns="epsilon", values=value)
        for value in ("calibration_slope", "calibration_slope ±")
    )
    slopes.loc["median"] = slopes.median()
    return (
        f"Calibration slope of refined on held-out rows\n{with_errors(slopes, errors.reindex(slopes.index))}"
    )


def figure(summary: pd.DataFrame, heading: str) -> go.Figure:
    """Mean AUC over tables against ε, one line a method, non-private dashed."""
    drawn = go.Figure()
    for method in ORDER:
        rows = summary[summary.method == method].groupby("epsilon").auc.mean()
        if method == NOT_PRIVATE:
            drawn.add_hline(y=rows.mean(), line_dash="dash", annotation_text=method)
            continue
        rows = rows[[math.isfinite(epsilon) for epsilon in rows.index]]
        drawn.add_scatter(x=rows.index, y=rows, name=method, mode="lines+markers")
    drawn.update_layout(
        title=f"Mean AUC over tables, constants chosen without the scored one<br><sub>{heading}</sub>",
        xaxis={"title": "ε", "type": "log"},
        yaxis={"title": "AUC"},
    )
    return drawn


if __name__ == "__main__":
    main()

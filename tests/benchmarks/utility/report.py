"""Report the bench's results: a table of leave-one-out scores with intervals, and a figure.

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
from tests.benchmarks.utility.run import read

METRICS = {
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier score",
    "expected_over_observed": "expected/observed",
}
ORDER = ("refined", "DP-SGD", "private ERM", "paper", "strong", NOT_PRIVATE)
RIVALS = ORDER[1:-1]
MARGIN = 0.002  # largest difference that counts as none


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
    shown = f"{text(summary)}\n\n{weaknesses(summary)}"
    options.out.with_suffix(".txt").write_text(f"{heading}\n\n{shown}\n", encoding="utf-8")
    figure(summary, heading).write_html(options.out.with_suffix(".html"), include_plotlyjs=True)
    print(shown)


def summarised(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each metric's mean over seeds, and the half-width of its 90 % interval if there are several."""
    groups = rows.groupby(["data", "method", "epsilon"])
    summary = groups[list(METRICS)].mean()
    for metric in METRICS:
        half = 1.645 * groups[metric].std() / np.sqrt(groups[metric].count())
        summary[f"{metric} ±"] = half
    summary["seeds"] = groups.seed.nunique()
    summary["setting"] = groups.setting.first()
    return summary.reset_index()


def wide(summary: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Tables by rows, methods and ε by columns."""
    table = summary.pivot(index="data", columns=["epsilon", "method"], values=metric)
    ordered = [
        (epsilon, method)
        for epsilon in sorted({column[0] for column in table.columns})
        for method in ORDER
        if (epsilon, method) in table.columns
    ]
    return table[ordered]


def text(summary: pd.DataFrame) -> str:
    """Print every metric's table, and its mean over the tables that all methods have."""
    parts = []
    for metric, title in METRICS.items():
        table = wide(summary, metric)
        compared = table.dropna(axis=1, how="all")
        mean = compared[compared.notna().all(axis=1)].mean().rename("mean of complete rows")
        shown = pd.concat([table, mean.to_frame().T])
        parts.append(f"{title}\n{shown.round(3).to_string(na_rep='')}")
    return "\n\n".join(parts)


def weaknesses(summary: pd.DataFrame) -> str:
    """List where refined is below a private rival, and where it is worse with more ε."""
    parts = []
    table = wide(summary, "auc")
    for epsilon in sorted({epsilon for epsilon, method in table.columns if method == "refined"}):
        best = table[epsilon].reindex(columns=RIVALS).max(axis=1)
        short = (table[epsilon, "refined"] - best).round(4)
        parts += [f"{data} at {epsilon:g}: {gap:+.3f}" for data, gap in short[short < -MARGIN].items()]
    lines = [f"AUC of refined less that of the best private rival, below -{MARGIN}: {'; '.join(parts)}"]
    for metric, better in (("auc", 1), ("log_loss", -1), ("brier", -1)):
        refined = wide(summary, metric).xs("refined", axis=1, level=1)
        gains = better * refined.diff(axis=1)
        worse = gains[gains < -MARGIN].stack().dropna()
        parts = [f"{data} to {epsilon:g}: {gain:.3f}" for (data, epsilon), gain in worse.items()]
        lines.append(f"{METRICS[metric]} of refined worse with more epsilon: {'; '.join(parts) or 'nowhere'}")
    return "\n".join(lines)


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

"""Turn a model's mechanisms off one at a time, and compare with the model as shipped.

python -m tests.benchmarks.utility.ablation logistic --rows ablation.csv
python -m tests.benchmarks.utility.ablation lda --quick

A model contributes `ablation_NAME.py` beside this file with an `Ablation` called `ABLATION`. Every variant
sees the splits and seeds of the model as shipped, so differences are paired. Positive changes mean that the
model is better without the mechanism. A mechanism earns its place if the mean over all cells falls by more
than two standard errors without it, or if one cell (a data set at one ε) falls by more than the score's
tolerance beyond two standard errors of its own.
"""

import argparse
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.benchmarks.utility.run import KEYS, append, read

SHIPPED = "as shipped"
NOISE = 2.0  # standard errors: smaller changes count as noise


@dataclass(frozen=True)
class Measure:
    """A score, the direction in which it improves, and the loss that one cell may suffer unnoticed."""

    larger_is_better: bool
    tolerance: float


@dataclass(frozen=True)
class Ablation:
    """What a model contributes: its data, its variants, and a function that scores one cell."""

    data: tuple[str, ...]
    variants: Mapping[str, Any]  # what `score` needs to turn the mechanism off, by the mechanism's name
    score: Callable[[str, float, int, Any], Mapping[str, float]]  # (data, ε, draw, variant or None) -> scores
    measures: Mapping[str, Measure]
    epsilons: tuple[float, ...] = (0.25, 1.0, 4.0)
    draws: int = 6
    quick_data: int = 2  # data sets of --quick


def main() -> None:
    """Score what the CSV lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", choices=("logistic", "lda", "sbn"))
    parser.add_argument("--quick", action="store_true", help="two data sets, one ε, two draws")
    parser.add_argument("--rows", type=Path, help="CSV that keeps every score; a second call continues it")
    parser.add_argument("--variants", nargs="+", default=[""], help="beginnings of names (default: all)")
    parser.add_argument("--out", type=Path, help="text file for the table")
    options = parser.parse_args()
    ablation: Ablation = importlib.import_module(
        f"tests.benchmarks.utility.ablation_{options.model}"
    ).ABLATION
    results = scored(ablation, options.rows, options.quick, tuple(options.variants))
    shown = text(results, ablation)
    print(shown)
    if options.out:
        options.out.write_text(
            f"python -m tests.benchmarks.utility.ablation {options.model}\n\n{shown}\n", "utf-8"
        )


def scored(ablation: Ablation, rows: Path | None, quick: bool, beginnings: tuple[str, ...]) -> pd.DataFrame:
    """Return one row of scores for each (data, variant, ε, draw); `method` is the variant's name."""
    data = ablation.data[: ablation.quick_data] if quick else ablation.data
    epsilons = (1.0,) if quick else ablation.epsilons
    variants = {SHIPPED: None} | {
        name: variant for name, variant in ablation.variants.items() if name.startswith(beginnings)
    }
    found = read(rows) if rows else pd.DataFrame(columns=KEYS)
    known, new = set(found[KEYS].itertuples(index=False, name=None)), []
    for draw in range(2 if quick else ablation.draws):
        for name in data:
            for epsilon in epsilons:
                for variant, change in variants.items():
                    key = (name, variant, epsilon, draw)
                    if key in known:
                        continue
                    row = dict(zip(KEYS, key, strict=True)) | ablation.score(name, epsilon, draw, change)
                    new.append(row)
                    if rows:
                        append(rows, row)
    return pd.concat([found, pd.DataFrame(new)], ignore_index=True) if new else found


def changes(results: pd.DataFrame, measure: str, larger_is_better: bool) -> pd.DataFrame:
    """Return each variant's improvement over the model as shipped, paired: variants × (data, ε, draw)."""
    wide = results.pivot_table(index="method", columns=["data", "epsilon", "seed"], values=measure)
    change = wide.sub(wide.loc[SHIPPED], axis="columns").drop(SHIPPED)
    return change if larger_is_better else -change


def standard_error(values: pd.Series) -> float:
    """Return the standard error of the mean over data, ε and draws: data and ε are fixed, draws are not."""
    per_draw = values.groupby(level=["data", "seed"]).mean().groupby(level="data")
    return float(np.sqrt((per_draw.var() / per_draw.count()).sum()) / per_draw.ngroups)


def text(results: pd.DataFrame, ablation: Ablation) -> str:
    """Return a line for each variant: mean change, its standard error, the worst cell, and a verdict."""
    blocks, verdicts = [], dict[str, set[str]]()
    for name, measure in ablation.measures.items():
        lines = []
        for variant, values in changes(results, name, measure.larger_is_better).iterrows():
            values = values.dropna()
            mean, error = float(values.mean()), standard_error(values)
            cells = values.groupby(level=["data", "epsilon"]).agg(["mean", "sem"])
            worst = cells["mean"].idxmin()
            hurt = cells[cells["mean"] + NOISE * cells["sem"] < -measure.tolerance]
            reasons = verdicts.setdefault(str(variant), set())
            if mean < -NOISE * error:
                reasons.add(f"mean of {name}")
            if len(hurt):
                reasons.add(f"{name} of {len(hurt)} cells")
            lines.append((mean, variant, error, cells.loc[worst, "mean"], cells.loc[worst, "sem"], worst))
        heading = f"{name}, change without the mechanism ± standard error, and the worst cell"
        shown = [
            f"  {variant:44} {mean:+.5f} ± {error:.5f}   {low:+.4f} ± {sem:.4f}  {cell[0]}, ε = {cell[1]:g}"
            for mean, variant, error, low, sem, cell in sorted(lines)
        ]
        blocks.append("\n".join([heading, *shown]))
    shown = [f"  {name:44} {', '.join(sorted(why)) or 'nothing'}" for name, why in verdicts.items()]
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in sorted(results.epsilon.unique()))
    data = results.data.unique()
    size = f"{len(data)} data sets ({', '.join(data)}), ε in {epsilons}, {results.seed.nunique()} draws"
    return "\n\n".join([size, *blocks, "\n".join(["What gets worse without it", *shown])])


if __name__ == "__main__":
    main()

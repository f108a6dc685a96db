"""Run methods with and without privacy over data, keep scores in a CSV, and print them as a table."""

import argparse
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.benchmarks.utility.run import KEYS, append, read

NOT_PRIVATE = "non-private"
NORMAL_90 = 1.645

Score = Callable[[str, Any, Any, float, int], float]  # of (name, train, test, ε, seed)


@dataclass(frozen=True)
class Bench:
    """A comparison: data with their splits, private methods, and methods without ε."""

    names: tuple[str, ...]
    split: Callable[[str, int], tuple[Any, Any]]
    public: Mapping[str, Score]
    private: Mapping[str, Score]
    epsilons: tuple[float, ...]
    decimals: int
    verdict: Callable[[pd.DataFrame], str] = lambda results: ""  # a last line under the table


def main(bench: Bench, description: str | None) -> None:
    """Run what is missing in the CSV, or print its table."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--data", nargs="+", choices=bench.names, default=list(bench.names))
    parser.add_argument("--methods", nargs="+", choices=[*bench.public, *bench.private])
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(bench.epsilons))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="print the results so far")
    options = parser.parse_args()
    if options.table:
        results = read(options.results)
        print(table(results, bench.decimals), bench.verdict(results), sep="\n")
        return
    for name in options.data:
        for seed in range(options.seeds):
            run(bench, options.results, name, seed, options.methods, options.epsilon)


def run(
    bench: Bench, results: Path, name: str, seed: int, methods: list[str] | None, epsilons: list[float]
) -> None:
    """Score one split of one data set."""
    known = set(read(results)[KEYS].itertuples(index=False, name=None))
    wanted = [(method, score, math.inf) for method, score in bench.public.items()]
    wanted += [(method, score, epsilon) for method, score in bench.private.items() for epsilon in epsilons]
    train, test = bench.split(name, seed)
    for method, score, epsilon in wanted:
        key = (name, method, epsilon, seed)
        if key in known or (methods and method not in methods):
            continue
        start = time.process_time()
        value = score(name, train, test, epsilon, seed)
        seconds = time.process_time() - start
        append(results, dict(zip(KEYS, key, strict=True)) | {"score": value, "seconds": seconds})


def table(results: pd.DataFrame, decimals: int) -> str:
    """Return mean scores with 90 % intervals over seeds, and private gaps as shares of the paper's."""
    groups = results.groupby(["data", "method", "epsilon"]).score
    summary = groups.agg(["mean", "std", "count"]).reset_index()
    summary["±"] = NORMAL_90 * summary["std"] / np.sqrt(summary["count"])
    means = summary.set_index(["data", "method", "epsilon"])["mean"]

    def gap(row: pd.Series) -> float:
        floor = means.get((row.data, NOT_PRIVATE, math.inf), math.nan)
        return (row["mean"] - floor) / (means.get((row.data, "paper", row.epsilon), math.nan) - floor)

    summary["gap"] = summary.apply(gap, axis=1)
    for column in ("mean", "±"):
        summary[column] = summary[column].map(lambda value: f"{value:.{decimals}f}")
    shown = summary.rename(columns={"mean": "score", "count": "seeds"}).drop(columns="std")
    return shown.to_string(index=False, float_format=lambda value: f"{value:.3g}", na_rep="")

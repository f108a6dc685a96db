"""Real, small data sets with their loaders; `generate` makes larger ones with known truth. See README.md."""

from pathlib import Path
from typing import Any

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
_DIGITS = {"mnist": "train", "mnist-test": "test"}  # names to the prefixes of their arrays
NAMES = ("sotu", "nhanes-stroke", *_DIGITS)

_YES_NO = (0.0, 1.0)  # the questionnaire's answers
NHANES_RANGES = {
    "age": (20.0, 80.0),  # the question is put to adults from 20; the survey writes 80 for 80 and over
    "male": _YES_NO,
    "race Black": _YES_NO,
    "race Asian": _YES_NO,
    "race Mexican American": _YES_NO,
    "race other Hispanic": _YES_NO,
    "race other": _YES_NO,
    "income to poverty ratio": (0.0, 5.0),  # the survey writes 5 for 5 and over
    "college": _YES_NO,
    "systolic pressure": (80.0, 220.0),  # shock to hypertensive crisis
    "diastolic pressure": (40.0, 130.0),  # likewise
    "pulse": (40.0, 140.0),  # a resting heart
    "body mass index": (15.0, 60.0),  # severe thinness to far beyond obesity of class III
    "total cholesterol": (80.0, 400.0),  # the span of common laboratory charts
    "HDL cholesterol": (15.0, 120.0),  # likewise
    "glycohaemoglobin": (4.0, 14.0),  # the span of common bedside analysers
    "diabetes": _YES_NO,  # borderline is one half
    "insulin": _YES_NO,
    "heart attack": _YES_NO,
    "smoked 100 cigarettes": _YES_NO,
    "smokes now": _YES_NO,
    "blood lead": (0.0, 5.0),  # up to the reference level for action
    "vigorous recreation": _YES_NO,
    "moderate recreation": _YES_NO,
    "minutes sedentary": (0.0, 1320.0),  # per day, the largest answer that the questionnaire takes
    "hours of sleep": (2.0, 14.0),  # the questionnaire's lowest and highest answer
    "difficulty walking": _YES_NO,
    "arthritis": _YES_NO,
}
# What the predictors of a data set are measured in, where their names do not say so.
UNITS = {
    "nhanes-stroke": {
        "age": "years",
        "systolic pressure": "mmHg",
        "diastolic pressure": "mmHg",
        "pulse": "per minute",
        "body mass index": "kg/m²",
        "total cholesterol": "mg/dl",
        "HDL cholesterol": "mg/dl",
        "glycohaemoglobin": "%",
        "blood lead": "µg/dl",
    }
}
# Answers that can be refused and measurements that can fail, by the survey's design.
NHANES_MAY_BE_MISSING = frozenset(
    {
        "income to poverty ratio",
        "systolic pressure",
        "diastolic pressure",
        "pulse",
        "body mass index",
        "total cholesterol",
        "HDL cholesterol",
        "glycohaemoglobin",
        "diabetes",
        "insulin",
        "heart attack",
        "blood lead",
        "minutes sedentary",
        "hours of sleep",
        "difficulty walking",
        "arthritis",
    }
)
# The intercept and all predictors at their largest, where at most one of the five races can be 1.
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
        "sotu" is a `Documents`, "nhanes-stroke" are `Table`, "mnist" and "mnist-test" are `Images`.

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
    """Return the digits that images show.

    Parameters
    ----------
    name
        "mnist" or "mnist-test".

    Returns
    -------
    numpy.ndarray
        From 0 to 9, one for each image.

    Examples
    --------
    >>> load_digit_labels("mnist-test")[:3]
    array([7, 2, 1], dtype=uint8)
    """
    validate.one_of("name", name, _DIGITS)
    labels: NDArray[np.uint8] = load_arrays(FOLDER / "mnist.npz")[f"{_DIGITS[name]}_labels"]
    return labels

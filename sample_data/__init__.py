"""Small real data sets with their loaders; `generate` makes larger ones with known truth. See README.md."""

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
_DIGITS = {"mnist": "train", "mnist-test": "test"}  # prefixes of the arrays, by name
NAMES = ("sotu", "nhanes-stroke", *_DIGITS)

_YES_NO = (0.0, 1.0)  # the questionnaire's answers
NHANES_RANGES = {
    "age": (20.0, 80.0),  # only adults from 20 are asked; 80 stands for 80 and over
    "male": _YES_NO,
    "race Black": _YES_NO,
    "race Asian": _YES_NO,
    "race Mexican American": _YES_NO,
    "race other Hispanic": _YES_NO,
    "race other": _YES_NO,
    "income to poverty ratio": (0.0, 5.0),  # 5 stands for 5 and over
    "college": _YES_NO,
    "systolic pressure": (80.0, 220.0),  # from shock to hypertensive crisis
    "diastolic pressure": (40.0, 130.0),  # likewise
    "pulse": (40.0, 140.0),  # a resting heart
    "body mass index": (15.0, 60.0),  # from severe thinness to far above class III obesity
    "total cholesterol": (80.0, 400.0),  # the range of common laboratory charts
    "HDL cholesterol": (15.0, 120.0),  # likewise
    "glycohaemoglobin": (4.0, 14.0),  # the range of common bedside analysers
    "diabetes": _YES_NO,  # 0.5 for borderline
    "insulin": _YES_NO,
    "heart attack": _YES_NO,
    "smoked 100 cigarettes": _YES_NO,
    "smokes now": _YES_NO,
    "blood lead": (0.0, 5.0),  # up to the reference level for action
    "vigorous recreation": _YES_NO,
    "moderate recreation": _YES_NO,
    "minutes sedentary": (0.0, 1320.0),  # per day; the largest accepted answer
    "hours of sleep": (2.0, 14.0),  # the lowest and highest accepted answer
    "difficulty walking": _YES_NO,
    "arthritis": _YES_NO,
}
# Units of predictors whose names do not include them.
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
# By the survey's design, these answers can be refused and these measurements can fail.
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
# Norm of the intercept and all predictors at their largest; at most one of the five races can be 1.
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

"""The rule for which identifiers mean the same person, used to group records and to find people.

Programs spell one identifier in several ways: pandas turns 7 into 7.0 as soon as a value is missing, others
drop the zeros of 007, or write é as e plus an accent. All of these are one person. Case tells people apart.
"""

import numbers
import unicodedata
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGITS = 40  # digits up to which an identifier is compared as a number; longer ones are text
GAPS = frozenset(  # what pandas takes for a missing value in a CSV
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN")
    + ("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)


def identities(identifiers: Any) -> NDArray[np.object_]:
    """Return each row's person as text, the same for all spellings; None if it is missing.

    Parameters
    ----------
    identifiers
        One per row: text or whole numbers, also as floats.

    Examples
    --------
    >>> identities(["007", 7, 7.0, " ann ", "Ann", None, "NA"]).tolist()
    ['7', '7', '7', 'ann', 'Ann', None, None]
    """
    import pandas as pd  # here: it is slow to import, and most records have no persons

    try:
        numbered, different = pd.factorize(pd.Series(identifiers))
    except TypeError:  # lists and the like
        raise ValueError("identifiers of persons must be text or whole numbers") from None
    persons: NDArray[np.object_] = np.array([*map(_identity, np.asarray(different)), None], dtype=object)
    return np.asarray(persons[numbered], np.object_)  # a gap has the number -1


def _identity(identifier: Any) -> str | None:
    if isinstance(identifier, str):
        text = unicodedata.normalize("NFC", identifier.strip())
        return None if text in GAPS else _plain(text)
    if isinstance(identifier, numbers.Integral) and not isinstance(identifier, bool):
        return str(int(identifier))
    if isinstance(identifier, float | np.floating):
        number, exact = float(identifier), 2.0 ** (np.finfo(type(identifier)).nmant + 1)
        if abs(number) < exact and number.is_integer():  # from there on, two people may be one float
            return str(int(number))
    raise ValueError(
        "identifiers of persons must be text or whole numbers that their type holds exactly, got a "
        f"{type(identifier).__name__} that is neither"
    )


def _plain(text: str) -> str:
    """Return 7 for 7, 7.0 and 007, and other text unchanged."""
    if "_" in text:  # Python would read 1_2 as 12
        return text
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or len(number.as_tuple().digits) > _DIGITS or abs(number.adjusted()) > _DIGITS:
        return text
    return f"{number.normalize(Context(prec=_DIGITS)):f}" if number else "0"  # also for -0

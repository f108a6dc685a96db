"""CSV whose cells no spreadsheet runs as formulas."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# What spreadsheets take for the start of a formula (OWASP, "CSV Injection"), after any number of quotes.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBERS = "biufcmM"  # kinds of columns that hold no text


def to_csv(table: "pd.DataFrame") -> bytes:
    """Return a table as CSV, with a single quote before each text that looks like a formula.

    Texts may come from an attacker who wants a spreadsheet to run them. Numbers stay numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> to_csv(pd.DataFrame({"name": ["=1+1", "age"], "value": [-1.5, 2.0]})).splitlines()
    [b'name,value', b"'=1+1,-1.5", b'age,2.0']
    """
    # With this line end, of RFC 4180, both of its characters are quoted inside a cell.
    return str(_with_texts(table, _as_data).to_csv(index=False, lineterminator="\r\n")).encode()


def from_csv(file: Path) -> "pd.DataFrame":
    """Return a table that `to_csv` wrote; words such as "null" and "nan" stay words."""
    import pandas as pd

    return _with_texts(pd.read_csv(file, keep_default_na=False, na_values=[""]), _as_given)


def _with_texts(table: "pd.DataFrame", change: Callable[[Any], Any]) -> "pd.DataFrame":
    """Return the table with a change to its texts and to the names of its columns."""
    changed = table.copy()
    for place, (_, column) in enumerate(table.items()):
        if column.dtype.kind not in _NUMBERS:
            changed.isetitem(place, column.astype(object).map(change))
    changed.columns = [change(name) for name in table.columns]
    return changed


def _as_data(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _is_number(cell) else cell


def _as_given(cell: Any) -> Any:
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""CSV in which spreadsheets take no cell for a formula."""

import re
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
    shown = table.copy()
    for place, (_, column) in enumerate(table.items()):
        if column.dtype.kind not in _NUMBERS:
            shown.isetitem(place, column.astype(object).map(_as_data))
    shown.columns = [_as_data(name) for name in table.columns]
    # With this line end, of RFC 4180, both of its characters are quoted inside a cell.
    return str(shown.to_csv(index=False, lineterminator="\r\n")).encode()


def from_csv(file: Path) -> "pd.DataFrame":
    """Return a table that `to_csv` wrote; words such as "null" and "nan" stay words."""
    import pandas as pd

    table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    for place, (_, column) in enumerate(table.items()):
        if column.dtype.kind not in _NUMBERS:
            table.isetitem(place, column.map(_as_given))
    table.columns = [_as_given(name) for name in table.columns]
    return table


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

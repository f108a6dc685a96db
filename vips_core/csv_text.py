"""CSV that no spreadsheet takes for formulas."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Characters that start a formula in spreadsheets (OWASP, "CSV Injection"), after any single quotes.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBERS = "biufcmM"  # NumPy kinds of columns without text


def to_csv(table: "pd.DataFrame") -> bytes:
    """Return a table as CSV, with a single quote before each text that looks like a formula.

    An attacker may have written such a text for a spreadsheet to run. Numbers stay numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> to_csv(pd.DataFrame({"name": ["=1+1", "age"], "value": [-1.5, 2.0]})).splitlines()
    [b'name,value', b"'=1+1,-1.5", b'age,2.0']
    """
    # With RFC 4180's line end, a cell that contains either of its characters is quoted.
    return str(_map_texts(table, _quoted).to_csv(index=False, lineterminator="\r\n")).encode()


def from_csv(file: Path) -> "pd.DataFrame":
    """Read a table that `to_csv` wrote; texts such as "null" and "nan" stay texts."""
    import pandas as pd

    return _map_texts(pd.read_csv(file, keep_default_na=False, na_values=[""]), _unquoted)


def _map_texts(table: "pd.DataFrame", change: Callable[[Any], Any]) -> "pd.DataFrame":
    """Return the table with `change` applied to its texts and column names."""
    changed = table.copy()
    for place, (_, column) in enumerate(table.items()):
        if column.dtype.kind not in _NUMBERS:
            changed.isetitem(place, column.astype(object).map(change))
    changed.columns = [change(name) for name in table.columns]
    return changed


def _quoted(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _is_number(cell) else cell


def _unquoted(cell: Any) -> Any:
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""Self-contained HTML: templates, tables with readable numbers, and Plotly embedded once."""

import functools
import json
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vips_core import rounding
from vips_core.privacy.accountants import stated

if TYPE_CHECKING:
    import pandas as pd

# Characters above which a cell's text may wrap. page.css keeps such a cell at least 16rem wide, about 35
# characters: a shorter text would not wrap anyway.
LONG_TEXT = 40
_REPORTS = "vips_core.reports"  # the package with the templates of reports

_Cells = list[tuple[str, str]]  # a row of an HTML table: each cell's text and CSS class


@functools.cache
def templates(package: str) -> Environment:
    """Return the templates in a package's folder `templates`.

    Everything put into HTML is escaped, and a missing value is an error.

    Parameters
    ----------
    package
        Full name of the package, e.g. "vips_core.reports".

    Returns
    -------
    jinja2.Environment
        Environment with the filters that reports use.

    Examples
    --------
    >>> templates("vips_core.reports").from_string("{{ text }}").render(text="<b>")
    '&lt;b&gt;'
    """
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=lambda name: name is None or name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}
    environment.filters |= {
        "as_table": as_table,
        "brief": rounding.brief,
        "day": lambda moment: time.strftime("%Y-%m-%d", time.gmtime(moment)),
        "minute": lambda moment: time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment)),
        "digits": lambda value: f"{value:.4g}",
        "plain": plain,
        "scalar": scalar,
        "stated": stated,
        "thousands": lambda value: f"{value:,}",
    }
    return environment


def render(template: str, **values: Any) -> str:
    """Return a report's page, or another text.

    Parameters
    ----------
    template
        Name of a file in `templates`.
    values
        Values of the template.

    Returns
    -------
    str
        HTML that opens without network.
    """
    return templates(_REPORTS).get_template(template).render(plotly=plotly_script, **values)


class PlainTexts:
    """The macros of `shared_texts.html.j2` as plain text, without HTML escapes.

    Examples
    --------
    >>> PlainTexts().software({"a <b>": "1.0"}).strip()
    'a <b> 1.0.'
    """

    def __getattr__(self, name: str) -> Callable[..., str]:
        macro = getattr(templates(_REPORTS).get_template("shared_texts.html.j2").module, name)
        return lambda *values: str(Markup(macro(*values)).unescape())


def plotly_script() -> Markup:
    """Return Plotly's JavaScript, several megabytes."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def as_table(frame: "pd.DataFrame") -> tuple[_Cells, list[_Cells]]:
    """Return head and rows of a table with readable numbers: four significant digits.

    Examples
    --------
    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"name": ["a"], "value": [1234.5678]}))[1]
    [[('a', ''), ('1,235', 'n')]]
    """
    numeric = [kind.kind in "fiu" for kind in frame.dtypes]
    head = [(str(name), "n" if right else "") for name, right in zip(frame.columns, numeric, strict=True)]
    rows = [
        [(_number(value), "n") if right else _text(value) for value, right in zip(row, numeric, strict=True)]
        for row in frame.itertuples(index=False, name=None)
    ]
    return head, rows


def scalar(text: Any) -> str:
    """Return a text as a one-line string literal that is valid in YAML and JSON.

    Examples
    --------
    >>> scalar("one  patient: all visits")
    '"one patient: all visits"'
    """
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in str(text)).split())
    return json.dumps(line, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return a figure as plain JSON: lists for arrays, None for NaN and infinity.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"y": np.array([1.0, np.nan])})
    {'y': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> tuple[str, str]:
    missing = value is None or value != value
    text = "–" if missing else str(value)
    return text, "wrap" if len(text) > LONG_TEXT else ""


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    if isinstance(value, float) and (abs(value) >= 1e6 or (abs(value) < 1000 and value != int(value))):
        return f"{value:.4g}"
    return f"{round(value):,}"

"""A self-contained HTML page: text, tables and charts, with Plotly embedded, so that it opens offline."""

import json
import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from vips_core.reports.figures import Figure

if TYPE_CHECKING:
    import pandas as pd

# Nothing may be fetched, whatever is in the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"

_STYLE = """
:root { --ink: #1d2733; --soft: #5a6673; --line: #d9dee4; --page: #ffffff; --card: #f6f8fa;
  --accent: #1F83C4;
  --warn: #fff3e6; --warn-line: #D55E00; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #a3adb8; --line: #353d47;
  --page: #12161b;
  --card: #1a2027; --warn: #2e2118; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, "Liberation Sans", sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .2rem; }
p { margin: .3rem 0 .8rem; max-width: 50rem; }
.soft, figcaption { color: var(--soft); font-size: .92rem; }
.lead { font-size: 1.12rem; background: var(--card); border-left: 4px solid var(--accent);
  padding: .9rem 1.1rem;
  margin: 1.2rem 0; max-width: none; }
.warn { background: var(--warn); border-left: 4px solid var(--warn-line); padding: .7rem 1.1rem;
  max-width: none; }
figure { margin: 1rem 0 1.6rem; } figcaption { max-width: 50rem; }
.chart { width: 100%; min-height: 300px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums;
  margin: .5rem 0 1rem; }
th, td { padding: .28rem .5rem; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap; }
td.wrap { white-space: normal; min-width: 16rem; }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
td.n, th.n { text-align: right; }
pre { background: var(--card); padding: .9rem 1.1rem; overflow-x: auto; font-size: .86rem;
  line-height: 1.45; }
details > summary { cursor: pointer; color: var(--soft); font-size: .92rem; }
@media print { :root { --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --card: #f4f4f4;
  --warn: #fff; }
  main { max-width: none; padding: 0; } figure, tr, .lead { break-inside: avoid;
  } h2, h3 { break-after: avoid; } }
"""

_DRAW = """
const dark = matchMedia("(prefers-color-scheme: dark)");
function draw(onPaper) {
  const night = dark.matches && !onPaper;
  const ink = night ? "#e6eaee" : "#1d2733", grid = night ? "#353d47" : "#dfe3e8";
  for (const place of document.querySelectorAll(".chart")) {
    const figure = JSON.parse(place.nextElementSibling.textContent);
    figure.layout.font = {color: ink, size: 13, family: getComputedStyle(document.body).fontFamily};
    figure.layout.margin.r = 24;
    for (const axis of [figure.layout.xaxis, figure.layout.yaxis]) {
      Object.assign(axis, {gridcolor: grid, linecolor: grid, tickcolor: grid});
      axis.title = {...axis.title, standoff: 12};
    }
    Plotly.react(place, figure.data, figure.layout, {displayModeBar: false, responsive: true});
  }
}
draw(false);
dark.addEventListener("change", () => draw(false));
addEventListener("beforeprint", () => draw(true));
addEventListener("afterprint", () => draw(false));
"""


def page(title: str, parts: Sequence[str]) -> str:
    """Return the whole page; `parts` are HTML already."""
    from plotly.offline import get_plotlyjs  # here: it is large, and only reports need it

    body = "\n".join(parts)
    charts = f"<script>{get_plotlyjs()}</script>\n<script>{_DRAW}</script>" if 'class="chart"' in body else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n{charts}\n</body>\n</html>\n"
    )


def heading(text: str, level: int = 2) -> str:
    """Return a heading."""
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph; `kind` may be "soft", "lead" or "warn"."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    """Return text as it stands in a file."""
    return f"<pre>{escape(text)}</pre>"


def chart(figure: Figure, caption: str, label: str) -> str:
    """Return a chart with its caption; `label` is read out by screen readers."""
    content = json.dumps(plain(figure), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return (
        f'<figure><div class="chart" role="img" aria-label="{escape(label)}"></div>'
        f'<script type="application/json">{content}</script>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(frame: "pd.DataFrame") -> str:
    """Return a table with numbers for people: four significant digits."""
    numeric = [bool(kind.kind in "fiu") for kind in frame.dtypes]
    head = "".join(
        f"<th{' class=n' if right else ''}>{escape(str(name))}</th>"
        for name, right in zip(frame.columns, numeric, strict=True)
    )
    rows = [
        "".join(_cell(value, right) for value, right in zip(row, numeric, strict=True))
        for row in frame.itertuples(index=False, name=None)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def folded(summary: str, content: str) -> str:
    """Return HTML that is shown on demand."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def plain(value: Any) -> Any:
    """Return a figure with lists for arrays and None for what is no number, as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any, right: bool) -> str:
    if not right:
        missing = value is None or value != value
        kind = ' class="wrap"' if isinstance(value, str) and len(value) > 60 else ""
        return f"<td{kind}>{'–' if missing else escape(str(value))}</td>"
    return f'<td class="n">{_number(value)}</td>'


def _number(value: Any) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "–"
        if math.isinf(value):
            return "∞"
        if value != int(value) or abs(value) >= 1e6:
            return f"{value:.4g}" if abs(value) < 1000 or abs(value) >= 1e6 else f"{value:,.0f}"
    return f"{int(value):,}"

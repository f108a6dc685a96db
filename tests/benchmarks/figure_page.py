"""A figure of the paper as one self-contained page with its table, readable in light and dark."""

from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import plotly.io

from vips_core.reports.figures import HEIGHT

# System colours follow the reader's light or dark setting, in the page and in the chart's text.
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
:root {{ color-scheme: light dark; font: 15px system-ui, sans-serif; }}
body {{ max-width: 1360px; margin: 2rem auto; padding: 0 1rem; background: Canvas; color: CanvasText; }}
.main-svg text {{ fill: CanvasText !important; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; border: 0; }}
td, th {{ padding: .25rem .75rem; text-align: right; font-variant-numeric: tabular-nums; border: 0;
  white-space: nowrap; }}
tbody tr {{ border-top: 1px solid color-mix(in srgb, CanvasText 15%, Canvas); }}
tbody th {{ text-align: left; font-weight: 500; }}
@media (max-width: 1000px) {{ td, th {{ padding: .2rem .4rem; font-size: .8rem; }} }}
</style><h1>{title}</h1>{chart}<p>{caption}</p><div class="table">{table}</div></html>"""
_LINE = "rgba(127,138,149,0.25)"


def write_page(path: Path, title: str, figure: go.Figure, caption: str, table: pd.DataFrame) -> None:
    """Write the figure with the shared style."""
    figure.update_xaxes(gridcolor=_LINE, zeroline=False)
    figure.update_yaxes(gridcolor=_LINE, zeroline=False)
    figure.update_layout(
        height=HEIGHT + 80,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "x": 0, "y": -0.18, "yanchor": "top"},
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )
    chart = plotly.io.to_html(figure, include_plotlyjs=True, full_html=False, config={"displaylogo": False})
    text = _PAGE.format(title=title, chart=chart, caption=caption, table=table.to_html(border=0))
    path.write_text(text, "utf-8")

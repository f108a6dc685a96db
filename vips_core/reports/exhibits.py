"""What a report shows: each figure with its caption and the table of the same numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vips_core.reports.figures import Figure

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Exhibit:
    """A figure with its table, or a table alone.

    Attributes
    ----------
    name
        For files.
    title, caption
        Above and below it.
    figure
        Plotly figure, None where the table is all there is.
    table
        The numbers.
    score
        Name of the score that it shows, where it is of one.
    """

    name: str
    title: str
    caption: str
    figure: Figure | None
    table: "pd.DataFrame"
    score: str | None = None

"""Charts of the Frontier page as plain Plotly figures."""

from vips_core.reports.figures import GREY, Figure
from vips_core.reports.traces import line


def with_wanted(figure: Figure | None, utility: float) -> Figure | None:
    """Return a figure of scores with a line across at the utility to reach, which the legend names.

    A label in the plot would lie on the curves.
    """
    if figure is None:
        return None
    ends = [10**exponent for exponent in figure["layout"]["xaxis"]["range"]]
    level = line("To reach", ends, [utility, utility], GREY, "dot", hover=f"To reach: {utility:.4g}")
    return figure | {"data": [*figure["data"], level]}

"""Figures: margins for the labels of the axes, so that a browser draws once."""

import pytest

from vips_core.reports.figures import NO_LEGEND, figure
from vips_core.reports.traces import axis


@pytest.mark.parametrize(
    ("x", "y", "sides"),
    [
        ({}, {}, ()),
        (axis("Step"), axis("AUC"), ("b", "l")),
        (axis("Step"), {"ticktext": ["age"]}, ("b", "l")),
        (axis("Step", domain=[0.2, 1]), axis("AUC", showticklabels=False), ()),
    ],
)
def test_axes_reserve_the_width_of_their_labels(x, y, sides):
    margin = figure([], x, y)["layout"]["margin"]
    assert {side for side in "lrb" if margin[side] > NO_LEGEND[side]} == set(sides)


def test_longer_names_get_more_width():
    short, long = (figure([], {}, {"ticktext": [name]})["layout"]["margin"]["l"] for name in ("i", "wide"))
    assert short < long


def test_a_figure_may_set_one_margin():
    margin = figure([], axis("Step"), axis("AUC"), margin={"b": 5})["layout"]["margin"]
    assert (margin["b"], margin["r"]) == (5, NO_LEGEND["r"])
    assert margin["l"] > NO_LEGEND["l"]

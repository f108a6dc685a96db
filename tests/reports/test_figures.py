"""Figures: room for what stands beside the axes, so that a browser draws them once."""

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
def test_axes_begin_with_the_room_that_their_labels_take(x, y, sides):
    margin = figure([], x, y)["layout"]["margin"]
    assert {side for side in "lrb" if margin[side] > NO_LEGEND[side]} == set(sides)


def test_longer_names_have_more_room():
    short, long = (figure([], {}, {"ticktext": [name]})["layout"]["margin"]["l"] for name in ("i", "wide"))
    assert short < long


def test_a_figure_may_have_a_side_of_its_own():
    margin = figure([], axis("Step"), axis("AUC"), margin={"b": 5})["layout"]["margin"]
    assert (margin["b"], margin["r"]) == (5, NO_LEGEND["r"])
    assert margin["l"] > NO_LEGEND["l"]

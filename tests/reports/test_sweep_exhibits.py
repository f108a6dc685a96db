"""Figures of sweeps: which points form a line, where they lie, and ε by accountant."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from vips_core.reports import page, sweep_figures
from vips_core.reports.sweep_report import accounting, line_names, sweep_exhibits
from vips_core.sweeps.grid import Sweep, preset


def lines_of(x, **columns):
    count = len(columns["epsilon"])
    cells = pd.DataFrame({"series": ["a"] * count, "batch": [1] * count, "epochs": [1] * count} | columns)
    return line_names(cells.assign(expected_batch=cells["batch"]), x).tolist()


def test_different_settings_never_share_a_point_of_a_line():
    assert lines_of("epsilon", epsilon=[1, 2]) == ["a", "a"]
    assert lines_of("epsilon", epsilon=[1, 1], batch=[10, 20]) == ["a, S = 10", "a, S = 20"]
    assert lines_of("epsilon", epsilon=[math.nan] * 2, batch=[10, 20]) == ["a, S = 10", "a, S = 20"]
    assert lines_of("epsilon", epsilon=[1, 2], batch=[10, 20]) == ["a", "a"]  # ε follows from S
    many = lines_of("epsilon", epsilon=[1, 2, 3, 4], batch=[10, 10, 20, 20])
    assert many == ["a, S = 10", "a, S = 10", "a, S = 20", "a, S = 20"]
    assert lines_of("expected_batch", epsilon=[1, 2], batch=[10, 20]) == ["a", "a"]
    assert lines_of("expected_batch", epsilon=[1, 2], batch=[10, 10]) == ["a, ε = 1", "a, ε = 2"]


def test_accounting_of_the_paper_gives_its_published_epsilon():
    definition = preset("paper-lda", "quick")
    (exhibit,) = accounting(definition.model, 18_963)
    table = exhibit.table.set_index(["accountant", "batch", "noise_multiplier"])["epsilon"]
    assert table["Moments (paper)", 20_000, 1.24] == pytest.approx(2.4411, abs=1e-4)
    assert table["Moments", 20_000, 1.24] == pytest.approx(1.6451, abs=1e-4)
    assert table["PLD", 20_000, 1.24] < 1


def test_accounting_needs_as_many_records_as_the_smallest_batch():
    assert accounting("logistic", 300) == []
    (exhibit,) = accounting("logistic", 500)
    assert set(exhibit.table["batch"]) == {400}
    assert json.dumps(page.plain(exhibit.figure), allow_nan=False)
    names = [trace["name"] for trace in exhibit.figure["data"]]
    assert names == ["Moments, S = 400", "PLD, S = 400"]  # the paper's range of moments is too short here


def test_a_sweep_without_finished_cells_shows_nothing(store):
    definition = Sweep.from_mapping({"model": "logistic", "data": "small", "delta": 1e-3, "epsilon": 7.0})
    assert sweep_exhibits(definition, store) == []


def test_scores_lie_on_a_logarithmic_axis_with_bars_and_a_band():
    rows = [
        ("A & B", "refined", epsilon, mean, 0.1) for epsilon, mean in ((0.5, 1.0), (1.0, 2.0), (2.0, 3.0))
    ]
    rows += [("flat", "non-private", math.nan, 2.5, 0.2)]
    summary = pd.DataFrame(rows, columns=["line", "method", "epsilon", "mean", "sd"])
    figure = sweep_figures.against_epsilon(summary, "score")
    curve, band, across = figure["data"]
    assert (curve["name"], across["name"]) == ("A & B", "flat")
    assert np.allclose(np.diff(np.log(curve["x"])), math.log(2))
    assert curve["y"] == [1.0, 2.0, 3.0]
    assert curve["error_y"]["array"] == [0.1] * 3
    assert (min(band["y"]), max(band["y"])) == (2.3, 2.7)
    assert across["line"]["dash"] == "dash"
    assert figure["layout"]["xaxis"]["type"] == "log"
    assert figure["layout"]["xaxis"]["ticktext"] == ["0.5", "1", "2"]
    assert figure["layout"]["yaxis"]["title"]["text"] == "Held-out score"


def test_lines_without_epsilon_that_look_the_same_are_named_once():
    rows = [("noisy", "refined", 1.0, 2.0, 0.1), ("noisy", "refined", 2.0, 2.5, 0.1)]
    rows += [(f"Non-private, S = {size}", "non-private", math.nan, size / 100, 0.0) for size in (300, 400)]
    summary = pd.DataFrame(rows, columns=["line", "method", "epsilon", "mean", "sd"])
    few = sweep_figures.against_epsilon(summary, "score")
    across = [trace for trace in few["data"] if trace["name"] != "noisy"]
    assert [(trace["name"], trace["showlegend"]) for trace in across] == [
        ("Non-private", True),
        ("Non-private", False),
    ]
    assert [trace["y"] for trace in across] == [[3.0, 3.0], [4.0, 4.0]]
    assert "S = 400" in across[1]["hovertemplate"]
    copies = [summary[:2].assign(line=f"noisy {number}") for number in range(8)]
    many = sweep_figures.against_epsilon(pd.concat(copies), "score")
    assert many["layout"]["height"] > few["layout"]["height"]  # a long legend takes no height from the curves

"""Shipped result files: complete, and one run of each made again to within 1% by the current code."""

import pytest

from sample_data import frontiers
from vips_core.sweeps.cells import Cells, computed_cell
from vips_core.sweeps.grid import preset

# One cheap run of each file: its request, and the columns that identify it in the file.
CHEAP = {
    "paper-logistic": {"method": "refined", "epsilon": 0.5, "seed": 3},
    "paper-lda": {"method": "paper", "noise": 1.0, "batch": 948, "seed": 0},
    "paper-sbn": {"method": "non-private", "batch": 3200, "seed": 0},
}
names = pytest.mark.parametrize("name", frontiers.ON_DATA.values())


@names
def test_every_run_of_the_sweep_is_there(name):
    frontier = frontiers.load(name)
    cells, requests = frontier.cells, frontier.sweep.cells()
    assert frontier.runs == len(requests)
    assert frontier.sweep.data == {data for data, of in frontiers.ON_DATA.items() if of == name}.pop()
    assert frontier.sweep == preset(name, "full")
    settings = ["method", "epsilon", "batch", "noise_multiplier", "seed"]
    for _, of_score in cells.groupby("score"):
        assert len(of_score.drop_duplicates(settings)) == len(requests)
    assert set(cells["seed"]) == {request.seed for request in requests}
    assert cells["value"].notna().all()


@names
def test_a_run_of_the_file_can_be_made_again(name, tmp_path):
    frontier = frontiers.load(name)
    asked = CHEAP[name]
    (request,) = [cell for cell in frontier.sweep.cells() if asked.items() <= cell.to_mapping().items()]
    again, _ = computed_cell(str(tmp_path), Cells(tmp_path, "samples"), request.to_mapping(), False)
    column = {"noise": "noise_multiplier"}
    rows = frontier.cells
    for option, value in asked.items():
        rows = rows[rows[column.get(option, option)] == value]
    # Small changes of the models pass; a larger change, or another score, calls for the command.
    make = f"run python -m sample_data.frontiers {name}"
    assert set(again["scores"]) == set(rows["score"]), make
    assert again["scores"] == pytest.approx(dict(zip(rows["score"], rows["value"], strict=True)), rel=0.01)


def test_an_unknown_name_gives_a_sentence():
    with pytest.raises(ValueError, match="name must be one of paper-lda, paper-logistic, paper-sbn, got 'x'"):
        frontiers.load("x")

"""Cells are run once, and again after a change of anything that they depend on."""

import pytest

from tests.small_rows import rows
from tests.sweeps import BASE
from vips_core.store.store import Store
from vips_core.sweeps.cells import Cells, cells_of, computed_cell, run_cell
from vips_core.sweeps.grid import Sweep


def test_a_cell_repeats_and_is_written_whole(home, tmp_path):
    request = Sweep.from_mapping(BASE | {"epsilon": 3.0}).cells()[0]
    place = Cells(home.home / "cells", home.data_row("small").fingerprint)
    arguments = (str(home.home), place, request.to_mapping(), True)
    contents = []
    for _ in range(2):
        assert run_cell(*arguments) is None
        contents.append(
            place.read(request) | {"seconds": 0} | {"mean": place.parameters(request)["mean"].tolist()}
        )
    assert contents[0] == contents[1]
    assert not list(place.folder.glob("tmp*"))
    place.path(request).write_text("{", encoding="utf-8")
    assert place.read(request) is None
    assert not place.finished(request, False)


def test_a_cell_is_not_run_by_other_code_than_the_sweep_was_started_with(home):
    request = Sweep.from_mapping(BASE | {"epsilon": 3.5}).cells()[0]
    place = Cells(home.home / "cells", "records", code="older")
    with pytest.raises(ValueError, match="the code has changed since the sweep started"):
        run_cell(str(home.home), place, request.to_mapping(), False)
    assert place.read(request) is None


def test_records_that_were_registered_again_are_read_again(tmp_path):
    """Also by a process that ran cells of the earlier records, as a worker of a cluster does."""
    store, definition, scores = Store(tmp_path), Sweep.from_mapping(BASE | {"epsilon": 3.0}), []
    for held_out in (rows(200, 1), rows(200, 2), rows(200, 1)):
        store.add_data("small", rows(300, 0), held_out, private=False, unit="one row")
        table, place = definition.cells()[0].to_mapping(), cells_of(definition, store)
        scores.append(computed_cell(str(tmp_path), place, table, False)[0]["scores"])
    assert scores[0] == scores[2] != scores[1]


def test_the_name_of_a_cell_depends_on_data_and_settings(home):
    first, second = Sweep.from_mapping(BASE | {"epsilon": [1.0, 2.0]}).cells()
    place, other = Cells(home.home, "x"), Cells(home.home, "y")
    assert len({place.path(first), place.path(second), other.path(first)}) == 3

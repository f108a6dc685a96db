"""The Frontier page's logic, without a browser."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import background, frontier, frontier_parts, sweep_words
from tests.pages import address, opened
from tests.test_sweep import rows
from vips_core.runs import supervisor, worker
from vips_core.runs.budget import Cap
from vips_core.runs.store import Store
from vips_core.sweeps import sweep
from vips_core.sweeps.grid import Sweep

TABLE = {
    "title": "Small", "model": "logistic", "data": "small", "delta": 1e-3, "epochs": 2, "seeds": 2,
    "figures": ["epsilon"],
    "grid": [{"method": "non-private"}, {"method": ["refined", "paper"], "epsilon": [0.5, 4.0]}],
}  # fmt: skip


@pytest.fixture
def store(home):
    """A store with a public and a private data set."""
    found = Store(home)
    found.add_data("small", rows(200, 0), rows(100, 1), private=False, unit="one row")
    found.add_data("secret", rows(200, 2), rows(100, 3), cap=Cap(3.0, 1e-4), unit="one row")
    return found


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch):
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(frontier_parts, "wait", lambda run, place: None)
    monkeypatch.setattr(background, "rerun_when_ready", lambda calls: None)


@pytest.fixture
def one_core(monkeypatch):
    """Cells in this process: a pool would import everything again."""
    run_missing = sweep.run_missing

    class Pool:
        def submit(self, function, *args):
            future = sweep.Future()
            future.set_result(function(*args))
            return future

        def __enter__(self):
            return self

        def __exit__(self, *rest):
            return None

    monkeypatch.setattr(sweep, "_pool", lambda processes: Pool())
    return run_missing


def page(**address):
    def script():
        from dashboard.views import frontier

        frontier.show()

    return opened(AppTest.from_function(script, default_timeout=120), **address)


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption])


def button(at, label):
    (found,) = [item for item in at.button if item.label.startswith(label)]
    return found


def test_without_sweeps_the_page_invites(store):
    at = page()
    assert "A sweep trains a model many times" in texts(at)
    assert button(at, "Start").label.split()[1].isdigit()
    assert "Sweeps run on public data only" in texts(at)


def test_own_grid_starts_in_the_store_and_is_in_the_address(store):
    at = page(
        preset="own", model="logistic", data="small", epsilons="2,0.5", seeds=3, methods="refined,non-private"
    )
    assert button(at, "Start").label == "Start 9 cells"
    button(at, "Start").click().run()
    assert not at.exception
    (run,) = store.runs(kind="sweep")
    wanted = Sweep.from_mapping(run.request)
    assert wanted.data == "small"
    assert {cell.get("epsilon") for cell in wanted.cells()} == {None, 0.5, 2.0}
    assert address(at)["sweep"] == run.id
    assert button(at, "Cancel")
    button(at, "Cancel").click().run()
    assert store.run(run.id).status == "cancelled"
    assert button(at, "Resume")


def test_private_data_cannot_be_swept(store):
    assert "secret" not in frontier.public_data("logistic")
    at = page(preset="own", model="logistic", data="secret")
    assert address(at)["data"] != "secret"


@pytest.mark.parametrize(
    ("name", "value"), [("epsilons", "1,x"), ("seeds", "0"), ("sweep", "zz"), ("preset", "no")]
)
def test_bad_address_gives_a_sentence(store, name, value):
    (error,) = page(**{name: value}).error
    assert f"In the address, {name}" in error.value.replace("\\", "")


def test_an_unknown_sweep_gives_a_sentence(store):
    assert "there is no sweep 'abcdef12'" in page(sweep="abcdef12").error[0].value.replace("\\", "")


def test_curves_smallest_epsilon_and_cells_are_those_of_the_sweep(store, one_core):
    run_id = store.submit_sweep(TABLE)
    worker.work(store, run_id)
    at = page(sweep=run_id)
    assert "10 of 10 cells are finished." in texts(at)
    assert not [item for item in at.button if item.label in ("Resume", "Cancel")]
    drawn = at.get("plotly_chart")
    assert len(drawn) == 2  # cells, curves
    assert "of which there are 2" in texts(at)  # seeds, and what the bars are
    assert "one standard deviation" in texts(at)
    assert address(at)["score"] == "AUC"
    cells = sweep.frame(Sweep.from_mapping(TABLE), store)
    utility = float(address(at)["utility"])
    assert cells["value"].min() <= utility <= cells["value"].max()
    shown = at.table[0].value
    assert set(shown["Method"]) == {"Refined", "Paper"}
    again = page(**address(at))
    assert address(again) == address(at)


def test_a_stopped_sweep_goes_on_with_what_is_missing(store, one_core):
    half = TABLE | {"seeds": 1}
    worker.work(store, store.submit_sweep(half))
    run_id = store.submit_sweep(TABLE)
    store.cancel(run_id)
    at = page(sweep=run_id)
    assert "5 of 10 cells are finished" in texts(at)
    button(at, "Resume").click().run()
    (newest, *_) = store.runs(kind="sweep")
    assert newest.id != run_id
    assert newest.request == TABLE
    assert address(at)["sweep"] == newest.id


def cells(values, score="AUC"):
    return pd.DataFrame(
        [
            {"line": line, "epsilon": epsilon, "score": score, "value": value, "seed": seed}
            for line, epsilon, several in values
            for seed, value in enumerate(several)
        ]
    )


def test_smallest_epsilon_counts_runs_and_wants_larger_ones_to_do_as_well():
    nine = [0.8] * 9 + [0.5]
    eight = [0.8] * 8 + [0.5] * 2
    found = cells([("A", 1.0, eight), ("A", 2.0, nine), ("A", 4.0, nine), ("B", 1.0, nine), ("B", 2.0, eight),
                   ("C", 1.0, nine), ("A", None, nine)])  # fmt: skip
    table = frontier.smallest_epsilon(found, "AUC", 0.8).set_index("Method")
    assert table.loc["A", "Smallest ε"] == 2.0
    assert table.loc["A", "Runs that reach it there"] == "9 of 10"
    assert np.isnan(table.loc["B", "Smallest ε"])  # at ε = 2 too few do: one lucky setting is no result
    assert table.loc["C", "Smallest ε"] == 1.0
    shown = frontier_parts.readable(table.reset_index()).set_index("Method")
    assert shown.loc["B", "Smallest ε"] == "above 2.00"


def test_perplexity_shall_be_small():
    found = cells([("A", 1.0, [900.0]), ("A", 2.0, [700.0])], "perplexity (bound)")
    assert frontier.smallest_epsilon(found, "perplexity (bound)", 750.0)["Smallest ε"][0] == 2.0
    low, high, usual = frontier.bounds(found, "perplexity (bound)")
    assert low < usual < high
    assert usual == pytest.approx(750.0)
    assert "at most 750" in sweep_words.smallest("perplexity (bound)", 750.0, "1")


def test_picture_of_cells_counts_and_gives_way_when_too_wide():
    filled = pd.DataFrame(
        {"line": ["A", "B"], "setting": ["ε = 1", "ε = 2"], "cells": [5, 5], "done": [5, 2]}
    )
    figure = frontier.filled_cells(filled)
    assert figure["data"][0]["text"] == [["5/5", ""], ["", "2/5"]]
    assert go.Figure(**figure)
    wide = pd.DataFrame({"line": "A", "setting": [f"ε = {i}" for i in range(40)], "cells": 1, "done": 0})
    assert frontier.filled_cells(wide) is None

"""The Frontier page's logic, without a browser."""

from concurrent.futures import Future

import numpy as np
import pandas as pd
import pytest

from dashboard import background
from dashboard.components import live_runs
from dashboard.views.frontier import form, text, utility
from sample_data import frontiers
from tests import toy_model
from tests.pages import address, view
from tests.small_rows import rows
from vips_core.jobs import supervisor, worker
from vips_core.store.budget import Cap
from vips_core.store.store import Store
from vips_core.sweeps import job, results
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.job import run_sweep, submit_sweep

TABLE = {
    "title": "Small",
    "model": "logistic",
    "data": "small",
    "delta": 1e-3,
    "epochs": 2,
    "seeds": 2,
    "figures": ["epsilon"],
    "grid": [{"method": "non-private"}, {"method": ["refined", "paper"], "epsilon": [0.5, 4.0]}],
}


@pytest.fixture
def store(home):
    """A store with a public and a private data set."""
    store = Store(home)
    store.add_data("small", rows(200, 0), rows(100, 1), private=False, unit="one row")
    store.add_data("secret", rows(200, 2), rows(100, 3), cap=Cap(3.0, 1e-4), unit="one row")
    return store


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch):
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(live_runs, "follow_bar", lambda *arguments, **values: None)
    monkeypatch.setattr(background, "rerun_when_ready", lambda calls: None)


@pytest.fixture
def one_core(monkeypatch):
    """Cells in this process: a pool would import everything again."""

    class Pool:
        def submit(self, function, *args):
            future = Future()
            future.set_result(function(*args))
            return future

        def __enter__(self):
            return self

        def __exit__(self, *rest):
            return None

    monkeypatch.setattr(job, "_pool", lambda processes: Pool())


def page(**address):
    return view("frontier", **address)


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption])


def button(at, label):
    (button,) = [item for item in at.button if item.label.startswith(label)]
    return button


@pytest.mark.parametrize("name", frontiers.ON_DATA.values())
def test_the_page_opens_with_the_picture_that_ships(store, name):
    at = page(sweep=name)
    frontier = frontiers.load(name)
    assert f"these {frontier.runs:,} runs come with the project" in texts(at)
    assert f"Made by version {frontier.version} (code `{frontier.codes[0][:12]}`" in texts(at)
    assert at.get("plotly_chart")
    needed = at.table[0].value
    private = frontier.cells.loc[frontier.cells["epsilon"].notna(), "series"].unique()
    assert all(line.startswith(tuple(private)) for line in needed["Method"])
    assert len(needed) >= len(private)
    assert needed["Smallest ε"].nunique() >= 3  # the utility separates the methods
    assert address(page(**address(at))) == address(at)


def test_without_an_address_the_page_opens_on_what_ships_and_offers_a_sweep(store):
    at = page()
    assert address(at)["sweep"] == "paper-logistic"
    assert "A sweep trains a model at every ε" in texts(at)
    assert button(at, "Start").label.split()[1].isdigit()
    assert "Sweeps run on public data only" in texts(at)
    submit_sweep(store, TABLE)
    assert address(page())["sweep"] == "paper-logistic"  # one's own sweeps are one click away
    assert page().get("button_group")


def test_an_own_sweep_is_drawn_beside_what_ships(store, one_core):
    grid = {"method": ["refined", "non-private"], "epsilon": 0.7, "seeds": 1}
    table = {"model": "logistic", "data": "nhanes-stroke", "delta": 1e-5, **grid}
    run_id = submit_sweep(store, table)
    worker.work(store, run_id, job=run_sweep)
    at = page(sweep=run_id)
    lines = {"Refined", "Refined (shipped)"}
    assert set(at.table[0].value["Method"]) == lines
    assert "“(shipped)” come with the project, at δ = 0.0001; your runs have δ = 1e-5." in texts(at)
    alone = page(sweep=run_id, beside="no")
    assert set(alone.table[0].value["Method"]) == {"Refined"}


def test_own_grid_starts_in_the_store_and_is_in_the_address(store):
    at = page(
        preset="own", model="logistic", data="small", epsilons="2,0.5", seeds=3, methods="refined,non-private"
    )
    assert button(at, "Start").label == "Start 9 runs"
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


def test_a_model_that_is_registered_later_can_be_swept(store):
    with toy_model.registered() as task:
        at = page(preset="own", model=task.name, data="small", epsilons="1", seeds=2)
        (models,) = [box for box in at.selectbox if box.label == "Model"]
        assert task.title in models.options
        (methods,) = at.multiselect
        assert methods.options == ["Refined", "Non-private"]
        button(at, "Start 4 runs").click().run()
        assert not at.exception
        (run,) = store.runs(kind="sweep")
        assert run.request["model"] == task.name


def test_private_data_cannot_be_swept(store):
    assert "secret" not in form.public_data("logistic")
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
    run_id = submit_sweep(store, TABLE)
    worker.work(store, run_id, job=run_sweep)
    at = page(sweep=run_id)
    assert "10 of 10 runs finished." in texts(at)
    assert not [item for item in at.button if item.label in ("Resume", "Cancel")]
    assert len(at.get("plotly_chart")) == 1
    runs = at.table[-1].value
    assert list(runs["Setting"]) == ["no noise", *["ε = 0.5", "ε = 4"] * 2]
    assert set(runs["Finished runs"]) == {"2 of 2"}
    assert "number of seeds: 2" in texts(at)  # and, below, what the bars are
    assert "one standard deviation" in texts(at)
    assert address(at)["score"] == "AUC"
    cells = results.frame(Sweep.from_mapping(TABLE), store)
    utility = float(address(at)["utility"])
    assert cells["value"].min() <= utility <= cells["value"].max()
    shown = at.table[0].value
    assert set(shown["Method"]) == {"Refined", "As published"}
    again = page(**address(at))
    assert address(again) == address(at)


def test_a_stopped_sweep_goes_on_with_what_is_missing(store, one_core):
    half = TABLE | {"seeds": 1}
    worker.work(store, submit_sweep(store, half), job=run_sweep)
    run_id = submit_sweep(store, TABLE)
    store.cancel(run_id)
    at = page(sweep=run_id)
    assert "5 of 10 runs finished" in texts(at)
    button(at, "Resume").click().run()
    (newest, *_) = store.runs(kind="sweep")
    assert newest.id != run_id
    assert newest.request == store.run(run_id).request
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
    of_a = [("A", 1.0, eight), ("A", 2.0, nine), ("A", 4.0, nine), ("A", None, nine)]
    tested = cells([*of_a, ("B", 1.0, nine), ("B", 2.0, eight), ("C", 1.0, nine)])
    table = utility.smallest_epsilon(tested, "AUC", 0.8).set_index("Method")
    assert table.loc["A", "Smallest ε"] == 2.0
    assert table.loc["A", "Runs that reach it there"] == "9 of 10"
    assert np.isnan(table.loc["B", "Smallest ε"])  # too few at ε = 2: one lucky setting proves nothing
    assert table.loc["C", "Smallest ε"] == 1.0
    shown = utility.readable(table.reset_index()).set_index("Method")
    assert shown.loc["B", "Smallest ε"] == "above\u00a02.00"


def test_perplexity_shall_be_small():
    tested = cells([("A", 1.0, [900.0]), ("A", 2.0, [700.0])], "perplexity (bound)")
    assert utility.smallest_epsilon(tested, "perplexity (bound)", 750.0)["Smallest ε"][0] == 2.0
    assert utility.bounds(tested, "perplexity (bound)") == (700.0, 900.0)
    assert 700.0 < utility.separating(tested, "perplexity (bound)") < 900.0
    assert "at most 750" in text.smallest("perplexity (bound)", 750.0, pd.DataFrame({"seeds": [1]}))


def test_the_first_utility_separates_the_methods():
    good, late = [0.9] * 3, [0.6] * 3
    tested = cells([("A", 1.0, good), ("A", 2.0, good), ("B", 1.0, late), ("B", 2.0, good)])
    wanted = utility.separating(tested, "AUC")
    needed = utility.smallest_epsilon(tested, "AUC", wanted).set_index("Method")["Smallest ε"]
    assert dict(needed) == {"A": 1.0, "B": 2.0}
    assert 0.6 < wanted <= 0.9

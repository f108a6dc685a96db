"""Sweeps: what a config means, what is run and kept, and the frame that comes out."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vips_core
from vips_core.cli import main
from vips_core.data import LabelledRows
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports import drawings
from vips_core.runs import worker
from vips_core.runs.budget import Cap
from vips_core.runs.store import Store
from vips_core.sweeps import cells as cell_runs
from vips_core.sweeps import presets, sweep
from vips_core.sweeps.grid import Sweep, canonical

BASE = {"model": "logistic", "data": "small", "delta": 1e-3, "epochs": 2}


def rows(count, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(count), "b": rng.random(count)})
    frame["y"] = (frame["a"] + 0.3 * rng.random(count) > 0.6).astype(int)
    return LabelledRows.from_frame(frame, "y", {"a": (0, 1), "b": (0, 1)})


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("home"))
    store.add_data("small", rows(300, 0), rows(200, 1), private=False, unit="one row")
    store.add_data("secret", rows(300, 2), None, private=True, cap=Cap(1.0, 1e-3), unit="one row")
    return store


@pytest.fixture(scope="module")
def executed(home):
    """A stored sweep that was worked off in processes; its last cell asks for more records than there are."""
    table = BASE | {
        "seeds": 3,
        "grid": [
            {"method": ["refined", "non-private"], "epsilon": [0.5, 2.0]},
            {"label": "Sampled", "method": "paper", "noise": 4.0, "batch": [30, 3000], "seeds": [7]}
            | {"keep": True},
        ],
    }  # fmt: skip
    run_id = home.submit_sweep(table)
    seen = []
    worker.work(home, run_id, seen.append)
    return home, run_id, Sweep.from_mapping(table), seen


def without_failure(definition):
    table = definition.to_mapping()
    table["grid"][1]["batch"] = [30]
    return Sweep.from_mapping(table)


# What a config means


numbers = st.floats(0.01, 100, allow_nan=False)
option_lists = st.fixed_dictionaries(
    {"epsilon": st.lists(numbers, min_size=1, max_size=3, unique=True)},
    optional={
        "batch": st.lists(st.integers(1, 10**6), min_size=1, max_size=3, unique=True),
        "epochs": numbers,
        "accountant": st.sampled_from(["pld", "rdp", ["moments", "strong"]]),
        "method": st.sampled_from(["refined", ["paper", "non-private"], ["sgd", "strong", "perm"]]),
        "seeds": st.one_of(st.integers(1, 4), st.lists(st.integers(0, 10**9), min_size=1, unique=True)),
        "label": st.text(),
        "keep": st.booleans(),
    },
)


@settings(deadline=None, max_examples=50)
@given(st.text(), st.floats(1e-9, 0.5), st.lists(option_lists, min_size=1, max_size=3))
def test_a_sweep_survives_its_config_file(title, delta, grids):
    table = {"title": title, "model": "logistic", "data": "any", "delta": delta, "grid": grids}
    first = Sweep.from_mapping(table)
    again = Sweep.from_toml(first.to_toml())
    assert again == first
    assert list(map(canonical, again.cells())) == list(map(canonical, first.cells()))
    assert Sweep.from_mapping(json.loads(json.dumps(first.to_mapping()))) == first


def test_cells_are_complete_and_differ():
    table = BASE | {"method": ["refined", "paper"], "epsilon": [0.5, 1.0], "batch": [10, 20], "seeds": [3, 5]}
    cells = Sweep.from_mapping(table).cells()
    assert len({canonical(cell) for cell in cells}) == len(cells) == 16
    assert {
        (cell.get("epsilon"), cell.get("batch"), cell.seed) for cell in cells if cell.method == "paper"
    } == {(epsilon, batch, seed) for epsilon in (0.5, 1.0) for batch in (10, 20) for seed in (3, 5)}


def test_what_a_method_ignores_makes_no_further_cells():
    table = BASE | {"epsilon": [0.5, 1.0], "accountant": ["pld", "rdp"], "seeds": 2}
    assert len(Sweep.from_mapping(table | {"method": "non-private"}).cells()) == 2
    assert len(Sweep.from_mapping(table | {"method": "strong"}).cells()) == 4
    assert len(Sweep.from_mapping(table | {"method": "refined"}).cells()) == 8


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "tree"}, "model must be one of lda, logistic, sbn, got 'tree'"),
        ({"topics": 5}, "topics is not an option of a sweep of logistic"),
        ({"seed": 3}, "seed cannot be given in a sweep: give seeds"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"seeds": [1, 1]}, "seeds must differ"),
        ({"seeds": [-1]}, "seeds must be a whole number of at least 0, got -1"),
        ({"epsilon": []}, "epsilon must have at least one value"),
        ({"epsilon": [1, "two"]}, "epsilon must be a number above 0, got 'two'"),
        ({"epsilon": [1, -2]}, "epsilon must be a number above 0, got -2"),
        ({"method": "guess"}, "method must be one of refined, paper"),
        ({"method": "strong", "noise": 1}, "give either epsilon or noise"),
        ({"grid": 3}, "grid must be a list of tables"),
        ({"grid": []}, "grid must be a list of tables"),
        ({"figures": ["pie"]}, "figures must be one of epsilon, batch"),
        ({"figures": "epsilon"}, "figures must be a list"),
        ({"keep": "yes"}, "keep must be true or false"),
        ({"title": 3}, "title must be a text"),
        ({"seeds": 10_000, "epsilon": [1, 2]}, "at most 10,000 cells, got 20,000"),
    ],
)
def test_mistakes_get_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")) as caught:
        Sweep.from_mapping(BASE | {"epsilon": 1.0} | change)
    assert "\n" not in str(caught.value)


def test_text_that_is_no_toml_names_the_line():
    with pytest.raises(ValueError, match="line 1"):
        Sweep.from_toml("model = \nseeds = 1")


def test_private_data_are_refused(home):
    definition = Sweep.from_mapping(BASE | {"data": "secret", "epsilon": 1.0})
    with pytest.raises(ValueError, match="secret"):
        home.submit_sweep(definition.to_mapping())
    for use in (sweep.run_missing, sweep.frame):
        with pytest.raises(ValueError, match="a sweep needs public or generated data, but secret is private"):
            use(definition, home)


# What is run and kept


def test_a_failing_cell_keeps_its_sentence_and_stops_no_other(executed):
    store, run_id, definition, seen = executed
    row = store.run(run_id)
    assert (row.status, row.error) == ("failed", "1 of 11 cells failed; their files say why")
    assert len(pd.read_csv(store.folder(run_id) / "cells.csv")) == 10
    assert (seen[0].done, seen[-1].done, seen[-1].failed, seen[-1].cells) == (0, 10, 1, 11)
    ((request, sentence),) = sweep.failures(definition, store)
    assert request.get("batch") == 3000
    assert sentence == "expected_batch must be at most records (300), got 3000"


def test_finished_cells_are_never_run_again(executed, monkeypatch):
    store, _, definition, _ = executed

    def no_pool(processes):
        raise AssertionError("a process was started")

    monkeypatch.setattr(sweep, "_pool", no_pool)
    whole = without_failure(definition)
    assert sweep.run_missing(whole, store) == sweep.CellProgress(10, 0, 10)
    other = Sweep.from_mapping(BASE | {"method": "refined", "epsilon": 2.0, "seeds": [1], "title": "another"})
    assert sweep.run_missing(other, store) == sweep.CellProgress(1, 0, 1)
    with pytest.raises(AssertionError, match="a process was started"):  # a failed cell is tried again
        sweep.run_missing(definition, store)


def test_a_stop_before_the_first_cell_runs_none(executed):
    store, *_ = executed
    definition = Sweep.from_mapping(BASE | {"epsilon": 7.0})
    assert sweep.run_missing(definition, store, lambda progress: True) == sweep.CellProgress(0, 0, 1)
    assert sweep.frame(definition, store).empty
    assert drawings.draw(definition, store) == []


def test_a_cell_repeats_and_is_written_whole(home, tmp_path):
    request = Sweep.from_mapping(BASE | {"epsilon": 3.0}).cells()[0]
    place = cell_runs.Cells(home.home / "cells", home.data_row("small").fingerprint)
    arguments = (str(home.home), place.path(request), request.to_mapping(), True)
    contents = []
    for _ in range(2):
        assert cell_runs.run_cell(*arguments) is None
        contents.append(
            place.read(request) | {"seconds": 0} | {"mean": place.parameters(request)["mean"].tolist()}
        )
    assert contents[0] == contents[1]
    assert not list(place.folder.glob("tmp*"))
    place.path(request).write_text("{", encoding="utf-8")
    assert place.read(request) is None
    assert not place.finished(request, False)


def test_the_name_of_a_cell_tells_data_and_settings_apart(home):
    first, second = Sweep.from_mapping(BASE | {"epsilon": [1.0, 2.0]}).cells()
    place, other = cell_runs.Cells(home.home, "x"), cell_runs.Cells(home.home, "y")
    assert len({place.path(first), place.path(second), other.path(first)}) == 3


# The frame


def test_the_frame_is_tidy(executed):
    store, _, definition, _ = executed
    found = sweep.frame(definition, store)
    assert len(found) == 10
    assert found["value"].between(0, 1).all()
    assert set(found["score"]) == {"AUC"}
    assert found.loc[found["method"] == "non-private", "epsilon"].isna().all()
    refined = found[found["method"] == "refined"]
    assert sorted(refined["epsilon"].unique()) == [0.5, 2.0]
    assert np.allclose(refined["epsilon_pld"], refined["epsilon"], rtol=1e-4)
    (sampled,) = found[found["series"] == "Sampled"].to_dict("records")
    plan = PrivacyPlan(records=300, expected_batch=30, epochs=2, noise_multiplier=4.0, delta=1e-3)
    assert sampled["steps"] == plan.steps
    assert sampled["epsilon"] == pytest.approx(plan.epsilon("pld"))  # from the ledger, not from the request
    ledgers = [item["ledger"]["records"] for item in sweep.ledgers(definition, store)]
    assert ledgers == [300] * 10


def test_traces_are_of_kept_cells(executed):
    store, _, definition, _ = executed
    looks = sweep.traces(definition, store)
    assert set(looks["series"]) == {"Sampled"}
    assert looks["step"].max() == 20


def test_a_cell_of_two_grids_with_one_label_counts_once(executed):
    store, _, definition, _ = executed
    table = without_failure(definition).to_mapping()
    table["grid"].append(table["grid"][1])
    assert len(sweep.frame(Sweep.from_mapping(table), store)) == 10


def test_summaries_give_the_interval_of_the_mean():
    values = [1.0, 2.0, 4.0]
    cells = pd.DataFrame({"series": "a", "epsilon": math.nan, "seed": range(3), "value": values})
    (row,) = sweep.summarise(cells).to_dict("records")
    half = 4.302652729911275 * np.std(values, ddof=1) / math.sqrt(3)  # t quantile of 2 degrees of freedom
    assert row["seeds"] == 3
    assert row["mean"] == pytest.approx(7 / 3)
    assert row["high"] - row["mean"] == pytest.approx(half)
    assert row["mean"] - row["low"] == pytest.approx(half)
    (one,) = sweep.summarise(cells.iloc[:1]).to_dict("records")
    assert (one["seeds"], math.isnan(one["sd"]), math.isnan(one["low"])) == (1, True, True)


def lines_of(x, **columns):
    count = len(columns["epsilon"])
    cells = pd.DataFrame({"series": ["a"] * count, "batch": [1] * count, "epochs": [1] * count} | columns)
    return drawings.line_names(cells.assign(expected_batch=cells["batch"]), x).tolist()


def test_different_settings_are_never_one_point_of_a_line():
    assert lines_of("epsilon", epsilon=[1, 2]) == ["a", "a"]
    assert lines_of("epsilon", epsilon=[1, 1], batch=[10, 20]) == ["a, S = 10", "a, S = 20"]
    assert lines_of("epsilon", epsilon=[math.nan] * 2, batch=[10, 20]) == ["a, S = 10", "a, S = 20"]
    assert lines_of("epsilon", epsilon=[1, 2], batch=[10, 20]) == ["a", "a"]  # ε follows from S
    many = lines_of("epsilon", epsilon=[1, 2, 3, 4], batch=[10, 10, 20, 20])
    assert many == ["a, S = 10", "a, S = 10", "a, S = 20", "a, S = 20"]
    assert lines_of("expected_batch", epsilon=[1, 2], batch=[10, 20]) == ["a", "a"]
    assert lines_of("expected_batch", epsilon=[1, 2], batch=[10, 10]) == ["a, ε = 1", "a, ε = 2"]


# Presets


@pytest.mark.parametrize("size", presets.SIZES)
@pytest.mark.parametrize("name", list(presets.PRESETS))
def test_presets_are_sweeps_that_a_file_can_hold(name, size):
    definition = presets.PRESETS[name](size)
    assert Sweep.from_toml(definition.to_toml()) == definition
    methods = {cell.method for cell in definition.cells()}
    assert {"refined", "paper", "strong", "non-private"} <= methods


def test_presets_compare_at_the_epsilon_of_the_papers_releases():
    definition = presets.PRESETS["paper-sbn"]("full")
    cells = definition.cells()
    batches = {400, 800, 1600, 3200}
    for method in ("paper", "strong", "non-private"):
        assert {cell.get("batch") for cell in cells if cell.method == method} == batches
    for batch in batches:
        plan = PrivacyPlan(records=60_000, expected_batch=batch, epochs=1, noise_multiplier=1.0, delta=1e-5)
        (asked,) = {
            cell.get("epsilon") for cell in cells if cell.get("batch") == batch and cell.method == "strong"
        }
        assert asked == pytest.approx(plan.epsilon("pld"), abs=1e-4)
    assert len({cell.seed for cell in cells}) == 10
    assert {cell.get("hidden") for cell in cells} == {100}


def test_the_full_topic_preset_has_the_papers_grid():
    cells = presets.PRESETS["paper-lda"]("full").cells()
    paper = [cell for cell in cells if cell.method == "paper"]
    assert {cell.get("noise") for cell in paper} == {1.0, 1.1, 1.24, 1.5, 2.0}
    assert [round(batch / 18_963, 4) for batch in sorted({cell.get("batch") for cell in paper})] == [
        0.0125, 0.025, 0.05,
    ]  # fmt: skip
    assert {cell.get("topics") for cell in cells} == {50}


def test_accounting_of_the_paper_gives_its_published_epsilon():
    definition = presets.PRESETS["paper-lda"]("quick")
    (drawing,) = drawings._accounting(definition)
    table = drawing.table.set_index(["accountant", "batch", "noise_multiplier"])["epsilon"]
    assert table["Moments (paper)", 20_000, 1.24] == pytest.approx(2.4411, abs=1e-4)
    assert table["Moments", 20_000, 1.24] == pytest.approx(1.6451, abs=1e-4)
    assert table["PLD", 20_000, 1.24] < 1


# The command


def test_the_command_writes_report_and_frame_of_what_is_there(executed, monkeypatch, tmp_path, capsys):
    store, _, definition, _ = executed
    monkeypatch.setenv("VIPS_HOME", str(store.home))
    config, out = tmp_path / "sweep.toml", tmp_path / "out"
    config.write_text(without_failure(definition).to_toml(), encoding="utf-8")
    assert main(["sweep", str(config), "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["cells"], told["failed"]) == ("done", 10, [])
    assert len(pd.read_csv(out / "cells.csv")) == 10
    names = {str(file.relative_to(out)) for file in out.rglob("*.*")}
    assert {"report.html", "summary.csv", "config.toml", "ledgers.json", "repeat.py", "repeat.ipynb"} <= names
    assert {"figures/epsilon-auc.svg", "figures/epsilon-auc.csv", "figures/steps.svg"} <= names
    assert Sweep.from_toml((out / "config.toml").read_text(encoding="utf-8")) == without_failure(definition)
    assert main(["sweep", str(config)]) == 0
    spoken = capsys.readouterr()
    assert "10/10 cells" in spoken.err
    assert "95 % t-interval of the mean" in spoken.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["paper-tree"],
            "sweep must be paper-lda, paper-logistic, paper-sbn or a TOML file, got 'paper-tree'",
        ),
        (["any.toml", "--size", "quick"], "--size belongs to a preset"),
    ],
)
def test_mistakes_on_the_command_line_exit_with_2(arguments, sentence, capsys):
    assert main(["sweep", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_an_interrupt_stops_the_command_and_keeps_what_is_finished(home, tmp_path):
    config = tmp_path / "long.toml"
    config.write_text(Sweep.from_mapping(BASE | {"epsilon": 0.7, "seeds": 3000}).to_toml(), encoding="utf-8")
    root = str(Path(vips_core.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": root, "VIPS_HOME": str(home.home), "PYTHONUTF8": "1"}
    before = len(list((home.home / "cells").glob("*.json")))
    with subprocess.Popen(
        [sys.executable, "-m", "vips_core.cli", "sweep", str(config)], env=environment, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as command:  # fmt: skip
        while len(list((home.home / "cells").glob("*.json"))) == before:
            assert command.poll() is None
            time.sleep(0.1)
        command.send_signal(signal.SIGINT)
        spoken = command.communicate()[1]
    assert command.returncode == 130
    assert "the same command goes on from here" in spoken
    assert "Traceback" not in spoken
    assert home.runs(kind="sweep")[0].status == "cancelled"
    assert len(sweep.frame(Sweep.from_toml(config.read_text(encoding="utf-8")), home)) >= 1

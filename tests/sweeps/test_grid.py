"""The meaning of a sweep's config."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import BASE
from vips_core.sweeps.grid import Sweep, canonical

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
@given(st.text(), st.floats(1e-9, 0.1), st.lists(option_lists, min_size=1, max_size=3))
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


def test_options_that_a_method_ignores_make_no_further_cells():
    table = BASE | {"epsilon": [0.5, 1.0], "accountant": ["pld", "rdp"], "seeds": 2}
    assert len(Sweep.from_mapping(table | {"method": "non-private"}).cells()) == 2
    assert len(Sweep.from_mapping(table | {"method": "strong"}).cells()) == 4
    assert len(Sweep.from_mapping(table | {"method": "refined"}).cells()) == 8


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "tree"}, "model must be one of lda, logistic, sbn, got 'tree'"),
        ({"topics": 5}, "topics is not an option of a sweep of logistic"),
        ({"seed": 3}, "seed is not an option of a sweep: give seeds"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"seeds": [1, 1]}, "seeds must differ"),
        ({"seeds": [-1]}, "seeds must be a whole number of at least 0 .*, got -1"),
        ({"epsilon": []}, "epsilon must have at least one value"),
        ({"epsilon": [1, "two"]}, "epsilon must be a number .*, got 'two'"),
        ({"epsilon": [1, -2]}, "epsilon must be a number .*, got -2"),
        ({"method": "guess"}, "method must be one of refined, paper"),
        ({"method": "strong", "noise": 1}, "give either epsilon or noise"),
        ({"grid": 3}, "grid must be a list of tables"),
        ({"grid": []}, "grid must be a list of tables"),
        ({"figures": ["pie"]}, "figures must be one of epsilon, batch"),
        ({"figures": "epsilon"}, "figures must be a list"),
        ({"keep": "yes"}, "keep must be true or false"),
        ({"title": 3}, "title must be text"),
        ({"seeds": 10_000, "epsilon": [1, 2]}, "at most 10,000 cells, got 20,000"),
    ],
)
def test_mistakes_get_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")) as caught:
        Sweep.from_mapping(BASE | {"epsilon": 1.0} | change)
    assert "\n" not in str(caught.value)


def test_an_error_in_toml_names_the_line():
    with pytest.raises(ValueError, match="line 1"):
        Sweep.from_toml("model = \nseeds = 1")

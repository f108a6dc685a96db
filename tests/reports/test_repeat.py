"""Scripts, notebooks and configs repeat a run exactly."""

import ast
import importlib
import inspect
import json
import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import vips_core
from tests.small_rows import rows, small_store
from vips_core.jobs import submission, worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.models.logistic.rivals import PrivateGradientDescent
from vips_core.models.task import TASKS
from vips_core.records import DataSet, Documents, Images
from vips_core.reports import bundle


def test_the_script_repeats_the_parameters(store, folder):
    root = str(Path(vips_core.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": root, "VIPS_HOME": str(store.home), "PYTHONUTF8": "1"}
    told = subprocess.run(
        [sys.executable, "repeat.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert "the same parameters, bit for bit: True" in told.stdout


def test_the_notebook_holds_the_same_code(store, folder, monkeypatch, capsys):
    content = json.loads((folder / "repeat.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    script = (folder / "repeat.py").read_text(encoding="utf-8")
    assert all(cell in script for cell in cells)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("VIPS_HOME", str(store.home))
    space = {}
    for cell in cells:
        exec(compile(cell, "cell", "exec"), space)
    assert "bit for bit: True" in capsys.readouterr().out


def test_the_script_of_a_private_run_spends_within_its_cap(home, capsys):
    store = small_store(home)
    table = {"model": "logistic", "data": "secret", "epsilon": 0.5, "delta": 1e-3, "epochs": 2}
    cells = bundle.run_cells(Request.from_mapping(table), {}, True, False)
    exec(compile(bundle.script(cells, "About."), "repeat.py", "exec"), {})
    assert capsys.readouterr().out.startswith("ε by PLD: 0.")
    assert [run.status for run in store.runs()] == ["done"]
    assert 0 < store.budget("secret").spent_share < 1


def test_a_config_gives_the_same_run_again(store, seeded, folder):
    request = Request.from_toml((folder / "config.toml").read_text(encoding="utf-8"))
    assert Request.from_mapping(json.loads((folder / "config.json").read_text(encoding="utf-8"))) == request
    again = submit(store, request)
    worker.work(store, again)
    with np.load(store.folder(again) / "params.npz") as new, np.load(folder / "params.npz") as old:
        assert set(new) == set(old)
        assert all(np.array_equal(new[name], old[name]) for name in new)


SMALL = {
    "lda": DataSet("any", Documents([0, 1, 2], [0, 1], [1, 2], ("a", "b", "c")), None, private=False),
    "logistic": DataSet("any", rows(20, 0), None, private=False),
    "sbn": DataSet("any", Images(np.zeros((3, 2), np.uint8), (4, 4)), None, private=False),
}


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name, task in TASKS.items() for method in task.methods if method != "perm"],
)
def test_scripts_make_the_model_that_the_run_had(name, method):
    spending = {} if method == "non-private" else {"epsilon": 1.0}
    request = Request.from_mapping({"model": name, "data": "any", "method": method, "delta": 0.1, **spending})
    space = {"vips": vips_core, "data": SMALL[name], "PrivateGradientDescent": PrivateGradientDescent}
    made = eval(request.task.model_code(request.method, request.values), space)
    meant = submission.prepare(request, SMALL[name]).model
    assert type(made) is type(meant)
    assert settings_of(made) == settings_of(meant)


def settings_of(model):
    """Return the arguments of a model, without what it derives from them at first use."""
    return repr(
        {
            name: vars(value) if hasattr(value, "__dict__") else value
            for name, value in vars(model).items()
            if not isinstance(inspect.getattr_static(type(model), name, None), cached_property)
        }
    )


@pytest.mark.parametrize("name", list(TASKS))
@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(("data", "private"), [("sotu", False), ("any", False), ("any", True)])
def test_scripts_of_all_methods_are_python_whose_imports_exist(name, seed, data, private):
    for method in TASKS[name].methods:
        table = {"model": name, "data": data, "method": method, "delta": 0.1, "seed": seed}
        spending = {} if method == "non-private" else {"epsilon": 1.0}
        request = Request.from_mapping(table | spending)
        plan = {"records": 3, "steps": 2, "noise_multiplier": 1.0, "delta": 0.1}
        check_imports(bundle.script(bundle.run_cells(request, plan, private, True), "About."))


def test_the_script_of_a_sweep_is_python_whose_imports_exist():
    check_imports(bundle.script(bundle.sweep_cells(), 'A "sweep".'))


def test_the_script_of_a_run_on_a_sample_loads_it():
    table = {"model": "logistic", "data": "nhanes-stroke", "epsilon": 1.0, "delta": 1e-4, "seed": 3}
    imports, load, *_ = bundle.run_cells(Request.from_mapping(table), {}, False, True)
    space = {}
    exec(compile(imports + load, "repeat.py", "exec"), space)
    assert space["data"].name == "nhanes-stroke"


def check_imports(script):
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.import_module(f"{node.module}.{alias.name}")

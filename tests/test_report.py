"""Reports: what they say of the guarantee, what they hold, and that they repeat a run exactly."""

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import vips_core
from tests.test_sweep import rows
from vips_core.baselines.dpsgd import PrivateGradientDescent
from vips_core.data import BinaryRows, Corpus
from vips_core.privacy.ledger import Ledger
from vips_core.reports import figures, page, repeat, report, svg
from vips_core.runs import execution, worker
from vips_core.runs.budget import Cap
from vips_core.runs.request import Request
from vips_core.runs.sources import DataSet
from vips_core.runs.store import Store
from vips_core.runs.tasks import TASKS

SVG = "{http://www.w3.org/2000/svg}"
TABLE = {"model": "logistic", "data": "small", "delta": 1e-3, "epochs": 4}
HEADINGS = [
    "Unit of privacy",
    "Neighbouring data sets",
    "Sampling",
    "Mechanism and noise",
    "Clipping",
    "Accounting",
    "Attack risk",
    "What was tuned, and on which data",
    "Other runs on the same data",
    "Software",
    "Known limits",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("home"))
    store.add_data("small", rows(300, 0), rows(200, 1), private=False, unit="one <b>row</b>")
    store.add_data("secret", rows(300, 2), None, private=True, cap=Cap(3.0, 1e-3), unit="one patient")
    return store


def worked(store, **changes):
    run_id = store.submit(Request.from_mapping(TABLE | changes))
    worker.work(store, run_id)
    assert store.run(run_id).status == "done"
    return run_id


@pytest.fixture(scope="module")
def seeded(store):
    return worked(store, epsilon=1.0, seed=3)


@pytest.fixture(scope="module")
def folder(store, seeded, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    report.write_run(store, seeded, out)
    return out


def test_a_report_states_the_whole_guarantee(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    for heading in HEADINGS:
        assert f"<h3>{heading}</h3>" in html
    ledger = Ledger.from_json((folder / "ledger.json").read_text(encoding="utf-8"))
    assert f"ε = {ledger.epsilon(1e-3, 'gaussian'):.4g} and δ = 0.001 (accountant: " in html
    assert "for adding or removing one record, one &lt;b&gt;row&lt;/b&gt;" in html
    assert "4 releases on all records (q = 1)" in html
    assert f"{ledger.entries[0].noise_multiplier:.4g}" in html
    for block in ledger.entries[0].blocks:
        assert f"<td>{block}</td>" in html
    assert "chosen by test AUC on NHANES" in html
    assert "numpy" in html
    assert "not a cryptographic one" in html


def test_a_known_seed_is_shown_as_a_demonstration(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h3>Demonstration</h3>" in html
    assert "the guarantee does not hold" in html
    assert "With a secret seed, this run would be" in html


def test_text_of_users_is_escaped_and_nothing_is_fetched(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "<b>row</b>" not in html
    assert "default-src &#x27;none&#x27;" in html or "default-src 'none'" in html
    text = page.chart({"data": [{"name": "</script><b>"}], "layout": {}}, "<i>", '"><i>')
    assert "<b>" not in text
    assert "<i>" not in text


def test_everything_behind_a_report_is_in_it(store, seeded, folder, tmp_path):
    report.write_run(store, seeded, tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        names = set(archive.namelist())
        inside = {name: archive.read(name) for name in names}
    expected = {
        "report.html", "config.toml", "config.json", "ledger.json", "result.json", "results.csv",
        "params.npz", "coefficients.csv", "repeat.py", "repeat.ipynb", "figures/attack.svg",
        "figures/roc.svg", "figures/steps.svg", "figures/steps.csv",
    }  # fmt: skip
    assert expected <= names
    assert all((folder / name).read_bytes() == inside[name] for name in expected)
    result = json.loads(inside["result.json"])
    assert pd.read_csv(folder / "results.csv").set_index("score")["value"]["AUC"] == pytest.approx(
        result["held_out"]["AUC"]
    )


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


def test_a_config_gives_the_same_run_again(store, seeded, folder):
    request = Request.from_toml((folder / "config.toml").read_text(encoding="utf-8"))
    assert Request.from_mapping(json.loads((folder / "config.json").read_text(encoding="utf-8"))) == request
    again = store.submit(request)
    worker.work(store, again)
    with np.load(store.folder(again) / "params.npz") as new, np.load(folder / "params.npz") as old:
        assert set(new) == set(old)
        assert all(np.array_equal(new[name], old[name]) for name in new)


def test_private_data_tell_composition_and_repeat_through_the_store(store, tmp_path):
    first, second = (worked(store, data="secret", epsilon=1.0) for _ in range(2))
    html = report.html_for_run(store, second)
    assert "1 run came before it on these records" in html
    total = store.budget("secret").history[1][2]
    assert f"All up to and with this one cost ε = {total:.4g} at δ = 0.001" in html
    assert "No run was before it" in report.html_for_run(store, first)
    assert "Demonstration" not in html
    assert "There are no scores" in html
    report.write_run(store, second, tmp_path)
    script = (tmp_path / "repeat.py").read_text(encoding="utf-8")
    assert "store.submit(request)" in script  # so that the budget counts it
    assert "vips.fit(" not in script
    assert {file.suffix for file in tmp_path.iterdir() if file.is_file()} <= {
        ".html", ".toml", ".json", ".csv", ".npz", ".py", ".ipynb",
    }  # fmt: skip


def test_runs_without_noise_or_ledger_say_so(store):
    html = report.html_for_run(store, worked(store, method="non-private", seed=0))
    assert "no privacy guarantee, and ε is infinite" in html
    html = report.html_for_run(store, worked(store, method="perm", epsilon=1.5, seed=0))
    assert "ε = 1.5 (and δ = 0) for replacing one record" in html
    assert "Objective perturbation" in html


def test_sampled_batches_are_described(store):
    html = report.html_for_run(store, worked(store, method="sgd", epsilon=1.0, batch=30, seed=1))
    assert "Poisson batches, each record in each batch independently with probability q = 0.1" in html


SMALL = {
    "lda": DataSet("any", Corpus([0, 1, 2], [0, 1], [1, 2], ("a", "b", "c")), None, private=False),
    "logistic": DataSet("any", rows(20, 0), None, private=False),
    "sbn": DataSet("any", BinaryRows(np.zeros((3, 2), np.uint8), (4, 4)), None, private=False),
}


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name, task in TASKS.items() for method in task.methods if method != "perm"],
)
def test_scripts_make_the_model_that_the_run_had(name, method):
    spending = {} if method == "non-private" else {"epsilon": 1.0}
    request = Request.from_mapping({"model": name, "data": "any", "method": method, "delta": 0.1, **spending})
    space = {"vips": vips_core, "data": SMALL[name], "PrivateGradientDescent": PrivateGradientDescent}
    made = eval(repeat.model_line(request), space)
    meant = execution.prepare(request, SMALL[name]).model
    assert type(made) is type(meant)
    assert settings_of(made) == settings_of(meant)


def settings_of(model):
    inner = {
        name: vars(value) if hasattr(value, "__dict__") else value for name, value in vars(model).items()
    }
    return repr(inner)


# Figures without a browser


def lines(summary):
    return pd.DataFrame(summary, columns=["line", "method", "epsilon", "mean", "sd"])


def test_svg_places_points_on_a_logarithmic_axis():
    summary = lines(
        [("A & B", "refined", e, v, 0.1) for e, v in ((0.5, 1.0), (1.0, 2.0), (2.0, 3.0))]
        + [("flat", "non-private", math.nan, 2.5, 0.2)]
    )
    picture = ElementTree.fromstring(svg.render(figures.against_epsilon(summary, "score"), "a <title>"))
    assert picture.find(f"{SVG}title").text == "a <title>"
    curve, across = picture.findall(f".//{SVG}g/{SVG}polyline")
    points = [tuple(map(float, pair.split(","))) for pair in curve.get("points").split()]
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)
    assert points[0][1] > points[1][1] > points[2][1]
    assert len(picture.findall(f".//{SVG}g/{SVG}circle")) == 3
    assert len(picture.findall(f".//{SVG}g/{SVG}path")) == 3  # bars of error
    assert len(picture.findall(f".//{SVG}g/{SVG}polygon")) == 1  # the band
    assert across.get("stroke-dasharray")
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert {"A & B", "flat", "ε (log scale)", "Held-out score", "1"} <= set(texts)


def test_svg_wraps_long_legends_and_refuses_other_traces():
    curves = {
        f"accountant {i}": {10: ([1.0, 2.0], [3.0, 1.0]), 20: ([1.0, 2.0], [4.0, 2.0])} for i in range(3)
    }
    picture = ElementTree.fromstring(svg.render(figures.epsilon_against_noise(curves)))
    names = [text for text in picture.iter(f"{SVG}text") if text.text.startswith("accountant")]
    assert len({text.get("y") for text in names}) > 1
    assert all(float(text.get("x")) < svg.WIDTH - 100 for text in names)
    with pytest.raises(ValueError, match="type scatter"):
        svg.render(figures.figure([{"type": "bar", "name": "x", "x": [1], "y": [1]}], {}, {}))


def test_figures_are_plain_json():
    rates = np.array([0.0, 0.5, 1.0])
    for figure in (
        figures.attacker_roc(rates, rates, [(0.1, 0.2)]),
        figures.roc({"a": (rates, rates)}),
        figures.score_of_run([1, 2], [0.5, math.nan], "AUC"),
    ):
        assert json.loads(json.dumps(page.plain(figure), allow_nan=False))["data"]


def test_tables_write_numbers_for_people():
    frame = pd.DataFrame({"a <": ["<x>", None], "n": [1234.5678, math.nan], "i": [1_000_000, 2]})
    html = page.table(frame)
    assert "&lt;x&gt;" in html
    assert '<td class="n">1,235</td>' in html
    assert '<td class="n">1,000,000</td>' in html
    assert html.count("–") == 2


def test_a_run_that_left_nothing_claims_nothing(store):
    run_id = store.submit(Request.from_mapping(TABLE | {"data": "secret", "epsilon": 0.1}))
    store.cancel(run_id)
    html = report.html_for_run(store, run_id)
    assert "ended before its ledger was written" in html
    assert "ε = 0 at δ = 0.001" in html
    assert "differentially private with" not in html

"""One folder and one registration add a model: a toy model, known only to tests, works everywhere."""

import html
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import vips_core as vips
from tests.cli.shell import run, run_json, survey
from tests.toy_model import ACCURACY, NAME, ToyModel, ToyTask, registered
from vips_core.jobs import warm
from vips_core.models.check import check_model
from vips_core.models.task import TASKS, Task
from vips_core.records.samples import load_sample
from vips_core.store.store import Store
from vips_core.sweeps import job

__all__ = ["survey"]
SPEND = ["--epsilon", 1, "--delta", 1e-5]
SAMPLE = "nhanes-stroke"


@pytest.fixture(autouse=True)
def toy():
    with registered() as task:
        yield task


@pytest.fixture
def capped(capsys, survey):
    """People registered as private for another model of the same kind of records, with a cap of ε = 3."""
    run_json(capsys, "data", "add", "table", *survey, "--epsilon", 3, "--delta", 1e-5, "--by", "Ada")


def test_it_satisfies_the_contract_of_models():
    rows = load_sample(SAMPLE).train
    some = rows[np.arange(len(rows)) < 200]
    plan = vips.PrivacyPlan(records=200, expected_batch=100, steps=3, noise_multiplier=2.0, delta=1e-5)
    check_model(ToyModel(rows.feature_names, rows.norm_bound), some, plan)


def test_it_is_trained_by_the_command_line_and_loaded_again(capsys, tmp_path):
    out = tmp_path / "fit"
    result = run_json(capsys, "fit", NAME, "--data", SAMPLE, *SPEND, "--pull", 5, "--out", out)
    assert result["epsilon"]["pld"] == pytest.approx(1, abs=1e-3)
    assert 0 < result["held_out"][ACCURACY] <= 1
    assert result["cautions"] == ["This model is a toy."]
    fit = vips.load(out)
    assert isinstance(fit.model, ToyModel)
    assert fit.model.pull == 5
    assert TASKS[NAME].score_validation(fit, load_sample(SAMPLE).test) == result["held_out"][ACCURACY]
    assert (out / "means.csv").exists()


def test_it_shares_registered_records_and_their_cap_with_another_model(capsys, capped):
    (row,) = [row for row in Store().data_sets() if row.name == "people"]
    assert row.kind == TASKS[NAME].kind
    assert run(capsys, "fit", "logistic", "--data", "people", *SPEND)[0] == 0
    assert run(capsys, "fit", NAME, "--data", "people", *SPEND)[0] == 0
    assert {row.request["model"] for row in Store().runs(data="people")} == {NAME, "logistic"}
    assert Store().budget("people").left_epsilon < 2.5
    code, printed = run(capsys, "fit", NAME, "--data", "people", "--epsilon", 3, "--delta", 1e-5)
    assert code == 2
    assert "does not fit" in printed.err
    fit = vips.fit_registered(NAME, "people", epsilon=0.1, delta=1e-5)
    assert isinstance(fit.model, ToyModel)


def test_it_is_swept(capsys, tmp_path, monkeypatch):
    # In a thread, because a sweep's processes import installed models only.
    monkeypatch.setattr(job, "_pool", lambda processes: ThreadPoolExecutor(1))
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'title = "Toy"\nmodel = "{NAME}"\ndata = "{SAMPLE}"\ndelta = 1e-5\nseeds = 2\n'
        'figures = ["epsilon", "accounting"]\n'
        '[[grid]]\nmethod = "non-private"\n[[grid]]\nmethod = "refined"\nepsilon = [0.5, 2.0]\n'
    )
    swept = run_json(capsys, "sweep", file, "--out", tmp_path / "report")
    assert (swept["cells"], swept["failed"]) == (6, [])
    assert {cell["score"] for cell in swept["summary"]} == {ACCURACY}
    page = html.unescape((tmp_path / "report" / "report.html").read_text(encoding="utf-8"))
    assert "A row's norm is at most the public norm bound." in page


@pytest.mark.parametrize("attack", [("--releases", 200), ("--attack", "run", "--canaries", 20)])
def test_it_is_audited(capsys, attack):
    said = run_json(capsys, "audit", NAME, "--data", SAMPLE, *SPEND, *attack)
    assert said["measured"] <= said["claimed"]
    row = Store().run(said["run"])
    assert (row.kind, row.request["model"]) == ("audit", NAME)


def test_it_is_reported_with_a_script_that_repeats_it(capsys, tmp_path):
    arguments = ["--data", SAMPLE, *SPEND, "--seed", 1, "--out", tmp_path]
    run_json(capsys, "fit", NAME, *arguments)
    (row,) = Store().runs()
    run_json(capsys, "runs", "export", row.id, "--out", tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as bundle:
        names = bundle.namelist()
        page = next(bundle.read(name).decode() for name in names if name.endswith("report.html"))
        repeat = next(bundle.read(name).decode() for name in names if name.endswith(".py"))
        table = [name for name in names if name.endswith("means.csv")]
    assert "Group means of nhanes-stroke" in page
    assert table
    scope = {}
    exec(repeat, scope)
    assert np.array_equal(scope["fit"].params.means, vips.load(tmp_path).params.means)


def test_warm_workers_load_it(monkeypatch, toy):
    monkeypatch.setattr(warm, "TASKS", {NAME: toy})
    trained, report = [], ToyTask.report
    monkeypatch.setattr(
        ToyTask, "report", lambda task, fit, test: trained.append(fit.model) or report(task, fit, test)
    )
    warm.load_code(lambda: False)
    assert trained
    assert all(isinstance(model, ToyModel) for model in trained)


def test_an_incomplete_task_is_refused_before_any_run():
    class Unreported(Task):
        model = model_code = score_validation = None

    with pytest.raises(TypeError, match="abstract method '?report"):
        Unreported()


def test_commands_that_list_runs_know_it(capsys):
    run_json(capsys, "fit", NAME, "--data", SAMPLE, *SPEND)
    (listed,) = run_json(capsys, "runs", "list", "--model", NAME)
    code, printed = run(capsys, "runs", "show", listed["id"])
    assert code == 0
    assert f"{NAME} (refined) on {SAMPLE}" in printed.out

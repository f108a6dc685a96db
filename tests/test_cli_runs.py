"""`vips-explorer fit` on private data, `runs`, `data` and `ledger`: the store from the shell."""

import json
import os
import signal
import sqlite3
import zipfile

import pytest

import vips_core.runs.worker as worker
from sample_data import generate
from vips_core.cli import main
from vips_core.runs.store import Store

SPEND = ["--epsilon", "1", "--delta", "1e-5"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr()


def run_json(capsys, *arguments):
    code, printed = run(capsys, *arguments, "--json")
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.fixture
def survey(tmp_path):
    """A CSV of 60 people with a schema of public ranges, and its options."""
    rows = [f"{20 + i},{i % 5},{int(i % 3 == 0)}" for i in range(60)]
    (tmp_path / "people.csv").write_text("age,dose,ill\n" + "\n".join(rows))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\ndose = [0, 10]\n")
    return [tmp_path / "people.csv", "--target", "ill", "--schema", tmp_path / "schema.toml"]


def test_a_private_file_is_registered_with_a_cap_and_keeps_it(capsys, tmp_path, survey):
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *SPEND)
    assert code == 0, printed.err
    assert "people is private: all runs on it together may spend ε = 10 at δ = 1e-05" in printed.err
    assert "vips-explorer data budget people --epsilon E --delta D" in printed.err
    budget = run_json(capsys, "data", "budget", "people")
    assert budget["spent_epsilon"] == pytest.approx(1, rel=1e-6)
    assert budget["cap"] == {"epsilon": 10, "delta": 1e-5}
    changed = run_json(capsys, "data", "budget", "people", "--epsilon", 1.2, "--delta", 1e-5)
    assert changed["left_epsilon"] == pytest.approx(0.2, rel=1e-5)
    out = tmp_path / "out"
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *SPEND, "--out", out)
    assert code == 2
    assert "does not fit in the budget of people" in printed.err
    assert "cap of 1.2" in printed.err
    assert not out.exists()
    assert len(Store().runs()) == 1
    names = [row["name"] for row in run_json(capsys, "data", "list")]
    assert names[-1] == "people"
    assert "ε 1.0000 spent" in run(capsys, "data", "list")[1].out


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (["--seed", "1", *SPEND], "people is private: a run with a seed is refused"),
        (["--noise", "0", "--delta", "1e-5"], "people is private: a run without noise is refused"),
        (["--method", "perm", *SPEND], "people is private: method perm is refused"),
    ],
)
def test_what_voids_the_guarantee_is_refused_on_a_private_file(capsys, survey, extra, sentence):
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *extra)
    assert code == 2
    assert sentence in printed.err
    assert Store().runs() == []


def test_runs_are_listed_shown_and_exported(capsys, tmp_path, survey):
    result = run_json(capsys, "fit", "logistic", "--data", *survey, "--public", "--seed", 3, *SPEND)
    assert result["releases"] == result["plan"]["steps"]
    (row,) = run_json(capsys, "runs", "list", "--model", "logistic", "--status", "done", "--data", "people")
    shown = run_json(capsys, "runs", "show", row["id"])
    assert shown["result"] == result
    assert shown["request"]["seed"] == row["seed"] == 3
    assert f"{row['id']}  done" in run(capsys, "runs", "list")[1].out
    text = run(capsys, "runs", "show", row["id"])[1].out
    assert "epsilon = 1.0" in text
    assert "demonstration" in text
    assert run_json(capsys, "runs", "list", "--status", "failed") == []
    code, printed = run(capsys, "runs", "show", "nothing")
    assert (code, printed.err) == (2, "vips-explorer runs: there is no run 'nothing'\n")
    code, printed = run(capsys, "runs", "export", row["id"], "--out", tmp_path / "run.zip")
    assert code == 0, printed.err
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) > 3


def test_a_queued_run_is_cancelled_and_costs_nothing(capsys, survey, monkeypatch):
    monkeypatch.setattr("vips_core.runs.supervisor.detach", lambda store: None)
    queued = run_json(capsys, "fit", "logistic", "--data", *survey, *SPEND, "--background")["run"]
    assert run_json(capsys, "data", "budget", "people")["reserved_epsilon"] == pytest.approx(1, rel=1e-6)
    assert run_json(capsys, "runs", "cancel", queued)["status"] == "cancelled"
    assert run_json(capsys, "data", "budget", "people")["left_epsilon"] == 10
    code, printed = run(capsys, "runs", "cancel", queued)
    assert (code, printed.err.count("\n")) == (2, 1)


def test_control_c_ends_the_run_after_its_step_with_results(capsys, tmp_path, survey, monkeypatch):
    work, out = worker.work, tmp_path / "out"

    def interrupted(store, run_id, on_step):
        def strike(progress):
            if progress.step == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return on_step(progress)

        work(store, run_id, strike)

    monkeypatch.setattr(worker, "work", interrupted)
    before = signal.getsignal(signal.SIGINT)  # ignored where the tests run in the background
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *SPEND, "--out", out)
    assert code == 130
    assert "Stopping after this step" in printed.err
    (row,) = Store().runs()
    assert (row.status, row.step) == ("cancelled", 2)
    assert json.loads((out / "result.json").read_text())["releases"] == 2
    assert 0 < Store().budget("people").spent_epsilon < 0.6
    assert signal.getsignal(signal.SIGINT) is before


def test_data_are_added_and_removed(capsys, survey):
    row = run_json(
        capsys, "data", "add", "logistic", *survey, "--name", "cohort", "--epsilon", 2, "--delta", 1e-6,
        "--unit", "one patient",
    )  # fmt: skip
    assert (row["name"], row["records"], row["private"], row["unit"]) == ("cohort", 60, True, "one patient")
    assert row["cap"] == {"epsilon": 2, "delta": 1e-6}
    code, printed = run(capsys, "fit", "logistic", "--data", "cohort", *SPEND, "--public")
    assert (code, printed.err.count("\n")) == (2, 1)
    assert run(capsys, "fit", "logistic", "--data", "cohort", *SPEND)[0] == 0
    assert run_json(capsys, "data", "remove", "cohort") == {"removed": "cohort"}
    code, printed = run(capsys, "data", "add", "logistic", *survey, "--epsilon", 2)
    assert (code, printed.err) == (2, "vips-explorer data: a cap needs both epsilon and delta\n")
    row = run_json(capsys, "data", "add", "logistic", *survey)  # known records keep cap and cost
    assert row["cap"] == {"epsilon": 2, "delta": 1e-6}
    assert run_json(capsys, "data", "budget", "people")["spent_epsilon"] > 1


def test_the_ledger_is_shown_and_verified(capsys, home, survey):
    assert run_json(capsys, "ledger", "verify") == {"whole": True, "rows": 0, "head": None, "problems": []}
    run(capsys, "fit", "logistic", "--data", *survey, *SPEND)
    rows = run_json(capsys, "ledger", "show", "--data", "people")
    assert [row["kind"] for row in rows] == ["data", "cap", "reserve", "settle"]
    text = run(capsys, "ledger", "show")[1].out
    assert "ε = 10 at δ = 1e-05" in text
    assert "60 records, private" in text
    code, printed = run(capsys, "ledger", "verify")
    assert (code, rows[-1]["hash"] in printed.out) == (0, True)
    with sqlite3.connect(home / "store.db") as connection:
        connection.execute("DROP TRIGGER ledger_is_not_changed")
        connection.execute("UPDATE ledger SET content = '{\"events\": []}' WHERE number = 4")
    connection.close()
    code, printed = run(capsys, "ledger", "verify")
    assert (code, printed.out) == (2, "Row 4 of the ledger was changed: its hash does not match it.\n")
    code, printed = run(capsys, "ledger", "verify", "--json")
    assert (code, json.loads(printed.out)["whole"]) == (2, False)


# Config files


def config(tmp_path, text):
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_a_config_file_says_the_whole_run(capsys, tmp_path):
    rows = generate.digits(30, seed=0)[0]
    Store().add_data("digits", rows, rows, private=False, unit="one image")
    path = config(
        tmp_path,
        'model = "sbn"\ndata = "digits"\nmethod = "paper"\nhidden = 2\n'
        "epsilon = 3\ndelta = 1e-4\nepochs = 1\nseed = 5\n",
    )
    result = run_json(capsys, "fit", "--config", path)
    (row,) = Store().runs()
    assert (result["method"], row.seed, row.request["hidden"]) == ("paper", 5, 2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('model = "lda"\nepsilon = \n', "the config is not TOML: Invalid value (at line 2, column 11)"),
        ('model = "lda"\ndata = "sotu"\nepsilons = 1\n', "epsilons is not an option of lda; known are data"),
        ('model = "cnn"\n', "model must be one of lda, logistic, sbn, got 'cnn'"),
        (
            'model = "lda"\ndata = "sotu"\nepsilon = "1"\ndelta = 1e-5\n',
            "epsilon must be a number above 0, got '1'",
        ),
        (
            'model = "lda"\ndata = "sotu"\nepsilon = 1\ndelta = 2\n',
            "delta must be a number above 0 and at most 0.5",
        ),
        ('model = "lda"\ndata = "sotu"\nepsilon = 1\n', "delta must be given"),
        ('model = "lda"\ndata = "nothing"\nepsilon = 1\ndelta = 1e-5\n', "there is no data set 'nothing'"),
    ],
)
def test_a_mistake_in_a_config_gets_one_sentence(capsys, tmp_path, text, sentence):
    code, printed = run(capsys, "fit", "--config", config(tmp_path, text))
    assert code == 2
    assert sentence in printed.err
    assert printed.err.count("\n") == 1


def test_fit_needs_a_model_or_a_config(capsys, tmp_path):
    code, printed = run(capsys, "fit")
    assert (code, printed.err) == (
        2,
        "vips-explorer fit: name a model (lda, logistic, sbn) or give --config\n",
    )
    code, printed = run(capsys, "fit", "--config", tmp_path / "nowhere.toml")
    assert (code, printed.err.count("\n")) == (2, 1)

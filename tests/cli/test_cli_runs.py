"""`vips-explorer fit` on private data, `runs`, `data` and `ledger`: the store from the shell."""

import contextlib
import errno
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import zipfile

import pytest

import vips_core.jobs.worker as worker
from sample_data import generate
from tests.cli.shell import SPEND, registered, run, run_json, survey
from vips_core.store.store import Store

__all__ = ["registered", "survey"]  # fixtures


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


def test_a_method_with_its_own_proof_has_no_noise_no_delta_and_no_steps(capsys, tmp_path):
    """Issue 32: it stored and showed a σ and a δ that it never used."""
    fit = ["fit", "logistic", "--data", "nhanes-stroke", "--method", "perm", "--epsilon", 2, "--seed", 0]
    code, printed = run(capsys, *fit)
    assert code == 0, printed.err
    assert "Released once, with its own privacy proof: ε = 2." in printed.out
    (row,) = run_json(capsys, "runs", "list")
    plan = {"records": 4204, "epsilon": 2.0}
    assert row["plan"] == plan
    assert (row["status"], row["step"], row["steps"], row["epsilon"]) == ("done", 1, 1, 2)
    shown = run_json(capsys, "runs", "show", row["id"])
    assert shown["result"]["plan"] == plan
    asked = {"model": "logistic", "data": "nhanes-stroke", "method": "perm", "epsilon": 2.0, "seed": 0}
    assert shown["request"] == asked
    texts = [printed.out, run(capsys, "runs", "show", row["id"])[1].out, run(capsys, "runs", "list")[1].out]
    out = tmp_path / "report"
    assert run(capsys, "runs", "export", row["id"], "--out", out)[0] == 0
    texts += [file.read_text(encoding="utf-8") for file in out.iterdir() if file.suffix != ".npz"]
    for text in texts:
        assert not re.search(
            "σ = |q = |noise_multiplier|expected_batch|\\bdelta\\b|step 1|δ = (?!0[^.])", text
        )
    (again,) = [row for row in run_json(capsys, *fit, "--delta", 1e-5)["plan"].items() if row[0] == "epsilon"]
    assert again == ("epsilon", 2.0)  # δ may be given, because other methods need it, and is ignored


def test_a_queued_run_is_cancelled_and_costs_nothing(capsys, registered, monkeypatch):
    monkeypatch.setattr("vips_core.jobs.supervisor.detach", lambda store: None)
    queued = run_json(capsys, "fit", "logistic", "--data", *registered, *SPEND, "--background")["run"]
    assert run_json(capsys, "data", "budget", "people")["planned_epsilon"] == pytest.approx(1, rel=1e-6)
    assert run_json(capsys, "runs", "cancel", queued)["status"] == "cancelled"
    assert run_json(capsys, "data", "budget", "people")["left_epsilon"] == 10
    code, printed = run(capsys, "runs", "cancel", queued)
    assert (code, printed.err.count("\n")) == (2, 1)


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def interrupt(request):
    """A signal, handled as in a command started by a shell."""
    usual = signal.default_int_handler if request.param == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(request.param, usual)
    yield request.param
    assert signal.signal(request.param, before) == usual


def test_control_c_or_sigterm_ends_the_run_after_its_step_with_results(
    capsys, tmp_path, registered, monkeypatch, interrupt
):
    work, out = worker.work, tmp_path / "out"

    def interrupted(store, run_id, on_step, job):
        def strike(progress):
            if progress.step == 2:
                os.kill(os.getpid(), interrupt)
            return on_step(progress)

        work(store, run_id, strike, job)

    monkeypatch.setattr(worker, "work", interrupted)
    code, printed = run(capsys, "fit", "logistic", "--data", *registered, *SPEND, "--out", out)
    assert code == 130
    assert "Stopping after this step" in printed.err
    (row,) = Store().runs()
    assert (row.status, row.step) == ("cancelled", 2)
    assert json.loads((out / "result.json").read_text())["releases"] == 2
    assert 0 < Store().budget("people").planned_epsilon < 0.6


class Unreadable(io.StringIO):
    """A closed terminal."""

    def isatty(self):
        return True

    def write(self, text):
        raise BrokenPipeError


def test_a_run_survives_a_closed_progress_bar(capsys, tmp_path, registered, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Unreadable())
        code, _ = run(capsys, "fit", "logistic", "--data", *registered, *SPEND, "--out", tmp_path / "out")
    assert code == 0
    assert [row.status for row in Store().runs()] == ["done"]
    assert (tmp_path / "out" / "result.json").exists()


@pytest.mark.parametrize(
    ("variable", "more"),
    [("VIPS_THREADS", []), ("VIPS_THREADS", ["--background"]), ("VIPS_WORKERS", ["--background"])],
)
def test_a_mistake_in_the_environment_reserves_nothing(capsys, registered, monkeypatch, variable, more):
    monkeypatch.setenv(variable, "many")
    code, printed = run(capsys, "fit", "logistic", "--data", "people", *SPEND, *more)
    assert (code, f"{variable} must be a whole number of at least 1, got 'many'" in printed.err) == (2, True)
    assert Store().runs() == []
    assert Store().budget("people").left_epsilon == 10


def test_a_run_whose_bar_cannot_be_shown_is_not_left_waiting(capsys, registered, monkeypatch):
    def no_bar(*arguments, **options):
        raise OSError("no terminal")

    monkeypatch.setattr("vips_core.cli.fit.progress_bar", no_bar)
    assert run(capsys, "fit", "logistic", "--data", "people", *SPEND)[0] == 2
    assert [row.status for row in Store().runs()] == ["cancelled"]


def test_a_copy_that_fails_does_not_hide_the_results(capsys, tmp_path, registered, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("vips_core.cli.fit.shutil.copy", full)
    code, printed = run(capsys, "fit", "logistic", "--data", "people", *SPEND, "--out", tmp_path / "out")
    (row,) = Store().runs()
    assert (code, row.status) == (2, "done")
    assert f"run {row.id} has ended and its results are in {Store().folder(row.id)}, but" in printed.err


def test_data_are_added_and_removed(capsys, survey):
    row = run_json(
        capsys, "data", "add", "table", *survey, "--name", "cohort", "--epsilon", 2, "--delta", 1e-6,
        "--unit", "one patient",
    )  # fmt: skip
    assert (row["name"], row["records"], row["private"]) == ("cohort", 60, True)
    assert row["unit"] == "one row of the file, which the steward calls “one patient”"  # nothing stronger
    assert row["cap"] == {"epsilon": 2, "delta": 1e-6}
    code, printed = run(capsys, "fit", "logistic", "--data", "cohort", *SPEND, "--public")
    assert (code, printed.err.count("\n")) == (2, 1)
    assert run(capsys, "fit", "logistic", "--data", "cohort", *SPEND)[0] == 0
    assert run_json(capsys, "data", "remove", "cohort") == {"removed": "cohort"}
    code, printed = run(capsys, "data", "add", "table", *survey, "--epsilon", 2)
    assert (code, printed.err) == (2, "vips-explorer data: a cap needs both epsilon and delta\n")
    printed = run(capsys, "data", "add", "table", *survey)[1].out
    assert "% left of ε = 2 (δ = 1e-6); one more full-batch run" in printed
    row = run_json(capsys, "data", "add", "table", *survey)  # known records keep their cap and cost
    assert row["cap"] == {"epsilon": 2, "delta": 1e-6}
    assert run_json(capsys, "data", "budget", "people")["planned_epsilon"] > 1


def test_the_ledger_is_shown_and_verified(capsys, home, survey):
    nothing = {"whole": True, "rows": 0, "head": None, "problems": [], "notes": []}
    assert run_json(capsys, "ledger", "verify") == nothing
    run_json(capsys, "data", "add", "table", *survey, "--epsilon", 10, "--delta", 1e-5)
    run(capsys, "fit", "logistic", "--data", *survey, *SPEND)
    rows = run_json(capsys, "ledger", "show", "--data", "people")
    kinds = ["data", "people", "cap", "reserve", *["announce"] * 16, "settle"]
    assert [row["kind"] for row in rows] == kinds
    text = run(capsys, "ledger", "show")[1].out
    assert "ε = 10 at δ = 1e-5" in text
    assert "60 records, private" in text
    assert "at most 16 releases so far" in text
    code, printed = run(capsys, "ledger", "verify")
    assert (code, rows[-1]["hash"] in printed.out) == (0, True)
    with sqlite3.connect(home / "store.db") as connection:
        connection.execute("DROP TRIGGER ledger_is_not_changed")
        connection.execute("UPDATE ledger SET content = '{\"events\": []}' WHERE number = 4")
    connection.close()
    code, printed = run(capsys, "ledger", "verify")
    assert (code, printed.out) == (
        2,
        "Row 4 of the ledger was changed: its hash does not match its content.\n",
    )
    code, printed = run(capsys, "ledger", "verify", "--json")
    assert (code, json.loads(printed.out)["whole"]) == (2, False)


def test_a_cap_set_after_a_run_is_not_reported_as_in_force(capsys, tmp_path, home, registered):
    """Issue 32, finding 7, as a user would meet it."""
    run_json(capsys, "fit", "logistic", "--data", "people", *SPEND)
    (row,) = run_json(capsys, "runs", "list")
    smaller = ["data", "budget", "people", "--epsilon", 0.1, "--delta", 1e-5]
    code, printed = run(capsys, *smaller)
    assert (code, printed.err) == (
        2,
        "vips-explorer data: a cap that is changed after a run needs a name and a reason, got neither\n",
    )
    run_json(capsys, *smaller, "--by", "Eve", "--reason", "looks better")
    assert run_json(capsys, "runs", "show", row["id"])["cap"] == {"epsilon": 10, "delta": 1e-5}
    assert (
        "Cap when the run was reserved: ε = 10 at δ = 1e-5, by Ada\n"
        in run(capsys, "runs", "show", row["id"])[1].out
    )
    export = ["runs", "export", row["id"], "--out", tmp_path / "report"]
    assert run(capsys, *export)[0] == 0
    html = " ".join((tmp_path / "report" / "report.html").read_text(encoding="utf-8").split())
    assert "the cap of all runs together was ε = 10 at δ = 1e-5" in html
    assert "looks better" in html
    with contextlib.closing(sqlite3.connect(home / "store.db")) as connection, connection:
        connection.execute("DROP TRIGGER ledger_is_not_changed")
        connection.execute("UPDATE ledger SET content = replace(content, '10.0', '0.1') WHERE kind = 'cap'")
    export[-1] = tmp_path / "forged"
    code, printed = run(capsys, *export)
    assert (code, printed.err.count("\n"), export[-1].exists()) == (2, 1, False)
    assert "no report may be written while the ledger is not intact: Row 3 of the ledger" in printed.err


def test_a_read_only_store_is_listed_shown_verified_and_exported(
    capsys, tmp_path, home, registered, monkeypatch
):
    """Issue 16: `ledger verify` and `runs list` failed on a read-only copy, which is what an auditor has."""
    run_json(capsys, "fit", "logistic", "--data", "people", *SPEND)
    copy = tmp_path / "copy"
    with contextlib.closing(sqlite3.connect(home / "store.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(home, copy)
    for name in ("store.db-wal", "store.db-shm"):
        (copy / name).unlink(missing_ok=True)
    monkeypatch.setenv("VIPS_HOME", str(copy))
    monkeypatch.setattr("vips_core.store.home._can_be_written", lambda folder: False)
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    assert run_json(capsys, "ledger", "verify")["whole"]
    assert run_json(capsys, "data", "list")[-1]["name"] == "people"
    assert 0 < run_json(capsys, "data", "budget", "people")["spent_share"] < 1
    (row,) = run_json(capsys, "runs", "list")
    assert run_json(capsys, "runs", "show", row["id"])["status"] == "done"
    assert run(capsys, "runs", "export", row["id"], "--out", tmp_path / "run.zip")[0] == 0
    for command in (
        ["fit", "logistic", "--data", "people", *SPEND],
        ["data", "budget", "people", "--epsilon", 20, "--delta", 1e-5],
        ["data", "remove", "people"],
    ):
        code, printed = run(capsys, *command)
        assert (code, printed.err.count("\n")) == (2, 1)
        assert "is read-only here: nothing can be changed" in printed.err
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before
    monkeypatch.setenv("VIPS_HOME", str(tmp_path))
    code, printed = run(capsys, "runs", "list")
    assert (code, "there is no store" in printed.err) == (2, True)


def config(tmp_path, text):
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_a_config_file_describes_the_whole_run(capsys, tmp_path):
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
        (
            'model = "lda"\nepsilon = \n',
            "the config run.toml is not TOML: Invalid value (at line 2, column 11)",
        ),
        (
            'model = "lda"\ndata = "sotu"\nepsilons = 1\n',
            "epsilons is not an option of lda; its options are data",
        ),
        ('model = "cnn"\n', "model must be one of lda, logistic, sbn, got 'cnn'"),
        (
            'model = "lda"\ndata = "sotu"\nepsilon = "1"\ndelta = 1e-5\n',
            "epsilon must be a number of at least 0.001 and at most 1,000, got '1'",
        ),
        (
            'model = "lda"\ndata = "sotu"\nepsilon = 1\ndelta = 2\n',
            "delta must be a number of at least 1e-15 and at most 0.1",
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

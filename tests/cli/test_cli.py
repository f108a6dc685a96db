"""The command line: readable tables, JSON, and one line for bad input."""

import importlib.metadata
import io
import json
import subprocess
import sys

import pytest

import vips_core as vips
from tests.toy import BetaBernoulli, coin_flips
from vips_core.cli import main

PLAN = ["plan", "--records", "400000", "--batch", "20000", "--delta", "1e-4"]


def run(capsys, *arguments):
    code = main(arguments)
    return code, capsys.readouterr()


def test_plan_as_table(capsys):
    code, printed = run(capsys, *PLAN, "--noise", "1.24", "--epochs", "1")
    assert code == 0
    assert "Moments                          1.64511" in printed.out
    assert "PLD" in printed.out
    assert "Of 100 people who did take part" in printed.out
    assert "μ = 0.4355 (Gaussian DP for δ ≥ 1e-10, regret 0.046)" in printed.out
    assert "Efficiency 61%" in printed.out
    assert "Choose δ well below 1/N" in printed.out


def test_output_without_greek_letters_or_closed_raises_no_error(monkeypatch):
    """So is a redirected output on Windows: `fit` ended with an error after spending its budget."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    assert main([*PLAN, "--noise", "1.24", "--epochs", "1"]) == 0
    assert b"\\u03c3 = 1.24" in written.getvalue()
    monkeypatch.setattr(sys, "stdout", None)
    assert main([*PLAN, "--noise", "1.24", "--epochs", "1"]) == 0
    sys.stdout.close()


def test_plan_as_json(capsys):
    code, printed = run(capsys, *PLAN, "--noise", "1.24", "--steps", "20", "--json")
    content = json.loads(printed.out)
    assert code == 0
    assert content["plan"]["steps"] == 20
    assert content["epsilon"]["moments"] == pytest.approx(1.6451, abs=1e-4)
    assert content["epsilon"]["gaussian"] is None
    assert content["efficiency"] == pytest.approx(0.61, abs=0.01)
    assert 0.01 < content["risk"]["tpr_at_fpr_1%"] < 0.03
    assert content["risk"]["gaussian_mu"] == pytest.approx(0.4355, abs=1e-4)
    assert content["risk"]["gaussian_regret"] == pytest.approx(0.0457, abs=1e-4)
    assert content["risk"]["gaussian_delta"] == 1e-10


def test_plan_for_a_target(capsys):
    code, printed = run(
        capsys, *PLAN, "--target-epsilon", "2", "--accountant", "rdp", "--epochs", "1", "--json"
    )
    assert code == 0
    assert json.loads(printed.out)["epsilon"]["rdp"] == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("target", "number", "most"),
    [
        (["--target-tpr", "0.02", "--at-fpr", "0.001"], "tpr_at_fpr_0.1%", 0.02),
        (["--target-advantage", "0.1"], "advantage", 0.1),
        (["--target-posterior", "0.8"], "posterior_from_half", 0.8),
    ],
)
def test_plan_for_an_attack_risk(capsys, target, number, most):
    code, printed = run(capsys, *PLAN, *target, "--epochs", "1", "--json")
    assert code == 0
    risk = json.loads(printed.out)["risk"]
    assert risk[number] == pytest.approx(most, rel=1e-3)
    assert risk[number] <= most


def test_plan_for_the_attack_risk_of_guessing(capsys):
    code, printed = run(capsys, *PLAN, "--target-tpr", "0.01", "--epochs", "1")
    assert code == 2
    assert printed.err.endswith("true_positive_rate must be a number above 0.01 and below 1, got 0.01\n")


def test_plan_without_noise(capsys):
    code, printed = run(capsys, *PLAN, "--noise", "0", "--epochs", "1", "--json")
    content = json.loads(printed.out)
    assert code == 0
    assert set(content["epsilon"].values()) == {None}
    assert "no privacy guarantee" in content["reasons"]["pld"]
    assert content["risk"]["gaussian_mu"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            [*PLAN, "--noise", "-1", "--epochs", "1"],
            "noise_multiplier must be 0 or a number of at least 0.001 and at most 1e7, got -1.0",
        ),
        ([*PLAN, "--noise", "1", "--epochs", "0"], "epochs must be a number above 0, got 0.0"),
        ([*PLAN, "--target-epsilon", "1", "--epochs", "1", "--accountant", "x"], "accountant must be one of"),
        ([*PLAN, "--noise", "1", "--epochs", "1", "--accountant", "x"], "accountant must be one of"),
        (
            [*PLAN, "--target-epsilon", "nan", "--epochs", "1"],
            "epsilon must be a number above 0, got nan",
        ),
        (["ledger", "check", "missing.json", "--delta", "1e-5"], "No such file"),
    ],
)
def test_bad_values_exit_2_with_one_line(capsys, arguments, sentence):
    code, printed = run(capsys, *arguments)
    assert code == 2
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize("arguments", [["plan"], ["plan", "--records", "x"], ["nonsense"], []])
def test_bad_usage_exits_2_with_one_line(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_ledger_check_recomputes_epsilon_from_the_file_alone(capsys, tmp_path):
    data = coin_flips()
    plan = vips.PrivacyPlan(records=200, expected_batch=50, steps=8, noise_multiplier=1.5, delta=1e-4)
    fit = vips.fit(BetaBernoulli(12, 2.0), data, plan, seed=0)
    path = tmp_path / "ledger.json"
    path.write_text(fit.ledger.to_json(), encoding="utf-8")
    code, printed = run(capsys, "ledger", "check", str(path), "--delta", "1e-4", "--json")
    content = json.loads(printed.out)
    assert code == 0
    assert content["epsilon"]["moments"] == pytest.approx(plan.epsilon("moments"))
    assert content["epsilon"]["pld"] == pytest.approx(plan.epsilon("pld"))
    assert any("demonstration" in note for note in content["notes"])
    code, printed = run(capsys, "ledger", "check", str(path), "--delta", "1e-4")
    assert (
        "8 × q = 0.25, σ = 1.5, poisson batches; blocks: on (cells: 12, bound: 2), "
        "images (cells: 1, bound: 1)" in printed.out
    )
    code, printed = run(capsys, "ledger", "check", str(path), "--delta", "1e-40")
    assert (code, "the distance of the noise from ideal noise" in printed.err) == (2, True)
    path.write_text("{}", encoding="utf-8")
    assert run(capsys, "ledger", "check", str(path), "--delta", "1e-4")[0] == 2


def test_a_closed_pipe_is_no_error():
    command = [sys.executable, "-m", "vips_core.cli", *PLAN, "--noise", "1.24", "--steps", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # as `head` does when it has seen enough
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"vips-explorer {importlib.metadata.version('vips-explorer')}\n"


def test_the_core_has_no_dashboard_but_takes_commands_from_other_packages(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["dashboard"])
    assert "invalid choice: 'dashboard'" in capsys.readouterr().err

    def add_greeting(commands):
        commands.add_parser("greet").set_defaults(run=lambda options: print("hello"))

    assert main(["greet"], others=[add_greeting]) == 0
    assert capsys.readouterr().out == "hello\n"

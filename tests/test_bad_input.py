"""Input of careless or hostile users: one sentence and exit 2, never a traceback, never a small ε."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vips_core import Ledger, LedgerBlock, LedgerEntry
from vips_core.cli import main
from vips_core.jobs.request import Request

CHECK = ("ledger", "check")  # recomputes ε from a file
PLAN = ["plan", "--records", "1000", "--batch", "100", "--steps", "10", "--delta", "1e-5"]
FIT = {"model": "logistic", "data": "nhanes-stroke", "delta": 1e-4, "epsilon": 1.0}


def ledger(block=None, **changes):
    entry = LedgerEntry(0.1, {"a": LedgerBlock(1.0, 2.0, 10, 2.0**-29)})
    content = json.loads(Ledger(1000, entries=[entry]).to_json())
    content["entries"][0]["blocks"]["a"].update(block or {})
    for name, value in changes.items():
        place = content["entries"][0] if name in content["entries"][0] else content
        place[name] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ledger(neighbours="replace one record"), "neighbours must be"),
        (ledger(neighbours=None), "neighbours must be"),
        (ledger(format="vips-ledger/2"), "format is 'vips-ledger/1'"),
        (ledger(count=1.5), "count must be a whole number"),
        (ledger(count=float("inf")), "count must be a whole number"),
        (ledger(count=True), "count must be a whole number"),
        (ledger(count=10**400), "count must be a whole number"),
        (ledger(sampling_rate=float("nan")), "sampling_rate must be"),
        (ledger(sampling="shuffled"), "sampling must be one of"),
        (ledger(seeded=1), "seeded must be true or false"),
        (ledger(records=0), "records must be a whole number"),
        (ledger(entries={"a": 1}), "malformed"),
        (ledger({"noise_std": float("nan")}), "noise_std must be a number"),
        (ledger({"noise_std": -1}), "noise_std must be a number"),
        (ledger({"noise_std": "2"}), "noise_std must be a number"),
        (ledger({"bound": 0}), "bound must be a number above 0"),
        (ledger({"cells": 0.5}), "cells must be a whole number"),
        (ledger({"colour": 1}), "malformed"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[1, 2", "not JSON"),
        ('{"format": "vips-ledger/1", "records": ' + "9" * 10_000 + "}", "the ledger"),
    ],
)
def test_a_ledger_that_is_not_understood_is_refused(text, sentence, tmp_path, capsys):
    with pytest.raises(ValueError, match=".") as refusal:
        Ledger.from_json(text)
    assert sentence in str(refusal.value)
    file = tmp_path / "ledger.json"
    file.write_text(text, encoding="utf-8")
    assert main([*CHECK, str(file), "--delta", "1e-5"]) == 2
    printed = capsys.readouterr()
    assert (printed.err.count("\n"), printed.out) == (1, "")
    assert sentence in printed.err


@pytest.mark.parametrize("noise", [0, 5e-324, 1e-300, 1e-19, 1e-4])
def test_a_ledger_with_next_to_no_noise_has_no_finite_epsilon(noise, tmp_path, capsys):
    file = tmp_path / "ledger.json"
    file.write_text(ledger({"noise_std": noise}), encoding="utf-8")
    assert main([*CHECK, str(file), "--delta", "1e-5", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["epsilon"].values()) == {None}


@pytest.mark.parametrize("noise", [1e9, 1e300, 1.7e308])
def test_a_ledger_with_absurd_noise_is_answered(noise, tmp_path, capsys):
    file = tmp_path / "ledger.json"
    file.write_text(ledger({"noise_std": noise}), encoding="utf-8")
    code = main([*CHECK, str(file), "--delta", "1e-5", "--json"])
    printed = capsys.readouterr()
    if code == 0:
        assert all(value is None or value >= 0 for value in json.loads(printed.out)["epsilon"].values())
    else:
        assert (code, printed.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("noise", ["1e-300", "5e-324", "nan", "inf", "-1", "1e8", "1e300", "1e308", "1e-4"])
def test_noise_out_of_range_is_refused_by_every_command(noise, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VIPS_HOME", str(tmp_path / "home"))
    fit = ["fit", "logistic", "--data", "nhanes-stroke", "--noise", noise, "--delta", "1e-4"]
    for command in ([*PLAN, "--noise", noise], fit):
        assert main(command) == 2
        printed = capsys.readouterr()
        assert (printed.err.count("\n"), printed.out) == (1, "")
        assert "must be 0 or a number of at least 0.001 and at most 1e7" in printed.err


@pytest.mark.parametrize("noise", ["0.001", "0.005", "1e7"])
def test_the_ends_of_the_range_are_answered_at_once(noise, capsys):
    start = time.process_time()
    assert main([*PLAN, "--noise", noise, "--json"]) == 0
    assert time.process_time() - start < 10  # two seconds for each accountant
    epsilons = json.loads(capsys.readouterr().out)["epsilon"].values()
    assert all(value is None or value >= (0 if noise == "1e7" else 100) for value in epsilons)


@pytest.mark.parametrize("seed", [2**63, 2**64, 10**400, -1, 1.5, float("inf"), True, "1"])
def test_a_seed_that_no_column_holds_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0") as refusal:
        Request.from_mapping(FIT | {"seed": seed})
    assert "\n" not in str(refusal.value)


def test_the_largest_seed_is_a_seed():
    assert Request.from_mapping(FIT | {"seed": 2**63 - 1}).seed == 2**63 - 1


def test_a_large_seed_is_refused_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VIPS_HOME", str(tmp_path / "home"))
    given = ["--epsilon", "1", "--delta", "1e-4", "--seed", str(2**63)]
    assert main(["fit", "logistic", "--data", "nhanes-stroke", *given]) == 2
    assert "seed must be a whole number" in capsys.readouterr().err


COMMAND = ["-c", "import sys; from dashboard.launch import main; sys.exit(main())", "fit", "lda"]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc/self/maps")
@pytest.mark.parametrize("module", ["_multiarray_umath", "libllvmlite", "scipy"])
def test_an_interruption_while_modules_load_leaves_no_traceback(module, tmp_path):
    environment = {**os.environ, "VIPS_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, *COMMAND], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until_loaded(process, module)
        process.send_signal(2)
        complaint = process.communicate()[1]
    assert (process.returncode, complaint) == (130, "")


def wait_until_loaded(process, module):
    while process.poll() is None:
        if module in Path(f"/proc/{process.pid}/maps").read_text():
            return
        time.sleep(0.001)
    raise AssertionError(f"the process ended without {module}: {process.stderr.read()}")


@pytest.mark.parametrize("name", ["indptr", "counts", "vocabulary"])
@pytest.mark.parametrize("array", [np.array("tea"), np.array([1.5]), np.zeros((2, 2)), np.array([[["a"]]])])
def test_arrays_of_another_kind_are_refused_by_the_command(name, array, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VIPS_HOME", str(tmp_path / "home"))
    arrays = {
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1]),
        "counts": np.array([1, 2]),
        "vocabulary": np.array(["tea", "milk"]),
    }
    np.savez(tmp_path / "counts.npz", **arrays | {name: array})
    spend = ["--epsilon", "1", "--delta", "1e-4"]
    assert main(["fit", "lda", "--data", str(tmp_path / "counts.npz"), *spend]) == 2
    printed = capsys.readouterr()
    assert (printed.err.count("\n"), printed.out) == (1, "")

"""`vips-explorer sweep`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import vips_core
from tests.sweeps import BASE, without_failure
from vips_core.cli import main
from vips_core.models.task import TASKS
from vips_core.sweeps import results
from vips_core.sweeps.grid import Sweep


def test_the_command_writes_report_and_frame_of_finished_cells(executed, monkeypatch, tmp_path, capsys):
    store, _, definition, _ = executed
    monkeypatch.setenv("VIPS_HOME", str(store.home))
    config, out = tmp_path / "sweep.toml", tmp_path / "out"
    config.write_text(without_failure(definition).to_toml(), encoding="utf-8")
    assert main(["sweep", str(config), "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["cells"], told["failed"]) == ("done", 10, [])
    assert len(pd.read_csv(out / "cells.csv")) == 10 * len(TASKS["logistic"].scores)
    names = {str(file.relative_to(out)) for file in out.rglob("*.*")}
    assert {"report.html", "summary.csv", "config.toml", "ledgers.json", "repeat.py", "repeat.ipynb"} <= names
    assert {"figures/epsilon-auc.csv", "figures/steps.csv"} <= names
    assert Sweep.from_toml((out / "config.toml").read_text(encoding="utf-8")) == without_failure(definition)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)  # so that progress is shown
    assert main(["sweep", str(config)]) == 0
    spoken = capsys.readouterr()
    assert "/10 [" in spoken.err
    assert "95% t-interval of the mean" in spoken.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["paper-tree"],
            "sweep must be paper-lda, paper-logistic, paper-sbn or a TOML file, got 'paper-tree'",
        ),
        (["any.toml", "--size", "quick"], "--size is only for presets"),
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
    assert "the same command resumes from here" in spoken
    assert "Traceback" not in spoken
    assert home.runs(kind="sweep")[0].status == "cancelled"
    assert len(results.frame(Sweep.from_toml(config.read_text(encoding="utf-8")), home)) >= 1

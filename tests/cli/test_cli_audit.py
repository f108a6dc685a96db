"""`vips-explorer audit`: what it prints, and what it refuses."""

import json

import pytest

from tests.toy import coin_flips
from vips_core.cli import main
from vips_core.store.budget import Cap
from vips_core.store.store import Store

AUDIT = [
    "audit",
    "sbn",
    "--data",
    "open",
    "--hidden",
    "2",
    "--noise",
    "2",
    "--delta",
    "1e-5",
    "--epochs",
    "2",
    "--seed",
    "1",
]


@pytest.fixture
def store(home):
    made = Store()
    made.add_data("open", coin_flips(), private=False, unit="one image")
    made.add_data("flips", coin_flips(seed=2), cap=Cap(50.0, 1e-5), unit="one image")
    return made


def test_an_audit_prints_claim_bound_ratio_and_support_test(capsys, store):
    assert main([*AUDIT, "--releases", "200"]) == 0
    printed = capsys.readouterr().out
    assert "The attack did not refute the claim" in printed
    for label in ("claimed ε of one release", "measured ε, at least (95% confidence)", "measured / claimed"):
        assert label in printed
    assert "every released number is a multiple of its public grid step" in printed
    assert "verified" not in printed
    (row,) = store.runs(kind="audit")
    assert main(["runs", "show", row.id]) == 0
    assert "did not refute" in capsys.readouterr().out
    assert main(["runs", "list"]) == 0
    assert "audit of sbn (refined) on open" in capsys.readouterr().out


def test_json_holds_the_same(capsys, store):
    assert main([*AUDIT, "--attack", "run", "--canaries", "20", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["attack"] == "run"
    assert content["refuted"] is False
    assert content["measured"] <= content["claimed"]


def test_private_data_are_refused_in_one_line(capsys, store):
    assert main([*AUDIT, "--data", "flips"]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "flips is private: an audit needs raw statistics" in printed.err
    assert store.runs() == []


def test_an_audit_in_the_background_is_queued(capsys, store, monkeypatch):
    monkeypatch.setattr("vips_core.jobs.supervisor.detach", lambda store: None)
    assert main([*AUDIT, "--background", "--json"]) == 0
    run_id = json.loads(capsys.readouterr().out)["run"]
    assert store.run(run_id).kind == "audit"
    assert store.run(run_id).status == "queued"

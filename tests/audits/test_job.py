"""Audits as runs of the store: on public data only, with progress, results, a stop and a report."""

import dataclasses
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from tests.toy import coin_flips
from vips_core.audits import job
from vips_core.audits.run_attack import OneRunAudit
from vips_core.audits.verdict import FALSE, TRUE, Verdict, roc
from vips_core.jobs import worker
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.reports import report
from vips_core.reports.audit_report import attack_figure
from vips_core.store.budget import Cap
from vips_core.store.store import Store

ASKED = {
    "model": "sbn",
    "data": "open",
    "hidden": 2,
    "noise": 2.0,
    "delta": 1e-5,
    "epochs": 3,
    "releases": 400,
    "canaries": 20,
    "confidence": 0.999999,
    "seed": 1,  # so that nothing depends on luck; the benchmark uses the operating system's entropy
}


@pytest.fixture
def store(home):
    """A store with a public and a private data set."""
    made = Store()
    made.add_data("open", coin_flips(), private=False, unit="one image")
    made.add_data("flips", coin_flips(seed=2), cap=Cap(50.0, 1e-5), unit="one image")
    return made


def audited(store, **changes):
    run_id = job.submit_audit(store, ASKED | changes)
    worker.work(store, run_id, None, job.run_audit)
    return store.run(run_id)


@pytest.mark.parametrize("method", ["refined", "paper"])
@pytest.mark.parametrize("attack", ["wall", "run"])
def test_an_audit_leaves_verdict_and_roc(store, method, attack):
    row = audited(store, method=method, attack=attack)
    assert (row.status, row.error) == ("done", None)
    verdict, curve = job.results(store, row.id)
    assert row.step == row.steps == (400 if attack == "wall" else verdict.plan["steps"])
    assert not verdict.refuted
    assert "did not refute" in verdict.sentence()
    full = verdict.plan["expected_batch"] == verdict.plan["records"]
    assert ("and assuming Gaussian noise" in verdict.sentence()) == (attack == "wall" and full)
    assert "verified" not in verdict.to_json()
    assert verdict.attempts == (400 if attack == "wall" else 20)
    assert row.epsilon == verdict.claimed
    assert set(verdict.on_the_grid.values()) == {1.0}
    assert Verdict.from_json(verdict.to_json()) == verdict
    for rate in (FALSE, TRUE) if attack == "wall" else ():
        assert (curve[f"{rate}, low"] <= curve[rate]).all()
        assert (curve[rate] <= curve[f"{rate}, high"]).all()


@pytest.mark.parametrize("method", ["refined", "paper"])
def test_the_attack_on_the_wall_stays_under_the_claimed_curve(store, method):
    """At all thresholds at once; a sound wall fails once in ten million times (Massart 1990)."""
    attempts = 400
    row = audited(store, method=method, releases=attempts, seed=None)
    audit = job.AuditRequest.from_mapping(row.request)
    (whole_plan,) = audit.prepare(store.load("open")).plan.events()
    claim = AttackRisk([dataclasses.replace(whole_plan, count=1)])
    _, curve = job.results(store, row.id)
    margin = math.sqrt(
        math.log(2e7) / attempts
    )  # probability that a rate is off by more: exp(−attempts·margin²)
    highest = claim.true_positive_rate(np.minimum(curve[FALSE] + margin, 1))
    assert (curve[TRUE] - margin <= highest).all()


def test_coins_that_all_fall_alike_leave_a_verdict_without_a_curve():
    ledger = Ledger(4)
    audit = OneRunAudit(ledger, np.arange(4.0), np.ones(4, np.bool_), (1.0,))
    assert roc(audit, 1e-5, 0.95).empty
    assert len(attack_figure(roc(audit, 1e-5, 0.95))["data"]) == 3


def test_the_wall_claims_one_release_and_one_run_the_whole_plan(store):
    at_wall, _ = job.results(store, audited(store).id)
    whole, _ = job.results(store, audited(store, attack="run").id)
    assert at_wall.claimed < at_wall.run_epsilon == pytest.approx(whole.claimed)


def test_a_verdict_is_refuted_if_the_bound_exceeds_the_claim():
    verdict = Verdict("wall", 100, 1e-5, 0.95, 1.0, 1.5, 4.0, {"with": 0.5, "without": 1.0}, {})
    assert verdict.refuted
    assert "refuted the claim" in verdict.sentence()
    assert "50.00% with" in verdict.support_sentence()


def test_a_stopped_audit_keeps_what_it_has(store, monkeypatch):
    monkeypatch.setattr(job, "_PAUSE", 0.0)
    run_id = job.submit_audit(store, ASKED)

    def on_step(done):
        if done == 10:
            store.cancel(run_id)

    worker.work(store, run_id, on_step, job.run_audit)
    row = store.run(run_id)
    assert row.status == "cancelled"
    assert job.results(store, run_id)[0].attempts == row.step < 20


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"data": "flips"}, "flips is private: an audit needs raw statistics, so it runs on public data"),
        ({"noise": 0}, "an audit needs noise"),
        ({"noise": None, "method": "non-private"}, "an audit needs noise"),
        (
            {"model": "logistic", "data": "nhanes-stroke", "noise": None, "hidden": None, "method": "perm"}
            | {"epsilon": 1.0},
            "method perm cannot be audited",
        ),
        ({"releases": 3}, "releases must be a whole number of at least 100"),
        ({"attack": "run", "canaries": 201}, "canaries must be at most the 200 records, got 201"),
        ({"attack": "door"}, "attack must be one of wall, run, got 'door'"),
        ({"confidence": 1}, "confidence must be a number"),
        ({"colour": 1}, "colour is not an option of sbn"),
    ],
)
def test_audits_that_cannot_run_are_refused_in_one_sentence(store, changes, sentence):
    table = {name: value for name, value in (ASKED | changes).items() if value is not None}
    with pytest.raises(ValueError, match=sentence):
        job.submit_audit(store, table)
    assert store.runs() == []


def test_data_that_became_private_are_not_attacked(store):
    audit = job.AuditRequest.from_mapping(ASKED | {"data": "flips"})
    with pytest.raises(ValueError, match="flips is private"):
        audit.prepare(store.load("flips"))


def test_a_worker_knows_audits(store, home):
    run_id = job.submit_audit(store, ASKED)
    command = [sys.executable, "-m", "vips_core", "worker", run_id, "--home", str(home)]
    subprocess.run(command, check=True, timeout=120)
    assert store.run(run_id).status == "done"


def test_the_report_of_an_audit(store, tmp_path):
    row = audited(store)
    report.write_run(store, row.id, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    plan = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))["plan"]
    assert PrivacyPlan(**plan).risk().gaussian_claim() in page
    assert "did not refute the claim" in page
    assert "verified" not in page.split("<script")[0]
    assert {path.name for path in tmp_path.iterdir()} == {
        "report.html",
        "config.toml",
        "config.json",
        "audit.json",
        "roc.csv",
    }
    assert json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))["refuted"] is False
    assert np.loadtxt(tmp_path / "roc.csv", delimiter=",", skiprows=1).shape[1] == 7

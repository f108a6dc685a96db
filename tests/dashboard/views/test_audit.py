"""The Audit page's logic, without a browser."""

import pytest

from dashboard.components import live_runs
from dashboard.views.runs import charts
from tests.pages import address, metrics, view
from tests.small_rows import rows
from vips_core.audits import job
from vips_core.jobs import supervisor, worker
from vips_core.reports.audit_report import attack_figure
from vips_core.store.budget import Cap
from vips_core.store.store import Store

ASKED = {
    "model": "logistic",
    "data": "small",
    "noise": 2.0,
    "delta": 1e-4,
    "releases": 400,
    "canaries": 20,
    "confidence": 0.95,
    "seed": 1,
}


@pytest.fixture
def store(home):
    """A store with a public and a private data set."""
    store = Store(home)
    store.add_data("small", rows(200, 0), rows(100, 1), private=False, unit="one row")
    store.add_data("secret", rows(200, 2), rows(100, 3), cap=Cap(3.0, 1e-4), unit="one row")
    return store


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch):
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(live_runs, "follow_bar", lambda *arguments, **values: None)


def audited(store, **changes):
    run_id = job.submit_audit(store, ASKED | changes)
    worker.work(store, run_id, None, job.run_audit)
    return run_id


def texts(at):
    return " ".join(item.value for item in (*at.markdown, *at.caption, *at.info))


def test_the_batch_is_the_model_s_until_a_visitor_has_an_own_one(store):
    at = view("audit", model="logistic", data="small")
    assert not [box for box in at.number_input if box.label.startswith("Batch size")]
    (own,) = [toggle for toggle in at.toggle if toggle.label == "Set the batch size"]
    own.set_value(True).run()
    assert address(at)["batch"] == "10"  # a twentieth of the records
    assert [box.value for box in at.number_input if box.label.startswith("Batch size")] == [10]


def test_an_audit_starts_in_the_store_is_in_the_address_and_can_be_cancelled(store):
    at = view("audit", model="logistic", data="small", noise=3, releases=200, confidence="0.99", batch=50)
    assert "can refute a claim, but never prove one" in texts(at)
    at.button("start-audit").click().run()
    assert not at.exception
    (run,) = store.runs(kind="audit")
    asked = job.AuditRequest.from_mapping(run.request)
    assert (asked.request.data, asked.request.get("noise"), asked.request.get("batch")) == ("small", 3, 50)
    assert (asked.values["releases"], asked.values["confidence"]) == (200, 0.99)
    assert address(at)["audit"] == run.id
    at.button(f"cancel:{run.id}").click().run()
    assert store.run(run.id).status == "cancelled"


def test_private_data_are_not_offered(store):
    at = view("audit", model="logistic", data="secret")
    assert address(at)["data"] != "secret"


@pytest.mark.parametrize("attack", ["wall", "run"])
def test_the_page_says_what_the_audit_found(store, attack):
    run_id = audited(store, attack=attack)
    verdict, roc = job.results(store, run_id)
    at = view("audit", audit=run_id)
    assert at.info[0].value.startswith(f"**{verdict.sentence()}**")
    assert "did not refute" in at.info[0].value
    assert "verified" not in texts(at)
    assert "every released number is a multiple of its public grid step" in texts(at)
    assert metrics(at)["Measured over claimed"] == f"{verdict.ratio:.0%}"
    assert len(at.get("plotly_chart")) == 1
    *band, claimed, measured, _ = attack_figure(roc)["data"]
    assert (claimed["x"] > 0).all()
    assert [len(one["x"]) for one in band] == ([2 * len(measured["x"])] if attack == "wall" else [])


def test_the_history_lists_audits_beside_other_runs(store):
    row = store.run(audited(store))
    (line,) = charts.history_table([row]).to_dict("records")
    assert line["Method"] == "Audit of Refined"
    assert line["Held-out score"] == "–"
    at = view("runs", runs=row.id)
    assert "**Audit of Refined** on small" in texts(at)
    assert not view("runs", method="audit").error


@pytest.mark.parametrize(
    ("name", "value"), [("noise", "0"), ("attack", "door"), ("audit", "zz"), ("confidence", "2")]
)
def test_bad_address_gives_a_sentence(store, name, value):
    (error,) = view("audit", **{name: value}).error
    assert f"In the address, {name}" in error.value.replace("\\", "")


def test_an_unknown_audit_gives_a_sentence(store):
    assert "there is no audit 'abcdef12'" in view("audit", audit="abcdef12").error[0].value.replace("\\", "")

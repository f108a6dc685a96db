"""The plan of a run is derived once, when the run is submitted; all readers take it from the store."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.jobs import request
from tests.toy import coin_flips
from vips_core import Documents, Images, Table
from vips_core.cli import main
from vips_core.jobs import execution, submission, worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.privacy.plan import PrivacyPlan
from vips_core.store import budget
from vips_core.store.budget import Cap
from vips_core.store.rows import SWEEP
from vips_core.store.store import Store


@pytest.fixture
def derived(monkeypatch):
    """Every plan derived from a request."""
    plans, derive = [], submission.plan_for

    def noted(*arguments):
        plans.append(derive(*arguments))
        return plans[-1]

    monkeypatch.setattr(submission, "plan_for", noted)
    return plans


def test_the_plan_is_stored_with_the_run_and_trained_with(store, derived):
    run = submit(store, request(noise=None, epsilon=1.0, batch=20))
    (plan,) = derived
    assert Store().run(run).plan == plan
    worker.work(store, run)
    assert len(derived) == 1
    reserve, *_, settle = (row for row in store.ledger("flips") if row.run == run)
    assert budget.from_lists(reserve.content["events"]) == tuple(plan.events())
    assert settle.content["events"][0] == pytest.approx(reserve.content["events"][0])
    result = json.loads((store.folder(run) / execution.RESULT).read_text())
    assert PrivacyPlan(**result["plan"]) == plan


def test_noise_given_to_strong_composition_is_the_papers_run_and_takes_the_same_budget(store):
    """Releases take budget, whatever the method's accountant charges for them."""
    taken = []
    for method in ("paper", "strong"):
        run = submit(store, request(method=method, batch=20))
        reserve = store.ledger("flips")[-1]
        taken.append((Store().run(run).plan, reserve.content["events"]))
        worker.work(store, run)
    assert taken[0] == taken[1]
    settled = [row.content["events"] for row in store.ledger("flips") if row.kind == "settle"]
    assert settled[0] == settled[1]
    result = json.loads((store.folder(run) / execution.RESULT).read_text())
    plan = taken[0][0]
    assert plan.noise_multiplier == 20.0
    assert result["epsilon"]["strong"] == pytest.approx(plan.epsilon("strong"))
    assert store.run(run).epsilon == result["epsilon"]["pld"] < result["epsilon"]["strong"]


@pytest.mark.parametrize("words", [[[0, 0]], [[1, 0], [0, 1], [0, 0]]])
def test_held_out_documents_that_cannot_be_scored_are_refused_before_anything_is_spent(home, words):
    """Such records were found only after the first release, which then counted."""
    store, names = Store(), ["tea", "milk"]
    train, test = Documents.from_counts([[3, 2]] * 50, names), Documents.from_counts(words, names)
    store.add_data("texts", train, test, cap=Cap(5.0, 1e-5), unit="one document")
    table = {"model": "lda", "data": "texts", "topics": 2, "epsilon": 1, "delta": 1e-5}
    with pytest.raises(ValueError, match="at least one held-out document must have two words"):
        submit(store, Request.from_mapping(table))
    assert store.budget("texts").left_epsilon == 5


def test_a_run_is_followed_by_documents_that_can_be_scored(home):
    """Only some of many held-out documents are scored while training, and all of these may be empty."""
    names = ["tea", "milk"]
    test = np.zeros((1000, 2), int)
    test[1] = 3, 2
    store = Store()
    train = Documents.from_counts([[3, 2]] * 50, names)
    store.add_data(
        "texts", train, Documents.from_counts(test, names), cap=Cap(5.0, 1e-5), unit="one document"
    )
    table = {"model": "lda", "data": "texts", "topics": 2, "epsilon": 1, "delta": 1e-5, "epochs": 2}
    run = submit(store, Request.from_mapping(table))
    worker.work(store, run)
    assert store.run(run).error is None
    assert store.run(run).validation_scores


def test_held_out_records_match_the_training_records(store):
    image = Images.from_images(np.eye(12), 0.5)
    other = Images.from_images(np.eye(13), 0.5)
    with pytest.raises(ValueError, match="held-out records must have the same shape as the training records"):
        store.add_data("images", image, other, cap=Cap(5.0, 1e-5), unit="one image", reason="a test")


def test_the_command_derives_one_plan_for_a_new_file(home, derived, tmp_path, capsys):
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(f"{20 + n % 60},{n % 2}\n" for n in range(80)))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [0, 100]\n")
    about = [
        "--data",
        str(tmp_path / "people.csv"),
        "--target",
        "ill",
        "--schema",
        str(tmp_path / "schema.toml"),
    ]
    spend = ["--epsilon", "1", "--delta", "1e-4", "--epochs", "2"]
    assert main(["fit", "logistic", *about, *spend, "--public"]) == 0
    (run,) = Store().runs()
    assert [run.plan] == derived


def test_an_edited_plan_is_not_trained_with(store):
    run = submit(store, request())
    weaker = {**vars(store.run(run).plan), "noise_multiplier": 0.01}
    with store.database.write() as connection:
        connection.execute("UPDATE runs SET plan = ? WHERE id = ?", [json.dumps(weaker), run])
    worker.work(store, run)
    row = store.run(run)
    assert (row.status, row.step) == ("failed", 0)
    assert row.error == "the plan is not the one whose cost was reserved: submit the run again"
    (use,) = budget.uses(store.ledger("flips"))
    assert use.events == ()


def test_a_reservation_on_some_records_is_not_spent_on_others(store):
    store.add_data("others", coin_flips(seed=5), cap=Cap(2.0, 1e-4), unit="one image")
    run = submit(store, request())
    with store.database.write() as connection:
        connection.execute("UPDATE runs SET data = 'others' WHERE id = ?", [run])
    worker.work(store, run)
    row = store.run(run)
    assert (row.status, row.step) == ("failed", 0)
    assert row.error == "the reservation of this run is for other records: submit it again"


def test_private_data_refuse_batches_that_no_accountant_covers(store):
    table = request(batch=20)
    prepared = submission.prepare(table, store.load("flips"))
    plan = prepared.plan
    with pytest.raises(ValueError, match="flips is private: batches of fixed size are refused"):
        submission.queue(store, replace(prepared, plan=plan.replace(sampling="fixed")))
    run = submission.queue(store, prepared)
    edited = {**vars(plan), "sampling": "fixed"}
    with store.database.write() as connection:
        connection.execute("UPDATE runs SET plan = ? WHERE id = ?", [json.dumps(edited), run])
    worker.work(store, run)
    assert (store.run(run).status, store.run(run).step) == ("failed", 0)


def test_private_data_refuse_a_run_without_a_plan(store):
    with pytest.raises(ValueError, match="flips is private: a sweep would spend its budget on trials"):
        store.queue(SWEEP, {"model": "sbn", "data": "flips"}, 1)
    assert store.runs() == []


def test_held_out_rows_of_one_label_are_refused_before_anything_is_spent(store):
    rng = np.random.default_rng(0)
    rows = Table(rng.random((50, 2)), np.arange(50) % 2, ("a", "b"), 2.0)
    store.add_data("people", rows, rows[rows.y == 0], cap=Cap(3.0, 1e-5), unit="one person")
    with pytest.raises(ValueError, match="both labels") as error:
        submit(
            store,
            Request.from_mapping({"model": "logistic", "data": "people", "epsilon": 1.0, "delta": 1e-5}),
        )
    assert "\n" not in str(error.value)
    assert store.budget("people").left_epsilon == 3.0

"""What model pages share: inputs and address, submission, progress and refusals, without a browser."""

import dataclasses
import importlib
import time

import pytest

from dashboard import state, stored
from dashboard.components import live_runs, price
from dashboard.components.formats import at_most, number
from dashboard.model_page import train
from dashboard.views.topics import page as topics_view
from dashboard.views.topics.definition import PAGE
from tests.dashboard.topics_page import errors, page, press_train, said, status, store, worked
from tests.pages import address, checked, widget
from vips_core.jobs import worker
from vips_core.jobs.request import SPENDING, Request
from vips_core.jobs.submission import submit
from vips_core.records.samples import SAMPLES

__all__ = ["store"]  # a fixture


def test_train_submits_what_the_page_shows(store):
    at = press_train(page(methods="refined,non-private", epsilon=2, delta=1e-4))
    runs = [store.run(run_id) for run_id in address(at)["runs"].split(",")]
    shared = {"model": "lda", "data": "open", "delta": 1e-4, "epochs": 10.0, "topics": 2, "words": 50}
    assert runs[0].request == shared | {"method": "refined", "epsilon": 2.0, "accountant": "pld"}
    assert runs[1].request == shared | {"method": "non-private"}  # without noise there is no accountant
    assert all(run.seed is None for run in runs)


def test_results_follow_and_another_browser_sees_them(store):
    at = worked(press_train(page()), store)
    (spent,) = [table.value for table in at.table]
    run_id = address(at)["runs"]
    finished = stored.finished(run_id)
    shown = dict(zip(spent["Quantity"], spent["Refined"], strict=True))
    assert shown["Run"] == run_id
    assert shown["Spent ε, tight"] == f"{finished.fit.epsilon('pld'):.2f}"
    assert shown["Steps"] == str(finished.fit.ledger.steps)
    assert finished.result["epsilon"]["pld"] == pytest.approx(finished.fit.epsilon("pld"))
    other = page(**address(at))
    assert address(other) == address(at)
    assert other.table[0].value.equals(spent)


def test_address_restores_every_value(store):
    wanted = {
        "data": "open", "methods": "paper,strong", "epsilon": "2.5", "delta": "0.001", "epochs": "3.5",
        "batch": "20", "accountant": "rdp", "seed": "4", "topics": "3", "words": "9", "relevance": "0.4",
        "shown": "paper", "topic": "2",
    }  # fmt: skip
    assert address(page(**wanted)) == wanted


def test_a_plan_arrives_as_noise_and_batch(store):
    at = press_train(page(noise=3.0, batch=20, epochs=2, delta=1e-4))
    request = store.run(address(at)["runs"]).request
    assert (request["noise"], request["batch"], request["epochs"]) == (3.0, 20, 2.0)
    assert "epsilon" not in request


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"epsilon": "0"},
            "epsilon must be a number of at least 0.001 and at most 1,000, got 0.0; 1 is used instead.",
        ),
        (
            {"seed": "x"},
            "at least 0 and at most 9,007,199,254,740,991, got 'x'; it is left out.",
        ),
        ({"runs": "../etc"}, "runs cannot be '../etc'; it is left out."),
        ({"runs": "00000000"}, "there is no run '00000000'."),
        ({"data": "secret"}, "This page has no data set 'secret'; sotu is used instead."),
        ({"data": "mnist"}, "This page has no data set 'mnist'; sotu is used instead."),
        ({"data": "a/../b"}, "data cannot be 'a/../b'; sotu is used instead."),
        ({"topic": "-1"}, "topic cannot be '-1'; 1 is used instead."),
    ],
)
def test_bad_addresses_get_a_sentence(store, given, sentence):
    assert any(sentence in error for error in errors(page(**given)))


def test_unknown_methods_fall_back(store):
    assert address(page(methods="x,non-private"))["methods"] == "non-private"
    assert address(page(methods="x"))["methods"] == "refined"


def test_runs_of_other_data_or_models_are_not_shown(store):
    elsewhere = address(press_train(page(data="clinic")))["runs"]
    at = page(runs=elsewhere)
    assert "Nothing trained here yet" in [header.value for header in at.header]


def test_private_data_allow_no_run_without_noise_and_no_seed(store):
    at = page(data="clinic", methods="refined,non-private", seed=3)
    (methods,) = at.multiselect
    assert "Non-private" not in methods.options
    assert address(at)["methods"] == "refined"
    assert "seed" not in address(at)
    assert not [toggle for toggle in at.toggle if toggle.key.startswith("own:seed")]
    run = store.run(address(press_train(at))["runs"])
    assert run.seed is None
    assert run.request["delta"] == 1e-4  # the budget's δ, so that their ε can be compared
    assert "ε = 0 of 1 left for one more full-batch run, 100% reserved" in status(at)


def test_a_run_that_does_not_fit_is_refused_in_the_store_s_words(store):
    at = worked(press_train(page(data="clinic", epsilon=0.8)), store)
    spent = store.budget("clinic").planned_epsilon
    assert 0.7 < spent <= 0.8
    first = address(at)["runs"]
    at = press_train(at)
    (refusal,) = errors(at)
    with pytest.raises(ValueError, match="does not fit in the budget of clinic") as expected:
        submit(store, stored.finished(first).request)
    assert refusal == str(expected.value)[:1].upper() + str(expected.value)[1:]
    assert address(at)["runs"] == first
    assert store.budget("clinic").planned_epsilon == spent


def test_a_second_click_on_the_same_button_does_not_spend_again(monkeypatch):
    submitted = []
    monkeypatch.setattr(state, "visit", {})
    monkeypatch.setattr(state, "put", lambda *rest: None)
    monkeypatch.setattr(train, "submit", submitted.append)
    for turn in (0, 0, 1):
        train.clicked(PAGE, turn)
    assert len(submitted) == 2


def test_cancel(store):
    at = press_train(page(data="clinic"))
    run_id = address(at)["runs"]
    checked(at.button(key=f"cancel:{run_id}").click().run())
    assert store.run(run_id).status == "cancelled"
    assert "Refined was cancelled after 0 of 10 steps" in said(at)
    assert "Nothing trained here yet" not in {header.value for header in at.header}
    assert store.budget("clinic").left_epsilon == 1.0


def test_a_run_that_was_stopped_promises_what_the_whole_run_would(store):
    """When to stop is chosen after looking at results, and the ε of the steps taken ignores that."""
    at = press_train(page(data="clinic", epsilon=0.5))
    run_id = address(at)["runs"]
    worker.work(store, run_id, lambda progress: store.cancel(run_id) if progress.step == 2 else None)
    checked(at.run())
    told = f"Planned with these steps only, it would have cost ε = {at_most(store.run(run_id).epsilon)}."
    assert f"was cancelled after 2 of 10 steps. {told}" in said(at)
    assert "the ε of the whole run holds: 0.500." in said(at)
    assert "(Refined, ε = 0.500)" in said(at)
    by_noise = dataclasses.replace(store.run(run_id), request={"noise": 3.0})
    assert price.whole_run(by_noise) == pytest.approx(0.5, rel=1e-3)


def test_a_failed_run_says_why(store):
    at = press_train(page())
    run_id = address(at)["runs"]
    store.folder(run_id).mkdir(parents=True)
    (store.folder(run_id) / "ledger.json").mkdir()  # where a file should go
    worker.work(store, run_id)
    (error,) = errors(checked(at.run()))
    assert error.startswith("Refined failed: ")
    assert not any(word in error for word in ("Traceback", "Errno", "/"))
    titles = {header.value for header in at.header}
    assert "What a run would cost" in titles  # no blank page
    assert "No results" in titles
    assert "Nothing trained here yet" not in titles
    assert "Refined failed. Press **Train** to start again." in said(at)


def test_progress_tells_steps_and_epsilon(store, monkeypatch):
    at = press_train(page())
    run = dataclasses.replace(
        store.run(address(at)["runs"]),
        status="running",
        step=4,
        epsilon=0.25,
        validation_scores=[(2, 5.5), (4, 5.25)],
    )
    monkeypatch.setattr(stored.store(), "run", lambda run_id: run)
    checked(at.run())
    (bar,) = at.get("progress")
    assert bar.proto.value == 40
    assert "step 4 of 10, ε = 0.250 so far, held-out perplexity (completion) 5.25" in bar.proto.text
    run = dataclasses.replace(run, epsilon=0.0)  # before the worker has recorded what its releases cost
    checked(at.run())
    (bar,) = at.get("progress")
    assert "step 4 of 10, ε: computing…, held-out" in bar.proto.text


def test_a_score_of_some_records_is_not_taken_for_one_of_all(store, monkeypatch):
    assert PAGE.followed("open") == ""
    monkeypatch.setattr(PAGE.task, "validation_records", 10)
    at = press_train(page())
    followed = f" (on 10 of {len(stored.data('open').test):,} documents)"
    run = dataclasses.replace(
        store.run(address(at)["runs"]), status="running", step=4, validation_scores=[(4, 5.25)]
    )
    with monkeypatch.context() as running:
        running.setattr(stored.store(), "run", lambda run_id: run)
        checked(at.run())
        assert at.get("progress")[0].proto.text.endswith(f"held-out perplexity (completion) 5.25{followed}")
    at = worked(at, store)
    (bar,) = at.get("progress")
    score = stored.finished(run.id).result["held_out"]["perplexity (completion)"]
    assert bar.proto.text.endswith(f"held-out perplexity (completion) {number(score)}")
    assert bar.proto.value == 100


@pytest.mark.parametrize(("seconds", "curves"), [(0.0, 0), (60.0, 1)])
def test_curves_are_drawn_of_runs_that_last_and_not_at_every_look(store, monkeypatch, seconds, curves):
    at = press_train(page())
    began = {
        "status": "running",
        "started": time.time() - seconds,
        "validation_scores": [(2, 5.5), (4, 5.25)],
    }
    run = dataclasses.replace(store.run(address(at)["runs"]), **began)
    later = dataclasses.replace(run, step=6, validation_scores=[*run.validation_scores, (6, 5.0)])
    monkeypatch.setattr(stored.store(), "run", lambda run_id: run)
    monkeypatch.setattr(live_runs, "follow", lambda runs, show, **rest: [show([row]) for row in (run, later)])
    checked(at.run())
    assert len(at.get("plotly_chart")) == curves


def test_a_seeded_run_on_public_data_is_found_again(store):
    first = address(worked(press_train(page(seed=5)), store))["runs"]
    assert address(press_train(page(seed=5)))["runs"] == first
    assert address(press_train(page(seed=6)))["runs"] != first
    assert address(press_train(page()))["runs"] != address(press_train(page()))["runs"]


def test_the_inputs_show_the_ready_example(store, monkeypatch):
    example = {
        "data": "open",
        "methods": "refined,strong",
        "epsilon": 2.0,
        "epochs": 10.0,
        "topics": 2,
        "seed": 7,
    }
    monkeypatch.setattr(topics_view, "PAGE", dataclasses.replace(PAGE, example=example))
    at = page()
    checked(at.button(key="example").click().run())
    assert address(at)["methods"] == "refined,strong"
    assert at.multiselect[0].value == ["refined", "strong"]


def test_the_ready_example_is_one_click(store, monkeypatch):
    example = {"data": "open", "methods": "refined", "epochs": 10.0, "topics": 2, "seed": 7}
    monkeypatch.setattr(topics_view, "PAGE", dataclasses.replace(PAGE, example=example))
    at = page(example=1, epsilon=50, data="clinic")
    run = store.run(address(at)["runs"])
    assert (run.data, run.seed, run.request["epsilon"]) == ("open", 7, 1.0)
    assert "example" not in address(at)
    assert worked(at, store).table


def test_status_line(store):
    assert status(page()) == "Data open, 60 recordsPublic, needs no budgetNo run is training"
    at = page(data="clinic")
    assert "Private, ε = 1.00 of 1 left for one more full-batch run" in status(at)
    assert "Runs: 1 waiting" in status(checked(press_train(at).run()))


def test_changing_the_data_set_suggests_delta_anew(store):
    at = page(data="sotu")
    assert address(at)["delta"] == "1e-06"
    (box,) = [box for box in at.selectbox if box.key.startswith("one-of:data:")]
    checked(box.set_value("open").run())
    assert (address(at)["data"], address(at)["delta"]) == ("open", "0.001")


@pytest.mark.parametrize("name", ["topics", "risk", "images"])
def test_examples_are_requests_on_public_data(name):
    page = importlib.import_module(f"dashboard.views.{name}.definition").PAGE
    values = dict(page.example)
    assert values["data"] in SAMPLES
    assert values["seed"] >= 0  # so that it is instant the second time
    for method in values.pop("methods").split(","):
        assert method in page.labels
        spending = {} if method == "non-private" else {"epsilon": values.get("epsilon", 1.0)}
        plain = {key: value for key, value in values.items() if key not in ("epsilon", "noise")}
        Request.from_mapping({"model": page.task.name, "method": method, "delta": 1e-5, **plain, **spending})


def test_inputs_have_the_bounds_of_requests():
    inputs = {item.name: item for item in PAGE.parameters}
    for name, option in (SPENDING | dict(PAGE.task.options)).items():
        if option.kind is float and name != "epochs":
            assert (inputs[name].low, inputs[name].high) == (option.low, option.high)
    assert inputs["epochs"].parse("5e-324") > 0
    assert (inputs["topics"].low, inputs["topics"].high) == (2, 1000)
    with pytest.raises(ValueError, match="noise must be a number of at least 0.001"):
        inputs["noise"].parse("0")  # training without noise is a method of its own
    with pytest.raises(ValueError, match="epochs must be a number"):
        inputs["epochs"].parse("0")
    with pytest.raises(ValueError, match="seed must be a whole number"):
        inputs["seed"].parse(str(2**53))  # not exact in a browser


def test_a_cluster_is_offered_where_one_is_known(store, monkeypatch):
    assert not [toggle for toggle in page().toggle if toggle.key.startswith("own:engine")]
    monkeypatch.setenv("VIPS_CLUSTER", "tcp://127.0.0.1:8786")
    at = page()
    checked(widget(at.toggle, "own:engine").set_value(True).run())
    press_train(at)
    (run,) = store.runs()
    assert run.request["engine"] == "cluster"

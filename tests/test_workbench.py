"""What model pages share: inputs and address, submission, progress and refusals, without a browser."""

import dataclasses
import importlib
import re
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import library, pages, topics, training, workbench
from tests.pages import address, checked, opened
from vips_core import Corpus
from vips_core.runs import sources, supervisor, worker
from vips_core.runs.budget import Cap
from vips_core.runs.request import Request

WORDS = ("tax", "debt", "army", "navy", "<b>peace</b>", "treaty")


def documents(count, seed):
    rng = np.random.default_rng(seed)
    favour = rng.integers(0, 2, count)
    chances = np.where(
        favour[:, None] == 0, [0.4, 0.4, 0.05, 0.05, 0.05, 0.05], [0.05, 0.05, 0.3, 0.2, 0.2, 0.2]
    )
    return Corpus.from_counts(np.array([rng.multinomial(12, row) for row in chances]), WORDS)


@pytest.fixture
def store(home, monkeypatch):
    """A store with a public and a private corpus; runs wait until a test works on them."""
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(workbench, "_wait", lambda *rest: None)
    store = library.store()
    assert store.home == home
    train, test = documents(60, 0), documents(30, 1)
    store.add_data("open", train, test, private=False, unit="one document")
    store.add_data("clinic", documents(80, 2), test, private=True, cap=Cap(1.0, 1e-4), unit="one person")
    return store


def topics_page():
    from dashboard.views import topics

    topics.show()


def page(**address):
    at = AppTest.from_function(topics_page, default_timeout=60)
    return opened(at, **{"data": "open", "topics": 2, "epochs": 10} | address)


def errors(at):
    return [re.sub(r"\\(.)", r"\1", error.value) for error in at.error]


def said(at):
    return "\n".join(str(item.value) for item in [*at.markdown, *at.caption, *at.info, *at.warning])


def status(at):
    (line,) = [item.proto.body for item in at.get("html") if 'role="status"' in item.proto.body]
    return re.sub("<style>.*</style>|<[^>]+>", "", line, flags=re.S)


def train(at):
    return checked(at.button(key="train").click().run())


def worked(at, store):
    """Do the runs that wait, then draw the page again."""
    for run in store.runs(status="queued"):
        worker.work(store, run.id)
        assert store.run(run.id).status == "done", store.run(run.id).error
    return checked(at.run())


def test_train_submits_what_the_page_shows(store):
    at = train(page(methods="refined,non-private", epsilon=2, delta=1e-4))
    runs = [store.run(run_id) for run_id in address(at)["runs"].split(",")]
    shared = {"model": "lda", "data": "open", "delta": 1e-4, "epochs": 10.0, "accountant": "pld", "topics": 2}
    shared["words"] = 50
    assert runs[0].request == shared | {"method": "refined", "epsilon": 2.0}
    assert runs[1].request == shared | {"method": "non-private"}
    assert all(run.seed is None for run in runs)


def test_results_follow_and_another_browser_sees_them(store):
    at = worked(train(page()), store)
    (spent,) = [table.value for table in at.table]
    run_id = address(at)["runs"]
    found = library.finished(run_id)
    shown = dict(zip(spent[""], spent["Refined"], strict=True))
    assert shown["Run"] == run_id
    assert shown["ε (tight)"] == f"{found.fit.epsilon('pld'):.2f}"
    assert shown["Steps"] == str(found.fit.ledger.steps)
    assert found.result["epsilon"]["pld"] == pytest.approx(found.fit.epsilon("pld"))
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
    at = train(page(noise=3.0, batch=20, epochs=2, delta=1e-4))
    request = store.run(address(at)["runs"]).request
    assert (request["noise"], request["batch"], request["epochs"]) == (3.0, 20, 2.0)
    assert "epsilon" not in request


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"epsilon": "0"}, "epsilon must be from 0.01 to 100, got 0; 1 is used instead."),
        ({"seed": "x"}, "seed must be a whole number, got 'x'; it is left out."),
        ({"runs": "../etc"}, "runs cannot be '../etc'; it is left out."),
        ({"runs": "00000000"}, "there is no run '00000000'."),
        ({"data": "secret"}, "There is no data set 'secret' for this page; sotu is used."),
        ({"data": "mnist"}, "There is no data set 'mnist' for this page; sotu is used."),
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
    elsewhere = address(train(page(data="clinic")))["runs"]
    at = page(runs=elsewhere)
    assert "Nothing trained here yet" in [header.value for header in at.subheader]


def test_private_data_allow_no_run_without_noise_and_no_seed(store):
    at = page(data="clinic", methods="refined,non-private", seed=3)
    (methods,) = at.multiselect
    assert "Non-private" not in methods.options
    assert address(at)["methods"] == "refined"
    assert "seed" not in address(at)
    assert not [toggle for toggle in at.toggle if toggle.key == "own-seed"]
    run = store.run(address(train(at))["runs"])
    assert run.seed is None
    assert run.request["delta"] == 1e-4  # the budget's, so that their ε compare
    assert "ε = 0 left of 1, 1.00 reserved" in status(at)


def test_a_run_that_does_not_fit_is_refused_in_the_store_s_words(store):
    at = worked(train(page(data="clinic", epsilon=0.8)), store)
    spent = store.budget("clinic").spent_epsilon
    assert 0.7 < spent <= 0.8
    first = address(at)["runs"]
    at = train(at)
    (refusal,) = errors(at)
    with pytest.raises(ValueError, match="does not fit in the budget of clinic") as expected:
        store.submit(library.finished(first).request)
    assert refusal == str(expected.value)[:1].upper() + str(expected.value)[1:]
    assert address(at)["runs"] == first
    assert store.budget("clinic").spent_epsilon == spent


def test_a_second_click_on_the_same_button_does_not_spend_again(monkeypatch):
    submitted = []
    monkeypatch.setattr(workbench, "st", SimpleNamespace(session_state={}))
    monkeypatch.setattr(workbench.session, "put", lambda *rest: None)
    monkeypatch.setattr(training, "submit", submitted.append)
    for turn in (0, 0, 1):
        workbench._train(topics.BENCH, turn)
    assert len(submitted) == 2


def test_cancel(store):
    at = train(page(data="clinic"))
    run_id = address(at)["runs"]
    checked(at.button(key=f"cancel:{run_id}").click().run())
    assert store.run(run_id).status == "cancelled"
    assert "Refined was cancelled after 0 of 10 steps" in said(at)
    assert store.budget("clinic").left_epsilon == 1.0


def test_a_failed_run_says_why(store):
    at = train(page())
    run_id = address(at)["runs"]
    store.folder(run_id).mkdir(parents=True)
    (store.folder(run_id) / "ledger.json").mkdir()  # where a file should go
    worker.work(store, run_id)
    (error,) = errors(checked(at.run()))
    assert error.startswith("Refined failed: ")
    assert "Traceback" not in error


def test_progress_tells_steps_and_epsilon(store, monkeypatch):
    at = train(page())
    run = dataclasses.replace(
        store.run(address(at)["runs"]), status="running", step=4, epsilon=0.25, scores=[(2, 5.5), (4, 5.25)]
    )
    monkeypatch.setattr(library.store(), "run", lambda run_id: run)
    checked(at.run())
    (bar,) = at.get("progress")
    assert bar.proto.value == 40
    assert "step 4 of 10, ε = 0.250 so far, held-out perplexity (completion) 5.25" in bar.proto.text


def test_a_seeded_run_on_public_data_is_found_again(store):
    first = address(worked(train(page(seed=5)), store))["runs"]
    assert address(train(page(seed=5)))["runs"] == first
    assert address(train(page(seed=6)))["runs"] != first
    assert address(train(page()))["runs"] != address(train(page()))["runs"]


def test_the_ready_example_is_one_click(store, monkeypatch):
    example = {"data": "open", "methods": "refined", "epochs": 10.0, "topics": 2, "seed": 7}
    bench = dataclasses.replace(topics.BENCH, example=example)
    monkeypatch.setattr(topics, "BENCH", bench)
    at = page(example=1, epsilon=50, data="clinic")
    run = store.run(address(at)["runs"])
    assert (run.data, run.seed, run.request["epsilon"]) == ("open", 7, 1.0)
    assert "example" not in address(at)
    assert worked(at, store).table


def test_status_line(store):
    assert status(page()) == "Data open, 60 recordsPublic, needs no budgetNo run is training"
    at = page(data="clinic")
    assert "Private, ε = 1.00 left of 1" in status(at)
    assert "Runs: 1 waiting" in status(checked(train(at).run()))


def test_changing_the_data_set_suggests_delta_anew(store):
    at = page(data="sotu")
    assert address(at)["delta"] == "1e-06"
    (box,) = [box for box in at.selectbox if box.key.startswith("data:")]
    checked(box.set_value("open").run())
    assert (address(at)["data"], address(at)["delta"]) == ("open", "0.001")


@pytest.mark.parametrize(("records", "delta"), [(60, 1e-3), (1000, 1e-4), (18_963, 1e-6), (60_000, 1e-6)])
def test_suggested_delta(records, delta):
    assert training.suggested_delta(records) == delta
    assert delta <= 0.1 / records * (1 + 1e-9) < 10 * delta * (1 + 1e-6)


def values_of_two_pages():
    import streamlit as st

    from dashboard import session
    from dashboard.session import Number

    number = Number("x", "x", 1.0, 0, 10, "", ())
    seen = []
    for name in ("a", "b", "a"):
        session.enter(name)
        session.load([number])
        seen.append(session.get("x"))
        session.change("x", session.get("x") + 1)
    st.session_state["seen"] = seen


def test_pages_have_values_of_their_own():
    at = AppTest.from_function(values_of_two_pages).run()
    assert checked(at).session_state["seen"] == [1.0, 1.0, 2.0]
    at = AppTest.from_function(values_of_two_pages)
    at.query_params["x"] = "5"
    assert checked(at.run()).session_state["seen"] == [5.0, 5.0, 5.0]  # each link with values sets them anew


def test_every_page_is_there():
    for name in pages.TITLES:
        assert callable(importlib.import_module(f"dashboard.views.{name}").show)


def start_page():
    from dashboard.views import start

    start.show()


def test_start_page_has_one_picture_and_three_examples(monkeypatch):
    linked = []
    monkeypatch.setattr(
        "streamlit.page_link", lambda page, **rest: linked.append((page.url_path, rest.get("query_params")))
    )
    at = checked(AppTest.from_function(start_page, default_timeout=60).run())
    assert linked[:3] == [(name, {"example": "1"}) for name in ("topics", "risk", "images")]
    sentences = at.markdown[0].value
    assert sentences.count(". ") + sentences.endswith(".") == 3
    assert len(at.get("image")) == 1


@pytest.mark.parametrize("name", ["topics", "risk_words", "images"])
def test_examples_are_requests_on_public_data(name):
    bench = importlib.import_module(f"dashboard.{name}").BENCH
    values = dict(bench.example)
    assert values["data"] in sources.BUILT_IN
    assert values["seed"] >= 0  # so that it is instant the second time
    for method in values.pop("methods").split(","):
        assert method in bench.labels
        spending = {} if method == "non-private" else {"epsilon": values.get("epsilon", 1.0)}
        plain = {key: value for key, value in values.items() if key not in ("epsilon", "noise")}
        Request.from_mapping({"model": bench.model, "method": method, "delta": 1e-5, **plain, **spending})

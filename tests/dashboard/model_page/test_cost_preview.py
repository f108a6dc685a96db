"""What a run would cost: the core's numbers, live, and one question before a budget is spent."""

import dataclasses

import pytest

from dashboard import background
from dashboard.components import price
from dashboard.components.formats import at_most, number
from dashboard.model_page import choose, cost_preview
from dashboard.views.topics import page as topics_view
from dashboard.views.topics.definition import PAGE
from tests.dashboard.topics_page import documents, errors, page, said, store, worked
from tests.dashboard.topics_page import press_train as spend
from tests.pages import address, checked, metrics, settled, view
from vips_core import PrivacyPlan
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store.budget import Cap, forecast

__all__ = ["store"]  # a fixture
PLAN = PrivacyPlan(records=60, expected_batch=20, epochs=2, noise_multiplier=3.0, delta=1e-4)


def bar(at):
    """The budget bars' sentences."""
    return [item.proto.body for item in at.get("html") if "vips-budget" in item.proto.body]


def test_noise_has_a_price_before_training(store):
    at = settled(page(noise=3.0, batch=20, epochs=2, delta=1e-4))
    shown, risk = metrics(at), PLAN.risk()
    assert shown["ε by moments"] == at_most(PLAN.epsilon("moments"))
    assert shown["ε by strong composition"] == at_most(PLAN.epsilon("strong"))
    assert shown["ε by PLD"] == at_most(PLAN.epsilon("pld"))
    assert risk.sentence("one document") in said(at)
    assert "This protects one document" in said(at)
    assert not store.runs()


def test_a_target_has_a_noise_before_training(store):
    at = settled(page(epsilon=2, epochs=2, batch=20, delta=1e-4))
    plan = PLAN.calibrate(2.0)
    assert (
        f"Would cost **ε = {at_most(plan.epsilon('pld'))}** with noise σ = {number(plan.noise_multiplier)}"
        in said(at)
    )
    (box,) = [box for box in at.number_input if box.key.startswith("number:epsilon:")]
    at = settled(checked(box.set_value(1.0).run()))
    assert f"with noise σ = {number(PLAN.calibrate(1.0).noise_multiplier)}" in said(at)


def test_the_price_is_that_of_the_run_that_is_trained(store):
    at = settled(page(methods="refined,paper,strong", epsilon=2, epochs=4))
    (table,) = [item.value for item in at.table if "Noise σ" in item.value]
    at = spend(at)
    for run_id, noise in zip(address(at)["runs"].split(","), table["Noise σ"], strict=True):
        assert number(store.run(run_id).plan.noise_multiplier) == noise


def test_the_ready_example_is_priced_before_it_is_asked_for(store, monkeypatch):
    example = {"data": "open", "methods": "refined,non-private", "epochs": 4.0, "topics": 2, "seed": 7}
    monkeypatch.setattr(topics_view, "PAGE", dataclasses.replace(PAGE, example=example))
    foreseen = []
    monkeypatch.setattr(cost_preview, "compute_ahead", lambda *call: foreseen.append(call))
    at = settled(page())
    assert foreseen
    assert background._background.result(*foreseen[-1]) is None
    settled(checked(at.button(key="example").click().run()))
    assert background._background.result(*foreseen[-1]) is not None  # the click asked for the same call
    foreseen.clear()
    settled(page(data="clinic"))
    assert not foreseen  # its records are not loaded for that


def test_noise_with_strong_composition_has_both_prices(store):
    """The same noise trains the same model; only the charged ε differs."""
    at = settled(page(methods="strong", noise=3.0, batch=20, epochs=2, delta=1e-4))
    assert not errors(at)
    strong, tight = (at_most(PLAN.epsilon(name)) for name in ("strong", "pld"))
    assert metrics(at)["ε by strong composition"] == strong != tight
    assert metrics(at)["ε by PLD"] == tight
    assert f"Strong composition charges ε = {strong}, PLD {tight}" in said(at)
    at = worked(spend(at), store)
    (run,) = store.runs()
    assert run.plan == PLAN
    (table,) = [item.value for item in at.table if "Spent ε, tight" in item.value.to_numpy()]
    spent = dict(table.to_numpy())
    assert (spent["Spent ε, strong composition"], spent["Spent ε, tight"]) == (strong, tight)
    assert "the extra noise was unnecessary" not in said(at)  # the visitor gave the noise
    assert "only the accounting differs" in said(at)


def test_strong_composition_with_a_target_says_nothing_of_given_noise(store):
    at = worked(spend(settled(page(methods="strong", epsilon=2, epochs=2))), store)
    assert "the extra noise was unnecessary" in said(at)
    assert "only the accounting differs" not in said(at)


def test_values_that_do_not_agree_are_told_before_training(store):
    assert "Epochs must be at most 10,000,000 steps" in said(page(batch=1, epochs=10_000, data="sotu"))
    assert "Training without noise protects nobody" in said(page(methods="non-private"))


def test_private_data_are_asked_for_once_with_a_bar_of_before_and_after(store):
    at = settled(page(data="clinic", epsilon=0.5))
    assert said(at).count("Fits in the budget.") == 2  # beside the inputs, and on the page
    checked(at.button(key="ask").click().run())
    assert not store.runs()
    assert "Spend budget of clinic?" in said(at)
    (told,) = [text for text in said(at).splitlines() if "of the budget: 0% is used now" in text]
    assert at.button(key="ask").disabled  # where a second click would fall
    checked(at.button(key="not-now").click().run())
    assert not store.runs()
    checked(at.button(key="ask").click().run())
    at = worked(checked(at.button(key="train").click().run()), store)
    (run,) = store.runs()
    after = forecast(store.ledger("clinic"), []).before
    assert f"{after:.0%} afterwards" in told
    assert run.status == "done"
    assert f"spent {after:.0%}" in bar(at)[0]
    assert not [button for button in at.button if button.key == "train"]  # the next one asks again


def test_a_run_that_does_not_fit_is_told_before_it_is_refused(store):
    at = settled(page(data="clinic", epsilon=50))
    assert "Does not fit in the budget" in said(at)
    at = spend(at)
    assert "does not fit in the budget of clinic" in errors(at)[0]
    assert not store.runs()


def test_a_click_before_the_price_is_known_is_answered(store, monkeypatch):
    known = choose.make_quote
    monkeypatch.setattr(choose, "make_quote", lambda *_: None)
    at = page(data="clinic", epsilon=50)
    checked(at.button(key="ask").click().run())
    assert at.button(key="train").disabled
    assert "Cost: computing…" in said(at)
    monkeypatch.setattr(choose, "make_quote", known)
    at = settled(checked(at.run()))
    (refusal,) = errors(at)
    assert refusal.startswith("This run does not fit in the budget of clinic: 0% is spent or reserved")
    assert "and the total would be" in refusal
    assert not store.runs()
    (box,) = [box for box in at.number_input if box.key.startswith("number:epsilon:")]
    at = settled(checked(box.set_value(0.5).run()))
    assert not errors(at)
    assert "Spend budget" not in said(at)  # it asks only after another click


def test_the_forecast_decides_as_the_queue_does(store):
    store.add_data("small", documents(50, 3), private=True, cap=Cap(1.0, 1e-3), unit="one person")
    table = {"model": "lda", "data": "small", "topics": 2, "batch": 20, "epochs": 4, "delta": 1e-3}
    for epsilon in (0.6, 0.6, 0.2, 0.3):
        request = Request.from_mapping(table | {"epsilon": epsilon})
        plan = PrivacyPlan(records=50, expected_batch=20, steps=10, delta=1e-3).calibrate(epsilon)
        fits = forecast(store.ledger("small"), [plan.events()]).fits
        if fits:
            submit(store, request)
        else:
            with pytest.raises(ValueError, match="does not fit"):
                submit(store, request)
    assert 0 < len(store.runs()) < 4


def test_a_plan_for_other_records_keeps_its_sampling_rate_and_says_so(store):
    at = settled(page(noise=3.0, batch=20_000, epochs=2, delta=1e-4, n=400_000))
    assert address(at)["batch"] == "3"  # 5 % of 60
    assert "n" not in address(at)
    assert not errors(at)
    (note,) = at.info
    assert "The plan was for 400,000 records, and open has 60" in note.value.replace("\\", "")


def test_to_plan_and_back_without_losing_a_value(store):
    at = settled(page(noise=3.0, batch=20, epochs=2, delta=1e-4))
    (link,) = [link.proto for link in at.get("page_link") if link.proto.page == "plan"]
    values = dict(pair.split("=") for pair in link.query_string.split("&"))
    there = settled(view("plan", **values))
    assert metrics(at)["ε by moments"] in metrics(there).values()
    (back,) = [link.proto for link in there.get("page_link") if link.proto.page == "topics"]
    values = dict(pair.split("=") for pair in back.query_string.split("&"))
    again = settled(page(**values))
    assert metrics(again) == metrics(at)
    for name in ("noise", "batch", "epochs", "delta"):
        assert float(address(again)[name]) == float(address(at)[name])
    assert not again.info


def test_few_steps_are_explained():
    few = price.price(PLAN.replace(expected_batch=60, steps=1))
    assert few.epsilon("moments") > few.epsilon("strong")
    assert price.FEW_STEPS in price.compared(few)
    many = price.price(PLAN.replace(steps=500))
    assert "times the ε of moments" in price.compared(many)
    assert few.tightest == "pld"

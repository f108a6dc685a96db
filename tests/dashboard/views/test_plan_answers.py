"""The Plan page: answers for people who do not think in σ, and its sentences about extreme plans."""

import json
import math
import shlex

import numpy as np
import pytest

import sample_data
from dashboard import state
from dashboard.components import formats
from dashboard.components.formats import at_most
from dashboard.components.price import price
from dashboard.views.plan import cards, data, usefulness
from dashboard.views.plan.form import PlanInputs
from sample_data import lessons
from tests.dashboard.plan_page import PLAN, command, page, texts
from tests.pages import address, checked, metrics, settled, widget
from vips_core import PrivacyPlan, RiskLimit
from vips_core.cli import main


@pytest.mark.parametrize(
    ("by", "values", "limit", "options"),
    [
        (
            "found",
            {"found": 0.05, "alarms": 0.01},
            {"true_positive_rate": 0.05},
            "--target-tpr 0.05 --at-fpr 0.01",
        ),
        ("advantage", {"advantage": 0.2}, {"advantage": 0.2}, "--target-advantage 0.2"),
        ("belief", {"belief": 0.7}, {"posterior": 0.7}, "--target-posterior 0.7 --at-fpr 0.01 --prior 0.5"),
    ],
)
def test_solves_for_the_noise_of_an_attack_risk(by, values, limit, options):
    at = settled(page(solve="sigma", by=by, **values))
    plan = PLAN.calibrate_to_risk(RiskLimit(**limit))
    assert f"Noise **σ = {formats.number(plan.noise_multiplier)}** meets the limit on attacks" in texts(at)
    assert metrics(at)["ε by moments"] == at_most(plan.epsilon("moments"))
    assert options in command(at)
    assert address(at)["by"] == by


def test_a_risk_that_guessing_has_is_refused():
    at = settled(page(solve="sigma", by="found", found=0.01, alarms=0.05))
    assert "must be a number above 0.05" in at.error[0].value.replace("\\", "")


def test_words_for_a_board_have_the_core_s_numbers():
    at = settled(page())
    (words,) = [code.value for code in at.code if code.value.startswith("The model will be trained")]
    assert f"ε = {at_most(PLAN.epsilon('pld'))} and δ = 1e-7" in words
    most = math.ceil(1000 * float(PLAN.risk().true_positive_rate(0.01))) / 10
    assert f"finds at most {most:g};" in words


@pytest.mark.parametrize("use", ["risk", "topics", "images"])
def test_usefulness_is_that_of_the_shipped_runs(use):
    at = settled(page(use=use, solve="sigma", target=1.0))
    of = usefulness.SAMPLES[use]
    middle, low, high = usefulness.expected(use, 1.0)
    assert (middle, low, high) == (np.median(of.scores[2]), of.scores[2].min(), of.scores[2].max())
    assert f"of **{formats.number(middle)}**" in texts(at)
    assert of.score.explained() in texts(at)
    assert "you have 400,000 " in texts(at)
    assert "expect to come closer to training without privacy" in texts(at)


@pytest.mark.parametrize(
    ("use", "data", "columns"),
    [("risk", "nhanes-stroke", 44), ("topics", "sotu", 6_000), ("images", "mnist", 784)],
)
def test_what_the_plan_is_compared_with_is_what_was_trained_on(use, data, columns):
    records, of = sample_data.load(data), usefulness.SAMPLES[use]
    widths = {"risk": lambda: len(records.feature_names) - 1, "topics": lambda: len(records.vocabulary)}
    assert of.width == columns == widths.get(use, lambda: np.prod(records.shape))()  # no intercept
    trained = {"risk": lambda: len(records.split(test_share=0.2, seed=0)[0])}
    held_out = {"topics": lessons.HELD_OUT_DOCUMENTS, "images": len(records) - lessons.TRAIN_IMAGES}
    assert of.records == trained.get(use, lambda: len(records) - held_out[use])()


@pytest.mark.parametrize(
    ("people", "predictors", "said"),
    [
        (3_000, None, "you have 3,000 people: **about the same"),
        (300, None, "you have 300 people: **expect a worse score"),
        (3_000, 500, "you have 3,000 people and 500 predictors: **expect a worse score"),
        (3_000, 3, "you have 3,000 people and 3 predictors: **expect to come closer"),
        (
            50_000,
            500,
            "you have 50,000 people and 500 predictors: **one difference helps and the other hurts",
        ),
    ],
)
def test_plan_says_how_far_people_and_predictors_are_from_the_sample(people, predictors, said):
    at = settled(page(n=people, s=people, delta=1e-6, **{"predictors": predictors} if predictors else {}))
    assert f"The sample has 4,204 people and 44 predictors; {said}" in texts(at)
    assert address(at).get("predictors") == (str(predictors) if predictors else None)


def test_predictors_are_typed_on_the_plan_and_can_be_taken_back():
    at = settled(page(n=3_000, s=3_000))
    settled(checked(widget(at.toggle, "own:predictors").set_value(True).run()))
    settled(checked(widget(at.number_input, "number:predictors").set_value(500).run()))
    assert address(at)["predictors"] == "500"
    assert "3,000 people and 500 predictors" in texts(at)
    settled(checked(widget(at.toggle, "own:predictors").set_value(False).run()))
    assert "predictors" not in address(at)


def test_impossible_plans_give_a_sentence():
    at = page(s=1, epochs=10_000)
    assert "choose a larger batch or fewer epochs" in at.error[0].value
    assert not at.metric
    at = page(solve="epochs", target=0.001)
    assert "Not even one step fits" in at.error[0].value
    at = page(solve="sigma", accountant="gaussian")
    assert "full batches" in at.error[0].value


def test_unsafe_delta_is_warned_of():
    assert "not below 1/N" in page(delta=1e-4).warning[0].value
    assert not page(delta=1e-7).warning


def test_tables_behind_charts_open():
    at = settled(page())
    for name in ("attacker", "surface", "iterations", "usefulness", "epochs"):
        at.session_state[f"table:{name}"] = True
    settled(checked(at.run()))
    attacker, cells, iterations, scores, epochs = (frame.value for frame in at.dataframe)
    surface = data.surface(400_000, 1.0, 1e-7, data.USUAL_NOISE)
    assert len(cells) == surface.batches.size * surface.noise.size > 1000
    assert len(attacker) > 100
    assert set(iterations["Accountant"]) == {"Moments", "Strong composition", "PLD"}
    assert scores["ε"].tolist() == list(lessons.EPSILONS[:-1])
    assert epochs["Epochs"].tolist() == sorted(epochs["Epochs"])


@pytest.mark.parametrize(
    "query", [{"sigma": 0.001}, {"sigma": 0.3}, {"sigma": 1e7, "n": 10, "s": 1}, {"s": 400_000}]
)
def test_extreme_plans_draw(query):
    at = settled(page(**query))
    assert len(at.get("plotly_chart")) == 5


def test_page_solves_for_the_batch_and_says_what_is_held_fixed():
    at = settled(page(solve="s", target=2, s=77, sigma=1.5, accountant="moments"))
    plan = data.make_plan(PlanInputs(400_000, 77, 1.5, 1.0, 1e-7, "s", 2.0, "moments"))
    assert plan.epsilon("moments") <= 2.0
    assert f"S = {plan.expected_batch:,}" in texts(at)
    assert "at this noise and these epochs" in texts(at)
    assert f"--batch {plan.expected_batch} " in command(at)
    assert metrics(at)["ε by moments"] == f"{plan.epsilon('moments'):.2f}"
    assert not [box for box in at.number_input if box.key.startswith("number:s:")]


def test_a_click_on_the_surface_takes_what_is_not_solved_for(monkeypatch):
    taken, drawn = [], {}
    monkeypatch.setattr(state, "change", lambda name, value: taken.append((name, value)))
    monkeypatch.setattr(cards, "table_twin", lambda *rest: None)
    monkeypatch.setattr(cards, "clickable", lambda *rest: drawn.update(take=rest[-1]))
    surface = data.surface(400_000, 1.0, 1e-7, data.USUAL_NOISE)
    values = {("sigma", 2.2), ("s", 1500)}
    for solve, expected in (("epsilon", values), ("s", {("sigma", 2.2)}), ("sigma", {("s", 1500)})):
        cards.show_surface(surface, price(PLAN), solve)
        taken.clear()
        drawn["take"]([{"x": 2.2, "y": 1500.0}])
        assert set(taken) == expected
        taken.clear()
        drawn["take"]([])
        assert not taken


def test_the_plan_goes_on_to_every_model_page():
    at = settled(page(sigma=2.5, s=777, epochs=3.5, delta=2e-6))
    links = {link.proto.page: link.proto.query_string for link in at.get("page_link")}
    for name in ("topics", "risk", "images"):
        assert links[name] == "noise=2.5&n=400000&batch=777&epochs=3.5&delta=2e-06"


def test_an_order_at_the_edge_of_the_grid_is_warned_of():
    at = page(sigma=100, s=10, epochs=0.1)
    assert any("the largest one tried" in warning.value for warning in at.warning)
    assert "Fixed-size batches, or a seed that others know, void it" in texts(at)


def test_four_questions_end_in_a_filled_plan_that_the_command_makes_too(capsys):
    at = checked(page().button(key="guide").click().run())
    checked(widget(at.number_input, "number:n").set_value(5_000).run())
    for _ in range(2):
        checked(at.button(key="guide-on").click().run())
    checked(widget(at.toggle, "own:predictors").set_value(True).run())
    checked(widget(at.number_input, "number:predictors").set_value(12).run())
    checked(at.button(key="guide-on").click().run())
    assert address(at)["guide"] == "4"
    again = page(**address(at))
    assert [header.value for header in again.header] == ["4 of 4: How long may training take?"]
    at = settled(checked(again.button(key="guide-on").click().run()))
    plan = PrivacyPlan(records=5_000, expected_batch=5_000, epochs=20, delta=1e-5).calibrate_to_risk(
        RiskLimit(true_positive_rate=0.05)
    )
    assert metrics(at)["ε by PLD, the tightest accountant"] == at_most(plan.epsilon("pld"))
    assert "finds at most 5;" in texts(at)
    assert "you have 5,000 people and 12 predictors" in texts(at)
    assert "guide" not in address(at)
    assert main([*shlex.split(command(at).replace("\\\n", ""))[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"]["pld"] == pytest.approx(plan.epsilon("pld"))


def test_the_guide_goes_back_and_can_be_left():
    at = checked(page(guide=3).button(key="guide-back").click().run())
    assert address(at)["guide"] == "2"
    at = settled(checked(at.button(key="guide-leave").click().run()))
    assert "guide" not in address(at)
    assert metrics(at)["ε by moments"] == at_most(PLAN.epsilon("moments"))

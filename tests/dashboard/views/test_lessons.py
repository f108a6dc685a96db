"""The lessons: every number on them against the core."""

import ast
import html
import itertools
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import dashboard
from dashboard.background import Later
from dashboard.components.formats import at_most
from dashboard.state import Number
from dashboard.views.learn import handout, lessons
from dashboard.views.learn.lessons import (
    attack,
    base,
    composition,
    gaussian_noise,
    promise,
    subsampling,
)
from tests.dashboard.lessons import at_once, outcome, single_step
from vips_core import PrivacyPlan

HOME = Path(dashboard.__file__).parent


def right_answer(lesson):
    asked = lessons.LESSONS[lesson].question(lessons.LESSONS[lesson].defaults)
    return asked.answers[asked.right].text


@pytest.mark.parametrize("lesson", lessons.LESSONS)
def test_names_in_the_address_belong_to_one_lesson(lesson):
    for parameter in lessons.LESSONS[lesson].state:
        assert parameter.name.startswith(f"{lesson}_")


@pytest.mark.parametrize("lesson", lessons.LESSONS)
def test_every_corner_of_a_lesson_has_numbers_and_a_chart(lesson):
    """Values come from the address too, so all ends of ranges can occur together."""
    parameters = lessons.LESSONS[lesson].parameters
    ends = [(p.low, p.high) if isinstance(p, Number) else tuple(p.options) for p in parameters]
    for corner in itertools.product(*ends):
        shown = outcome(lesson, **{p.name: end for p, end in zip(parameters, corner, strict=True)})
        said = " ".join([*(value for _, value in shown.numbers), shown.explanation])
        assert not re.search(r"\bnan\b|\bNone\b", said), corner
        layouts = [shown.figure["layout"], *(frame.get("layout", {}) for frame in shown.figure["frames"])]
        for name, part in itertools.chain(*(layout.items() for layout in layouts)):
            if "axis" in name and "range" in part:
                assert np.isfinite(part["range"]).all(), (corner, name)
                assert part["range"][0] != part["range"][1], (corner, name)


def test_nothing_spent_is_said_and_drawn_at_the_foot():
    """With this much noise and batches this small, δ alone covers what is revealed: ε is 0."""
    shown = outcome("composition", composition_noise=100.0, composition_q=1e-4, composition_steps=2)
    assert {dict(shown.numbers)[name] for name in ("ε, Basic composition", "ε, PLD")} == {"0"}
    assert "the tightest ε is **0**, as is the sum: δ = 1e-5 alone covers everything" in shown.explanation
    assert shown.explanation.endswith("Here moments exceed basic composition up to the last step.")
    shown = outcome("subsampling", subsampling_noise=100.0, subsampling_q=1e-3, subsampling_steps=1)
    assert dict(shown.numbers)["ε at this q"] == "0"
    (here, *_) = [trace for trace in shown.figure["data"] if trace["name"] == "Here"]
    low, high = shown.figure["layout"]["yaxis"]["range"]
    assert low < math.log10(here["y"][0]) < high


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.2, 1e-3), (4.0, 1e-7)])
def test_promise_matches_the_core(epsilon, delta):
    risk = single_step(None, delta).calibrate(epsilon, "gaussian").risk()
    rates = np.array([0.001, 0.01, 0.05, 0.3, 0.7])
    best = risk.true_positive_rate(rates)
    np.testing.assert_allclose(promise.most_found_gaussian(rates, epsilon, delta), best, atol=2e-4)
    assert (promise.most_found(rates, epsilon, delta) >= best - 1e-9).all()
    shown = dict(outcome("promise", promise_eps=epsilon, promise_delta=delta, promise_prior=0.3).numbers)
    assert shown["Advantage, Gaussian noise"] == f"{risk.advantage:.1%}"
    curve = promise.most_found(np.linspace(0, 1, 100_001), epsilon, delta) - np.linspace(0, 1, 100_001)
    assert promise.advantage(epsilon, delta) == pytest.approx(curve.max(), abs=1e-4)
    assert promise.belief(0.3, epsilon, delta) >= risk.posterior(0.3) - 1e-9


def test_promise_is_bayes_rule_when_delta_is_small():
    assert promise.belief(0.5, 1.0, 1e-12) == pytest.approx(math.e / (1 + math.e))
    assert right_answer("promise") == f"About {math.e / (1 + math.e):.0%}"


def test_promise_counts_delta_in_the_odds():
    shown = outcome("promise", promise_delta=0.1)
    assert (
        dict(shown.numbers)["Factor on the odds, at most"] == f"×{at_most(math.e + 0.1 / 0.01)}"
    )  # and not e^ε
    assert dict(shown.numbers)["Posterior belief, at most"] == f"{12.718 / 13.718:.1%}"
    assert "With δ = 0, odds would grow by at most e^ε = 2.72" in shown.explanation
    assert promise.odds_factor(10.0, 1e-5) == pytest.approx(100, rel=1e-3)  # everyone is found


def test_gaussian_noise_matches_the_core():
    shown = dict(outcome("noise", noise_sens=2.0, noise_std=5.0, noise_delta=1e-6).numbers)
    plan = single_step(2.5, 1e-6)
    epsilon = plan.epsilon("gaussian")
    assert shown["ε, exact"] == at_most(epsilon)
    assert shown["Noise multiplier σ/Δ"] == "2.50"
    assert shown["ε, classical rule"] == at_most(math.sqrt(2 * math.log(1.25e6)) / 2.5)
    mu = 0.4
    assert shown["Probability that L > ε"] == f"{norm.sf(epsilon, mu**2 / 2, mu):.2g}"
    same_ratio = outcome("noise", noise_sens=0.2, noise_std=0.5, noise_delta=1e-6)
    assert dict(same_ratio.numbers) == shown


@pytest.mark.parametrize(("noise", "delta"), [(4.0, 1e-5), (0.5, 1e-3), (20.0, 1e-9)])
def test_delta_counts_a_share_of_the_losses_above_epsilon(noise, delta):
    epsilon, mu = single_step(noise, delta).epsilon("gaussian"), 1 / noise
    losses = norm(mu**2 / 2, mu)
    counted, _ = quad(
        lambda loss: gaussian_noise.counted_in_delta(loss, epsilon) * losses.pdf(loss),
        epsilon,
        epsilon + 12 * mu,
        epsabs=1e-14,
    )
    assert counted == pytest.approx(delta, rel=1e-3)
    assert losses.sf(epsilon) > delta


def test_the_tail_of_the_loss_is_on_a_logarithmic_axis_and_inside_it():
    layout = outcome("noise").figure["layout"]
    assert layout["yaxis2"]["type"] == "log"
    tail = next(trace for trace in outcome("noise").figure["data"] if trace["name"] == "Above ε")
    low, high = layout["yaxis2"]["range"]
    assert low < math.log10(tail["y"][0]) < high


def test_privacy_loss_is_the_log_ratio_of_the_two_densities():
    table = outcome("noise").table()
    loss = np.log(table["With you"] / table["Without you"])
    o, sensitivity, std = table["Released value"], 1.0, 4.0
    np.testing.assert_allclose(loss, (o - sensitivity / 2) * sensitivity / std**2, atol=1e-9)


def test_composition_matches_the_core():
    plan = PrivacyPlan(records=10**6, expected_batch=20_000, steps=50, noise_multiplier=1.5, delta=1e-5)
    shown = outcome("composition", composition_noise=1.5, composition_q=0.02, composition_steps=50)
    for name, (label, value) in zip(composition.STYLES, shown.numbers, strict=True):
        assert value == at_most(plan.epsilon(name)), label
    table = shown.table()
    row = table[(table["Accountant"] == "Moments") & (table["Steps"] == 1)].iloc[0]
    assert row["ε"] == plan.replace(steps=1).epsilon("moments")


def test_composition_s_answer_is_true_of_its_defaults():
    assert composition.LESSON.defaults["composition_q"] == 1
    basic, *_, pld = [float(value) for _, value in outcome("composition").numbers]
    assert right_answer("composition") == "About a thirtieth, 1/√1,000"
    assert 1 / 40 < pld / basic < 1 / 30


@pytest.mark.parametrize(("noise", "rate"), [(50.0, 1.0), (1.0, 1.0), (1.0, 0.01)])
def test_composition_says_where_moments_lie_above_basic(noise, rate):
    plan = base.sampled_plan(noise, rate, 1000, composition.DELTA)
    above = [
        steps
        for steps in range(1, 40)
        if plan.replace(steps=steps).epsilon("moments") > plan.replace(steps=steps).epsilon("basic")
    ]
    said = outcome("composition", composition_noise=noise, composition_q=rate).explanation
    (last,) = re.findall(r"exceed basic composition up to T = (\d+)", said)
    assert int(last) in above
    assert max(above) < 1.6 * int(last) + 1  # the curve's next point is below
    one_step = plan.replace(steps=1)
    for name in ("moments", "basic"):
        assert f"{name} {'give ' if name == 'moments' else ''}{at_most(one_step.epsilon(name))}" in said


def test_subsampling_matches_the_core():
    plan = PrivacyPlan(records=10**6, expected_batch=100_000, steps=10, noise_multiplier=2.0, delta=1e-4)
    shown = dict(
        outcome("subsampling", subsampling_q=0.1, subsampling_noise=2.0, subsampling_steps=10).numbers
    )
    assert shown["ε at this q"] == at_most(plan.epsilon("pld"))
    assert shown["ε of full batches"] == at_most(plan.replace(expected_batch=10**6).epsilon("pld"))
    assert shown["Efficiency at this q"] == f"{plan.efficiency:.0%}"


def test_full_batches_are_never_less_efficient():
    at_rates = subsampling.sampled((0.001, 0.01, 0.1, 0.5, 1.0), 1.24, 20)["Efficiency"].to_numpy()
    assert (at_rates <= 1).all()
    assert at_rates[-1] == 1
    assert at_rates[:-1].max() < 0.95


@pytest.mark.parametrize("lesson", lessons.LESSONS)
def test_hand_outs_are_two_pages_that_need_nothing_else(lesson, monkeypatch):
    monkeypatch.setattr(handout, "plotly_script", lambda: "PLOTLY")
    taught, shown = lessons.LESSONS[lesson], outcome(lesson)
    link, asked = f"http://127.0.0.1:8501/learn?lesson={lesson}&x=1", taught.question(taught.defaults)
    exercise, solution = (
        handout.page(taught, taught.defaults, part, link, at_once).decode() for part in handout.PARTS
    )
    for text in (exercise, solution):
        assert re.findall(r'(?:src|href)="([^"]*)"', text) == [link.replace("&", "&amp;")]
        assert "PLOTLY" in text
        for formula in taught.formulas:
            assert formula.html in text
        assert asked.text in html.unescape(text)
    for answer in asked.answers:
        assert answer.text in html.unescape(exercise)
        assert not answer.mistake or answer.mistake not in html.unescape(exercise)
        assert answer.mistake in html.unescape(solution)
    assert taught.exercise in html.unescape(exercise)
    assert taught.solution not in html.unescape(exercise)
    assert taught.solution in html.unescape(solution)
    for _, value in shown.numbers:
        assert f"<td>{value}</td>" in solution


@pytest.mark.parametrize("lesson", lessons.LESSONS)
def test_a_lesson_has_all_that_a_course_needs(lesson):
    taught = lessons.LESSONS[lesson]
    assert 5 <= taught.minutes <= 20
    assert all((taught.objective, taught.notes, taught.exercise, taught.solution, taught.formulas))
    asked = taught.question(taught.defaults)
    assert [bool(answer.mistake) for answer in asked.answers].count(False) == 1
    shown = outcome(lesson).figure
    assert len(shown["frames"]) > 1
    assert [b["label"][2:].strip() for b in shown["layout"]["updatemenus"][0]["buttons"]] == ["Play", "Pause"]


@pytest.mark.parametrize(
    "path", sorted((HOME / "views" / "learn" / "lessons").glob("*.py")), ids=lambda path: path.name
)
def test_lessons_are_small_and_stay_outside_the_wall(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            assert called not in {"e_step", "release", "Released", "record"}
        if isinstance(node, ast.ImportFrom):
            assert node.module != "vips_core.privacy.wall"


def test_no_lesson_imports_another():
    modules = {Path(sys.modules[lesson.look.__module__].__file__) for lesson in lessons.LESSONS.values()}
    assert len(modules) == len(lessons.LESSONS)
    names = {path.stem for path in modules}
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and "lessons" in (node.module or ""):
                imported = {(node.module or "").split(".")[-1], *(alias.name for alias in node.names)}
                assert not imported & names, path.name


def test_slow_calls_of_a_lesson_run_in_the_background():
    slow = []

    class Asked(Later):
        def __call__(self, function, *args):
            slow.append(function)

    for lesson in lessons.LESSONS.values():
        lesson.look(lesson.defaults, True, Asked())
    assert {composition.curve, subsampling.sampled, attack.last_bits, attack.shown_at_the_wall} == set(slow)

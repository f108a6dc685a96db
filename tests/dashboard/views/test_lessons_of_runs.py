"""Lessons that train or attack: one step, many runs, two attacks."""

import math
import re

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

import sample_data
from dashboard.components.formats import at_most, number
from dashboard.views.learn.lessons import (
    attack,
    one_step,
    outcomes,
    polya_gamma,
)
from sample_data import lessons as results_file
from tests.dashboard.lessons import outcome, single_step
from vips_core import BayesianLogistic, PrivacyPlan, auc, fit


def test_one_step_shows_real_sums_and_the_ledger_s_epsilon():
    rows, _ = sample_data.load("nhanes-stroke").split(test_share=0.2, seed=0)
    x = rows.x[:, [rows.feature_names.index(name) for name in one_step.FEATURES]]
    exact, noisy = one_step.step(None, 1), one_step.step(0.5, 1)
    np.testing.assert_allclose(exact.linear, x.T @ (rows.y - 0.5))
    assert np.linalg.norm(x, axis=1).max() <= one_step.NORM_BOUND
    assert math.isinf(exact.epsilon)
    plan = single_step(None, one_step.DELTA).calibrate(0.5)
    assert noisy.epsilon == pytest.approx(0.5)
    share = math.sqrt(0.5)
    assert noisy.noise_std["linear"] == pytest.approx(plan.noise_multiplier * math.sqrt(8) / 2 / share)
    assert noisy.noise_std["curvature"] == pytest.approx(plan.noise_multiplier * 8 / 4 / share)
    missed = [not low <= w <= high for w, (low, high) in zip(exact.weights, noisy.intervals, strict=True)]
    assert f"**{sum(missed)} of 8** intervals miss" in outcome("wall", wall_eps=0.5).explanation
    shown = dict(outcome("wall", wall_eps=0.5).numbers)
    assert shown["Noise on Σ(y − ½)x, std"] == number(noisy.noise_std["linear"])
    draws = [
        (one_step.step(0.5, seed).linear - exact.linear) / noisy.noise_std["linear"] for seed in range(60)
    ]
    assert np.std(draws) == pytest.approx(1, abs=0.1)
    assert np.mean(draws) == pytest.approx(0, abs=0.15)


@pytest.mark.parametrize("stage", one_step.STAGES)
def test_stages_show_what_their_names_say(stage):
    figure = outcome("wall", wall_stage=stage).figure
    exact, noisy = one_step.step(None, 1), one_step.step(1.0, 1)
    bars, matrix, weights, _ = figure["data"]
    expected = {"wall": exact.linear, "noise": noisy.linear - exact.linear}.get(stage, noisy.linear)
    np.testing.assert_array_equal(bars["x"], expected)
    assert (len(weights["x"]) > 0) == (stage == "parameters")
    headlines = [frame["name"] for frame in figure["frames"]]
    assert [re.findall(r"\d", headline)[0] for headline in headlines] == ["1", "2", "3", "4"]
    place = list(one_step.STAGES).index(stage)
    assert figure["layout"]["annotations"][-1]["text"] == headlines[place]


def test_polya_gamma_matches_its_formula_and_its_bounds_hold():
    psi = np.linspace(-12, 12, 2001)
    for c in (0.0, 0.5, 2.0, 7.0):
        for bound in (polya_gamma.tangent_bound, polya_gamma.quarter_bound):
            assert (bound(psi, c) <= expit(psi) + 1e-12).all()
            assert bound(c, c) == pytest.approx(expit(c))
        assert polya_gamma.tangent_bound(-c, c) == pytest.approx(expit(-c))
    shown = dict(outcome("polya", polya_c=3.0, polya_psi=-2.0).numbers)
    assert shown["⟨ξ⟩ at c"] == f"{math.tanh(1.5) / 6:.4f}"
    assert shown["Share of the bound ¼"] == f"{4 * math.tanh(1.5) / 6:.0%}"
    gap = expit(-2.0) - polya_gamma.tangent_bound(-2.0, 3.0)
    assert shown["Gap at ψ, with ⟨ξ⟩"] == f"{gap:.3f}"
    assert dict(outcome("polya", polya_c=0.0).numbers)["⟨ξ⟩ at c"] == "0.2500"
    x = np.array([0.6, 0.8])
    assert np.linalg.norm(0.25 * np.outer(x, x), "fro") == pytest.approx(0.25)
    assert "Frobenius" in polya_gamma.LESSON.question({}).text
    assert polya_gamma.LESSON.optional


@pytest.mark.parametrize("name", outcomes.MODELS)
def test_outcomes_are_those_of_the_file(name):
    runs = results_file.load()
    scores = {"risk": runs.auc, "topics": runs.perplexity, "digits": runs.accuracy}[name]
    model = outcomes.MODELS[name]
    result = outcome("outcomes", outcomes_what=name, outcomes_eps="0.3", outcomes_run=2)
    shown = [value for _, value in result.numbers]
    assert shown[0] == "0.300"
    assert shown[1] == model.write(scores[1].mean())
    assert shown[2].startswith(model.write(scores[1].max() if name == "topics" else scores[1].min()))
    assert shown[3] == model.write(scores[-1].mean())
    assert len(result.figure["frames"]) == scores.shape[1]
    assert result.table()[f"Held-out {model.score}"].to_numpy() == pytest.approx(scores.ravel())


@pytest.mark.parametrize("name", outcomes.MODELS)
def test_the_question_on_outcomes_follows_the_model_and_its_right_answer_is_right(name):
    model, scores = outcomes.MODELS[name], outcomes.MODELS[name].scores
    asked = outcomes.question({"outcomes_what": name})
    low, high = model.write(scores[0].min()), model.write(scores[0].max())
    assert (
        asked.answers[asked.right].text
        == f"Nobody can say: {scores.shape[1]} runs ranged from {low} to {high}"
    )
    assert f"would be {model.write(scores[-1].mean())}." in asked.text
    blind = {"risk": 0.5, "topics": len(sample_data.load("sotu").vocabulary), "digits": 0.5}[name]
    assert asked.answers[-1].text.startswith(model.write(blind))
    better = scores[0] < blind if model.smaller_is_better else scores[0] > blind
    assert better.all()  # as the explanation of the last wrong answer says
    assert f"2/{scores.shape[1] + 1}, about " in outcome("outcomes", outcomes_what=name).explanation


def test_results_are_complete_small_and_spent_what_they_say():
    results = results_file.load()
    epsilons, seeds = len(results_file.EPSILONS), results_file.TOPIC_SEEDS
    assert results.auc.shape == (epsilons, results_file.RISK_SEEDS)
    assert results.roc.shape == (*results.auc.shape, len(results_file.FALSE_POSITIVES))
    assert results.words.shape == (epsilons, seeds, results_file.TOPICS, results_file.TOP)
    assert results.reconstructions.shape == (epsilons, results_file.DIGIT_SEEDS, 10, 28, 28)
    assert results.reconstructions.min() == 0
    assert results.reconstructions.max() == 1
    np.testing.assert_allclose(results.spent, np.tile(results_file.EPSILONS, (3, 1)), rtol=1e-5)
    assert results_file.FILE.stat().st_size < 1_000_000
    labels = sample_data.load_digit_labels("mnist-test")
    test = sample_data.load("mnist-test").unpack(np.uint8).reshape(-1, 28, 28)
    for digit, image in enumerate(results.digits):
        assert (image == test[np.flatnonzero(labels == digit)[0]]).all()


def test_a_run_of_the_file_can_be_made_again():
    train, test = sample_data.load("nhanes-stroke").split(test_share=0.2, seed=0)
    model = BayesianLogistic(train.feature_names, train.norm_bound)
    plan = PrivacyPlan(
        records=len(train), expected_batch=len(train), steps=16, delta=results_file.DELTA
    ).calibrate(1.0)
    again = auc(fit(model, train, plan, seed=3), test)
    # Small changes of the models pass; a larger one calls for `python -m sample_data.lessons risk`.
    assert again == pytest.approx(results_file.load().auc[2, 3], abs=0.01)


@pytest.mark.parametrize("noise", [0.7, 2.0, 5.0])
def test_the_attack_has_the_theoretical_advantage_and_does_not_refute(noise):
    shown = outcome("attack", attack_noise=noise, attack_attacks=100_000)
    numbers, table = dict(shown.numbers), shown.table()
    with_you, without_you = table.iloc[0, 1:]
    assert with_you - without_you == pytest.approx(2 * norm.cdf(1 / (2 * noise)) - 1, abs=0.02)
    assert with_you == pytest.approx(norm.cdf(1 / (2 * noise)), abs=0.01)
    claimed = single_step(noise, attack.DELTA).epsilon("gaussian")
    assert numbers["ε claimed"] == at_most(claimed)
    assert 0.7 * claimed < float(numbers["ε measured, likelihood ratio"]) <= claimed
    assert float(numbers[f"ε at our wall, {attack.AT_WALL} attacks"]) <= claimed
    assert "did not refute" in shown.explanation


@pytest.mark.parametrize("noise", [2.0, 20 / 7, 20.0])  # one block has a power of two, or nearly
def test_last_bits_betray_naive_noise_and_not_ours(noise):
    naive, ours = attack.last_bits(noise)
    assert naive.epsilon(attack.DELTA, 0.95) > 3
    assert naive.alarms == 0
    assert abs(ours.found - ours.alarms) < 4 * math.sqrt(attack.RELEASES / 2)
    assert ours.epsilon(attack.DELTA, 0.999) < 0.1

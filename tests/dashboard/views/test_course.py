"""The lessons on generated people and surveys: every number against a simulation and the core."""

import math

import numpy as np
import pytest

from dashboard.components.formats import at_most, number
from dashboard.views.learn import lessons
from dashboard.views.learn.lessons import base, linkage, local, neighbours, processing, response
from vips_core import PrivacyPlan
from vips_core.privacy import gaussian


def outcome(lesson, **changes):
    taught = lessons.LESSONS[lesson]
    return taught.look(taught.defaults | changes, True, lambda function, *args: function(*args))


def right_answer(lesson):
    asked = lessons.LESSONS[lesson].question(lessons.LESSONS[lesson].defaults)
    return asked.answers[asked.right].text


@pytest.mark.parametrize(
    ("people", "birth"), [(10_000, "day"), (10_000, "month"), (2000, "year"), (100, "year")]
)
def test_linkage_joins_a_register_with_names(people, birth):
    """Count by joining tables, as an attacker does."""
    town = linkage._town()[:people]
    date = town[:, 0] * linkage.DAYS[birth] // 365
    register = {}
    for name, key in enumerate(zip(date, town[:, 1], town[:, 2], strict=True)):
        register.setdefault(key, []).append(name)
    named = sum(len(names) == 1 for names in register.values()) / people
    crowd = sum(len(names) for names in register.values() if len(names) >= 5) / people
    shown = dict(outcome("linkage", linkage_people=people, linkage_birth=birth).numbers)
    assert shown["Unique"] == f"{named:.1%}"
    assert shown["In groups of 5 or more"] == f"{crowd:.1%}"
    expected = float(linkage.expected_alone(people, birth))
    assert named == pytest.approx(expected, abs=6 * math.sqrt(0.25 / people))
    assert shown["Expected by chance"] == f"{expected:.1%}"


def test_linkage_s_answer_is_true():
    assert linkage.YEARS * 365 * linkage.SEXES * linkage.DISTRICTS == 584_000
    assert linkage.expected_alone(10_000, "day") > 0.98
    assert right_answer("linkage") == "Nearly all"
    assert linkage.expected_alone(584_000 * math.log(2), "day") == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize(("epsilon", "share"), [(1.1, 0.2), (0.3, 0.5), (3.0, 0.9)])
def test_randomised_response_matches_a_survey_of_single_people(epsilon, share):
    people, truth, rng = 4000, math.exp(epsilon) / (1 + math.exp(epsilon)), np.random.default_rng(5)
    answers = np.arange(people) < share * people
    honest = rng.random((500, people)) < truth
    said_yes = np.where(honest, answers, ~answers).mean(axis=1)
    own = (said_yes - (1 - truth)) / (2 * truth - 1)
    error = base.survey_error(people, epsilon)
    assert own.std() == pytest.approx(error, rel=0.2)
    assert own.mean() == pytest.approx(share, abs=6 * error / math.sqrt(500))
    ours = base.survey_estimates(share, people, epsilon, 2000, 7)
    assert ours.std() == pytest.approx(error, rel=0.1)
    shown = dict(outcome("response", response_eps=epsilon, response_share=share).numbers)
    assert shown["True answers"] == f"{truth:.0%}"
    assert shown["Answered yes"] == f"{share * truth + (1 - share) * (1 - truth):.1%}"
    assert shown["Standard error"] == f"±{base.survey_error(1000, epsilon):.2%}"


def test_randomised_response_s_answer_is_true():
    epsilon = math.log(3)
    assert base.truth_probability(epsilon) == pytest.approx(0.75)
    assert 1000 * float(base.unbiased(np.array(0.35), epsilon)) == pytest.approx(200)
    assert right_answer("response") == "About 200"
    assert response.LESSON.defaults["response_eps"] == 1.1


@pytest.mark.parametrize(("epsilon", "rows"), [(1.0, 10), (0.2, 3), (3.0, 20), (0.5, 1)])
def test_neighbours_match_the_core(epsilon, rows):
    delta = neighbours.DELTA
    one_row = PrivacyPlan(records=100, expected_batch=100, steps=1, delta=delta).calibrate(
        epsilon, "gaussian"
    )
    exact = one_row.replace(noise_multiplier=one_row.noise_multiplier / rows).epsilon("gaussian")
    shown = dict(outcome("neighbours", neighbours_eps=epsilon, neighbours_rows=rows).numbers)
    assert float(shown["ε of Gaussian noise, same δ"]) == pytest.approx(exact, rel=0.01)
    assert shown["ε by the general rule"] == number(rows * epsilon)
    chain = sum(math.exp(step * epsilon) * delta for step in range(rows))
    assert neighbours.group_delta(rows, epsilon, delta) >= min(1, chain)
    # The general rule holds for the mechanism whose ε is known exactly.
    general = neighbours.group_delta(rows, epsilon, delta)
    if general < 1:
        mu = rows * gaussian.mu(epsilon, delta)
        assert gaussian.epsilon(mu, general) <= rows * epsilon + 1e-9
    assert right_answer("neighbours") == "10, at a larger δ"


@pytest.mark.parametrize("noise", [1.0, 5.0, 30.0])
def test_cleaning_is_the_nearest_table_that_can_be_and_costs_nothing(noise):
    noisy = processing.released(noise)
    clean = processing.cleaned(noisy)
    assert clean.min() >= 0
    np.testing.assert_allclose(clean.sum(axis=1), processing.COUNTS.sum())
    rng = np.random.default_rng(0)
    others = processing.COUNTS.sum() * rng.dirichlet(np.ones(processing.COUNTS.size), 300)
    nearest = np.linalg.norm(clean[:20] - noisy[:20], axis=1)
    assert (np.linalg.norm(others[:, None] - noisy[:20], axis=2) >= nearest - 1e-9).all()
    assert processing.error(clean) < processing.error(
        noisy
    )  # a projection onto a convex set that contains the truth
    assert processing.error(noisy) == pytest.approx(noise, rel=0.1)
    plan = PrivacyPlan(
        records=100, expected_batch=100, steps=1, noise_multiplier=noise, delta=processing.DELTA
    )
    shown = dict(outcome("processing", processing_noise=noise).numbers)
    assert shown["ε of the release"] == shown["ε after cleaning"] == at_most(plan.epsilon("gaussian"))
    assert shown["Error after cleaning"] == number(processing.error(clean))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_local_and_central_errors_match_simulations(epsilon):
    people, rng = 10_000, np.random.default_rng(6)
    noise = rng.laplace(scale=1 / epsilon, size=20_000) / people
    assert noise.std() == pytest.approx(local.central_error(people, epsilon), rel=0.1)
    assert local.simulated_error(people, epsilon) == pytest.approx(
        base.survey_error(people, epsilon), rel=0.25
    )
    needed = local.people_needed(people, epsilon)
    assert base.survey_error(needed, epsilon) == pytest.approx(local.central_error(people, epsilon))


def test_local_s_answer_is_true():
    assert local.people_needed(10_000, 1.0) == pytest.approx(46e6, rel=0.01)
    assert right_answer("local") == "Tens of millions"
    assert base.survey_error(20_000, 1) == pytest.approx(base.survey_error(10_000, 1) / math.sqrt(2))

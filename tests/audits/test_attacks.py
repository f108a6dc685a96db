"""Attacks on the wall and on a run: they find what is there, and never more than is claimed."""

import numpy as np
import pytest

import vips_core as vips
from tests.models.test_contract import CONFIGURATIONS
from tests.toy import BetaBernoulli, coin_flips
from vips_core.audits.attacks import attack_one_run, attack_the_wall, strongest
from vips_core.audits.support import possible_without_the_person

DELTA, CONFIDENCE = 1e-5, 0.999


def full_plan(records, noise, steps=1):
    return vips.PrivacyPlan(
        records=records, expected_batch=records, steps=steps, noise_multiplier=noise, delta=DELTA
    )


def claimed(audit):
    return audit.ledger.epsilon(DELTA)


@pytest.mark.parametrize("case", CONFIGURATIONS, ids=lambda case: case.name)
@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_no_model_shows_more_than_it_claims(case, rate):
    """Also the support test: what leaves is on the grid, with and without the person."""
    model, data = case.model(), case.data()
    plan = vips.PrivacyPlan(
        records=len(data), expected_batch=round(rate * len(data)), steps=3, noise_multiplier=1.5, delta=DELTA
    )
    params = model.init(plan, np.random.default_rng(0))
    person = strongest(model, params, data, plan, step=1, most=20)
    audit = attack_the_wall(model, params, person, plan, releases=160, step=1, seed=3)
    assert audit.on_the_grid == (1.0, 1.0)
    assert audit.measured(DELTA, CONFIDENCE) <= claimed(audit)
    assert rate < 1 or audit.present.mean() > audit.absent.mean()


def test_the_attack_on_the_wall_comes_close_to_the_claim():
    model = BetaBernoulli(12, 2.0)
    person = vips.BinaryRows.from_images(np.ones((1, 12)), 0.5)
    plan = full_plan(200, 2.0)
    audit = attack_the_wall(model, model.init(plan, None), person, plan, releases=20_000, seed=0)
    assert 0.8 * claimed(audit) < audit.measured(DELTA, 0.99) <= claimed(audit)


class TooLittleNoise(BetaBernoulli):
    """Declares a quarter of what one record adds."""

    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        return vips.Raw({name: 4 * value for name, value in raw.sums.items()})


def test_a_false_claim_is_refuted_at_the_wall_and_in_one_run():
    person = vips.BinaryRows.from_images(np.ones((1, 12)), 0.5)
    model, plan = TooLittleNoise(12, 2.0), full_plan(200, 2.0)
    audit = attack_the_wall(model, model.init(plan, None), person, plan, releases=4000, seed=0)
    assert audit.measured(DELTA, CONFIDENCE) > claimed(audit)
    wide = TooLittleNoise(400, 4.0, size_share=0.1)
    images = vips.BinaryRows.from_images(np.repeat(np.eye(400), 2, axis=0), 0.5)
    canaries = np.arange(800) % 2 == 0
    found = attack_one_run(wide, images, canaries, full_plan(800, 1.2, steps=8), seed=1)
    honest = attack_one_run(
        BetaBernoulli(400, 4.0, size_share=0.1), images, canaries, full_plan(800, 1.2, steps=8), seed=1
    )
    assert found.measured(DELTA, 0.95) > 2 * max(honest.measured(DELTA, 0.95), 0.1)
    assert honest.measured(DELTA, CONFIDENCE) <= claimed(honest)


def test_one_run_guesses_better_than_chance_with_little_noise():
    images = vips.BinaryRows.from_images(np.repeat(np.eye(200), 2, axis=0), 0.5)
    canaries = np.arange(400) % 2 == 0
    audit = attack_one_run(BetaBernoulli(200, 1.0, 0.1), images, canaries, full_plan(400, 0.5, 4), seed=0)
    right, guesses = audit.right()
    assert guesses == 100
    assert right > 80
    assert 0 < audit.measured(DELTA, 0.95) <= claimed(audit)


@pytest.mark.parametrize("with_person", [True, False])
def test_naive_noise_betrays_the_person_and_ours_does_not(with_person):
    """Finding 1 of issue 15: a person with columns that nobody else has, at ε = 0.05."""
    rng = np.random.default_rng(0)
    x = np.zeros((301, 31))
    x[:, 0] = 0.5
    x[-1, 1:] = 0.15 if with_person else 0.0
    rows = vips.LabelledRows(x, rng.random(301) < 0.5, tuple(f"c{j}" for j in range(31)), 1.0)
    model = vips.BayesianLogistic(rows.feature_names, 1.0, "paper")
    plan = full_plan(301, 1.0).calibrate(0.05)
    seen = []

    def look(progress):
        seen.append(progress.params)

    vips.fit(model, rows, plan, seed=1, on_step=look)
    (params,) = seen
    own = params.average_linear[1:]
    block = model.blocks(plan, 0)["linear"]
    std = plan.noise_multiplier * block.bound / block.share
    exact = 0.5 * x[:, 1:].sum(axis=0) * (1 if rows.y[-1] else -1)
    naive = exact + std * rng.standard_normal((40, 30))
    assert possible_without_the_person(naive, std).all() == (not with_person)
    assert not possible_without_the_person(own, std).all()  # ours never looks like NumPy's, with or without
    (entry,) = vips.fit(model, rows, plan, seed=1).ledger
    assert not np.remainder(own, entry.blocks["linear"].grid).any()


def test_bad_attacks_get_one_sentence():
    model, data, plan = BetaBernoulli(12, 2.0), coin_flips(), full_plan(200, 1.0)
    with pytest.raises(ValueError, match="the attack is on one person, got 200 records"):
        attack_the_wall(model, model.init(plan, None), data, plan, releases=10)
    with pytest.raises(ValueError, match="releases must be a whole number of at least 4"):
        attack_the_wall(model, model.init(plan, None), data[np.arange(200) == 0], plan, releases=1)
    with pytest.raises(ValueError, match="the number of canaries must be"):
        attack_one_run(model, data, np.arange(200) == 0, plan)

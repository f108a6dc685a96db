"""Attacks on the wall and on a run: they come close to a true claim, and never exceed it."""

import numpy as np
import pytest

import vips_core as vips
from tests.models.test_contract import CONFIGURATIONS
from tests.toy import BetaBernoulli, coin_flips
from vips_core.audits import wall_attack
from vips_core.audits.inspection import possible_without_the_person
from vips_core.audits.run_attack import attack_one_run
from vips_core.audits.wall_attack import attack_step, attack_the_wall
from vips_core.privacy.noise import Randomness

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
    """Also the support test: all releases are on the grid, with and without the person."""
    model, data = case.model(), case.data()
    plan = vips.PrivacyPlan(
        records=len(data), expected_batch=round(rate * len(data)), steps=3, noise_multiplier=1.5, delta=DELTA
    )
    audit = attack_the_wall(model, data, plan, releases=160, seed=3)
    assert audit.findings == ()
    for attack in audit.attacks:
        assert attack.on_the_grid == (1.0, 1.0)
        assert attack.measured(DELTA, CONFIDENCE) <= claimed(attack)
        assert rate < 1 or attack.present.mean() > attack.absent.mean()


@pytest.mark.parametrize(
    ("case", "steps"),
    [("beta-bernoulli", {0, 5}), ("lda refined", {0, 1, 4, 5}), ("logistic refined, dense", {0, 1, 4, 5})],
)
def test_a_step_of_every_kind_is_attacked_at_its_own_parameters(case, steps, monkeypatch):
    (found,) = [item for item in CONFIGURATIONS if item.name == case]
    model, data, seen = found.model(), found.data(), {}

    def attack(model, params, person, plan, step, **_):
        seen[step] = params

    monkeypatch.setattr(wall_attack, "attack_step", attack)
    attack_the_wall(model, data, full_plan(len(data), 2.0, steps=6), releases=100, seed=0)
    assert set(seen) == steps
    assert len({id(params) for params in seen.values()}) == len(seen)


def test_the_attack_on_the_wall_comes_close_to_the_claim():
    model = BetaBernoulli(12, 2.0)
    person = vips.Images.from_images(np.ones((1, 12)), 0.5)
    plan, randomness = full_plan(200, 2.0), Randomness.of(0)
    start = model.init(plan, None)
    attack = attack_step(model, start, person, plan, 0, releases=20_000, randomness=randomness)
    assert 0.8 * claimed(attack) < attack.measured(DELTA, 0.99) <= claimed(attack)


class TooLittleNoise(BetaBernoulli):
    """Declares a quarter of what one record adds."""

    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        return vips.Raw({name: 4 * value for name, value in raw.sums.items()})


class OwnCanaries(vips.Images):
    """Records whose last ones are an attack's canaries."""

    def adversarial(self, count, rng):
        return self[np.arange(len(self)) >= len(self) - count]


def one_pixel_each(records):
    """Images that do not overlap."""
    return OwnCanaries.from_images(np.eye(records), 0.5)


def test_a_false_claim_is_refuted_at_the_wall_and_in_one_run():
    data, plan = one_pixel_each(600), full_plan(600, 4.0, steps=8)
    false, honest = (kind(600, 1.0, size_share=0.1) for kind in (TooLittleNoise, BetaBernoulli))
    at_wall = attack_the_wall(false, data, plan, releases=4000, seed=0)
    attack, measured = at_wall.worst(DELTA, CONFIDENCE)
    assert measured > claimed(attack)
    assert any("moves block 'on' by 4 times its bound" in finding for finding in at_wall.findings)
    found = attack_one_run(false, data, plan, canaries=300, seed=1)
    assert found.measured(DELTA, CONFIDENCE) > claimed(found)
    sound = attack_one_run(honest, data, plan, canaries=300, seed=1)
    assert sound.measured(DELTA, CONFIDENCE) <= claimed(sound)
    assert sound.findings == ()


def test_one_run_with_canaries_that_differ_shows_much_of_the_claim():
    model, plan = BetaBernoulli(1000, 1.0, 0.1), full_plan(1000, 3.0, 12)
    audit = attack_one_run(model, one_pixel_each(1000), plan, canaries=500, seed=0)
    right, guesses = audit.right()
    assert guesses == 100
    assert right > 85
    assert 0.45 * claimed(audit) < audit.measured(DELTA, 0.95) <= claimed(audit)


def test_overlapping_canaries_are_distinguished():
    """The canaries differ in one pixel each: their common part is estimated and subtracted."""
    alike = np.ones((400, 200)) - np.repeat(np.eye(200), 2, axis=0)
    data = OwnCanaries.from_images(alike, 0.5)
    audit = attack_one_run(BetaBernoulli(200, 20.0, 0.1), data, full_plan(400, 0.02, 4), canaries=100, seed=0)
    assert audit.right() == (20, 20)


@pytest.mark.parametrize("with_person", [True, False])
def test_naive_noise_betrays_the_person_and_ours_does_not(with_person):
    """Finding 1 of issue 15: a person with columns that no other record has, at ε = 0.05."""
    rng = np.random.default_rng(0)
    x = np.zeros((301, 31))
    x[:, 0] = 0.5
    x[-1, 1:] = 0.15 if with_person else 0.0
    rows = vips.Table(x, rng.random(301) < 0.5, tuple(f"c{j}" for j in range(31)), 1.0)
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
    assert not possible_without_the_person(
        own, std
    ).all()  # noise on the grid never looks like NumPy's, with or without the person
    (entry,) = vips.fit(model, rows, plan, seed=1).ledger
    assert not np.remainder(own, entry.blocks["linear"].grid).any()


def test_bad_attacks_get_one_sentence():
    model, data, plan = BetaBernoulli(12, 2.0), coin_flips(), full_plan(200, 1.0)
    with pytest.raises(ValueError, match="person must be a data set of one record, got 200 records"):
        attack_step(model, model.init(plan, None), data, plan, 0, releases=10, randomness=Randomness.of(0))
    with pytest.raises(ValueError, match="releases must be a whole number of at least 4"):
        attack_the_wall(model, data, plan, releases=1)
    with pytest.raises(ValueError, match="canaries must be a whole number of at least 4"):
        attack_one_run(model, data, plan, canaries=1)
    with pytest.raises(ValueError, match="canaries must be .* at most 200"):
        attack_one_run(model, data, plan, canaries=201)

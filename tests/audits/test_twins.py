"""An instrument that is meant to find a broken twin finds it, and finds nothing in a sound product."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from tests.audits.twins import CONFIDENCE, TWINS, Twin, found_by, plan_at
from tests.models.test_contract import CONFIGURATIONS
from vips_core import Raw
from vips_core.audits.verdict import verdict
from vips_core.audits.wall_attack import attack_the_wall
from vips_core.models.check import check_model

BEHIND_A_BROKEN_WALL = {
    "noise halved", "noise ÷ 8 after the first step", "same noise in every step", "coins reused",
    "wrong sampling rate in the ledger",
}  # fmt: skip
REAL = [
    case
    for case in CONFIGURATIONS
    if case.name in ("lda refined", "logistic refined, wide and sparse", "sbn refined", "sbn paper")
]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_broken_twin_is_found(twin):
    found = found_by(twin)
    assert ("wall audit" if twin.name in BEHIND_A_BROKEN_WALL else "check_model") in found


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_nothing_is_found_in_a_sound_product(rate):
    assert found_by(Twin("sound", rate=rate)) == []


@functools.cache
def audited(case, twin):
    data, plan = case.data(), plan_at(twin.rate, records=len(case.data()), steps=6)
    with twin.wall():
        return verdict(attack_the_wall(case.model(), data, plan, releases=40, seed=1), plan, CONFIDENCE)


@pytest.mark.parametrize("case", REAL, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "twin", [twin for twin in TWINS if twin.name in BEHIND_A_BROKEN_WALL], ids=lambda twin: twin.name
)
def test_a_broken_wall_is_found_whatever_the_model(case, twin):
    said = audited(case, twin)
    assert said.refuted
    assert said.findings
    assert "The inspection refuted the claim" in said.sentence()


def loosely_clipped(model, blocks):
    """A real model whose records are clipped to a hundred times their bound, in these blocks."""

    class Loose(type(model)):
        def e_step(self, params, batch, given):
            loose = {
                name: replace(block, bound=100 * block.bound) if name in blocks else block
                for name, block in given.items()
            }
            return Raw(super().e_step(params, batch, loose).sums)

    settings = {name: getattr(model, name) for name in model.__dataclass_fields__}
    return Loose(**settings)


@pytest.mark.parametrize(
    ("name", "block"), [("lda refined", "topics"), ("lda paper", "topics"), ("sbn refined", "second")]
)
def test_real_models_without_their_clip_are_found(name, block):
    (case,) = [case for case in CONFIGURATIONS if case.name == name]
    model, data = loosely_clipped(case.model(), {block}), case.data()
    plan = plan_at(1.0, records=len(data), steps=4)
    said = verdict(attack_the_wall(model, data, plan, releases=40, seed=1), plan, CONFIDENCE)
    assert any(f"one record moves block {block!r} by" in finding for finding in said.findings)
    with pytest.raises(ValueError, match=f"one record may move block {block!r} by at most"):
        check_model(model, data, plan)


def test_the_statistics_of_an_inspection_have_the_level_they_state():
    """P-values of a sound wall are at least as large as uniform ones."""
    from vips_core.audits.inspection import Inspector

    rng, small = np.random.default_rng(0), []
    for _ in range(40):
        inspector = Inspector(steps=4)
        for step in range(4):
            inspector._noise[step, "block"] = rng.standard_normal(30)
            inspector._coins[step] = rng.random(500) < 0.3
            inspector._rates[step] = 0.3
        tests = (inspector._noise_sizes(), inspector._noise_pairs())
        small += [p_value < 0.05 for group in tests for p_value, _ in group]
        discrete = [*inspector._coin_counts(), *inspector._coin_pairs()]
        assert np.mean([p_value < 0.001 for p_value, _ in discrete]) < 0.2
    assert np.mean(small) == pytest.approx(0.05, abs=0.03)

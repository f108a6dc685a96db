"""The wall, the ledger and the loop, driven by a tiny real model."""

import json
import math

import numpy as np
import pytest

import vips_core as vips
from tests.toy import BetaBernoulli, coin_flips
from vips_core.privacy.ledger import LedgerBlock, LedgerEntry
from vips_core.privacy.noise import Randomness
from vips_core.privacy.wall import _noisy, release

DATA = coin_flips()
MODEL = BetaBernoulli(pixels=12, clip=2.0)


def plan(**changes):
    values = {"records": 200, "expected_batch": 50, "steps": 8, "noise_multiplier": 1.5, "delta": 1e-4}
    return vips.PrivacyPlan(**{**values, **changes})


def test_noise_is_what_the_ledger_says():
    """20,000 draws of the noise alone: sample standard deviation within 5 standard errors."""
    big = BetaBernoulli(pixels=20_000, clip=3.0)
    empty = vips.Images.from_images(np.zeros((5, 20_000)), 0.5)
    ledger = vips.Ledger(5)
    full = vips.PrivacyPlan(records=5, expected_batch=5, steps=1, noise_multiplier=0.7, delta=1e-4)
    released = release(big, big.init(full, None), empty, full, 0, Randomness.of(1), ledger)
    (entry,) = ledger
    claimed = entry.blocks["on"].noise_std
    assert claimed == pytest.approx(0.7 * 3.0 / 0.8)
    assert np.std(released.sums["on"]) == pytest.approx(claimed, rel=5 / math.sqrt(2 * 20_000))
    assert abs(np.mean(released.sums["on"])) < 5 * claimed / math.sqrt(20_000)
    assert entry.noise_multiplier == pytest.approx(0.7)
    assert released.noise_std == {name: block.noise_std for name, block in entry.blocks.items()}


def test_blocks_of_one_release_have_independent_noise():
    ledger, full = vips.Ledger(200), plan(expected_batch=200, steps=1)
    start = MODEL.init(full, None)
    draws = [release(MODEL, start, DATA, full, 0, Randomness.of(seed), ledger) for seed in range(2000)]
    joined = np.array([[*draw.sums["on"][:2], draw.sums["images"][0]] for draw in draws])
    correlation = np.corrcoef(joined.T) - np.eye(3)
    assert np.abs(correlation).max() < 5 / math.sqrt(2000)
    assert ledger.steps == 2000
    assert len(ledger.entries) == 1


def test_batches_are_poisson():
    """Without noise, the released size is the batch's: it must vary as a binomial."""
    open_plan = plan(noise_multiplier=0.0, steps=1)
    ledger, start = vips.Ledger(200), MODEL.init(open_plan, None)
    sizes = [
        release(MODEL, start, DATA, open_plan, 0, Randomness.of(seed), ledger).sums["images"][0]
        for seed in range(3000)
    ]
    assert np.mean(sizes) == pytest.approx(50, abs=5 * math.sqrt(200 * 0.25 * 0.75 / 3000))
    assert np.var(sizes) == pytest.approx(200 * 0.25 * 0.75, rel=0.15)
    fixed = plan(noise_multiplier=0.0, steps=5, sampling="fixed")
    assert {
        release(MODEL, start, DATA, fixed, step, Randomness.of(step), ledger).sums["images"][0]
        for step in range(5)
    } == {50}


def test_empty_batches_are_legal():
    rare = plan(expected_batch=1, steps=300, noise_multiplier=1.0)
    fit = vips.fit(MODEL, DATA, rare, seed=0)
    assert fit.ledger.steps == 300


def test_totals_divide_by_the_rate_and_not_by_the_batch():
    open_plan = plan(noise_multiplier=0.0, steps=400)
    fit = vips.fit(MODEL, DATA, open_plan, seed=5)
    assert fit.params.images == pytest.approx(200, rel=0.05)
    released = vips.Released({"a": np.array([6.0])}, {"a": 2.0}, 0.5)
    assert released.total("a") == 12
    assert released.total_std("a") == 4


def test_epsilon_comes_from_the_ledger():
    fit = vips.fit(MODEL, DATA, plan(), seed=0)
    for name in ("moments", "pld", "strong"):
        assert fit.epsilon(name) == pytest.approx(plan().epsilon(name), rel=1e-9)
    stopped = vips.fit(MODEL, DATA, plan(), seed=0, on_step=lambda progress: progress.step == 3)
    assert stopped.ledger.steps == 3
    assert stopped.epsilon("moments") == pytest.approx(plan(steps=3).epsilon("moments"), rel=1e-9)
    assert stopped.epsilon("moments", delta=1e-6) > stopped.epsilon("moments")


def test_no_noise_runs_the_same_code():
    fit = vips.fit(MODEL, DATA, plan(noise_multiplier=0.0, expected_batch=200, steps=1), seed=0)
    assert fit.epsilon() == math.inf
    expected = DATA.unpack(np.float64)
    expected *= np.minimum(1, 2.0 / np.maximum(np.linalg.norm(expected, axis=1), 1e-12))[:, None]
    assert fit.params.on == pytest.approx(expected.sum(axis=0))


def test_a_seed_repeats_the_run_and_marks_it():
    first, again, other = (vips.fit(MODEL, DATA, plan(), seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(first.params.on, again.params.on)
    assert not np.array_equal(first.params.on, other.params.on)
    assert first.ledger.seeded
    assert any("demonstration" in caution for caution in first.ledger.cautions())
    entropy = [vips.fit(MODEL, DATA, plan()) for _ in range(2)]
    assert not np.array_equal(entropy[0].params.on, entropy[1].params.on)
    assert not entropy[0].ledger.seeded
    assert entropy[0].ledger.cautions() == []


def test_fixed_batches_and_open_releases_are_told():
    fixed = vips.fit(MODEL, DATA, plan(sampling="fixed"))
    assert any("Poisson" in caution for caution in fixed.ledger.cautions())
    naked = vips.fit(MODEL, DATA, plan(noise_multiplier=0.0))
    assert any("no privacy guarantee" in caution for caution in naked.ledger.cautions())


class WrongShares(BetaBernoulli):
    def blocks(self, plan, step):
        return {"on": vips.Block(1.0, 0.5)}


class MissingBlock(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        return vips.Raw({"on": np.zeros(12)})


class WrongShape(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        return vips.Raw({"on": np.zeros(11), "images": np.zeros(1)})


class NotFinite(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        return vips.Raw({"on": np.full(12, np.nan), "images": np.full(1, np.inf)})


class Failing(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raise MemoryError("a record that is too long")


def test_what_is_not_finite_is_released_as_noise_alone_without_a_word():
    """An error would reveal something about the records (issue 15, finding 6)."""
    ledger, released = vips.Ledger(200), {}
    full = plan(expected_batch=200, steps=1)
    model = NotFinite(pixels=12, clip=2.0)
    released = release(model, model.init(full, None), DATA, full, 0, Randomness.of(0), ledger)
    assert all(np.isfinite(sums).all() for sums in released.sums.values())
    assert np.abs(released.sums["on"]).max() < 8 * released.noise_std["on"]
    assert ledger.steps == 1


def test_a_release_is_recorded_before_any_record_is_looked_at():
    ledger, model = vips.Ledger(200), Failing(pixels=12, clip=2.0)
    with pytest.raises(MemoryError):
        release(model, model.init(plan(), None), DATA, plan(), 0, Randomness.of(0), ledger)
    assert ledger.steps == 1


def test_the_sign_of_a_zero_does_not_leave():
    """Only a sum of small negative contributions, each cut to 0, is −0; noise of −0 would reveal it."""
    sums, block = np.full(1000, -0.0), vips.Block(1.0, shape=(1000,), grid=1.0)
    assert not np.signbit(_noisy(sums, block, 200, 0.0, Randomness.of(0))).any()
    noisy = _noisy(sums, block, 200, 0.3, Randomness.of(0))
    assert (noisy == 0).sum() > 800, "this noise is mostly 0"
    assert not np.signbit(noisy[noisy == 0]).any()


@pytest.mark.parametrize("value", [1e12, -1e12, np.inf, -np.inf, 1e308, 400.5])
def test_no_sum_leaves_above_all_records_together(value):
    """Even if a model violates its contract, no sum exceeds N times the bound before noise."""

    class Boundless(BetaBernoulli):
        def e_step(self, params, batch, blocks):
            return vips.Raw({"on": np.full(12, value), "images": np.full(1, value)})

    open_plan, model = plan(noise_multiplier=0.0, steps=1), Boundless(pixels=12, clip=2.0)
    released = release(
        model, model.init(open_plan, None), DATA, open_plan, 0, Randomness.of(0), vips.Ledger(200)
    )
    assert (released.sums["on"] == np.sign(value) * 200 * 2.0).all()
    assert (released.sums["images"] == np.sign(value) * 200).all()


def test_what_leaves_is_on_the_grid_of_the_ledger_whatever_a_model_returns():
    class OffTheGrid(BetaBernoulli):
        def e_step(self, params, batch, blocks):
            return vips.Raw({"on": np.full(12, np.pi), "images": np.full(1, np.e)})

    ledger, model = vips.Ledger(200), OffTheGrid(pixels=12, clip=2.0)
    released = release(model, model.init(plan(), None), DATA, plan(), 0, Randomness.of(0), ledger)
    (entry,) = ledger
    for name, block in entry.blocks.items():
        assert 2**-32 < block.grid / block.noise_std < 2**-29
        assert (np.remainder(released.sums[name], block.grid) == 0).all()


@pytest.mark.parametrize(
    ("kind", "error", "sentence"),
    [
        (WrongShares, ValueError, "squares of a step's shares must sum to 1, got 0.25"),
        (MissingBlock, TypeError, "exactly the blocks"),
        (WrongShape, TypeError, r"block 'on' in the shape \(12,\), got \(11,\)"),
    ],
)
def test_the_wall_refuses_faulty_models(kind, error, sentence):
    with pytest.raises(error, match=sentence):
        vips.fit(kind(pixels=12, clip=2.0), DATA, plan(), seed=0)


def test_fit_refuses_what_does_not_match():
    with pytest.raises(ValueError, match="the plan is for 100 records, but the data has 200"):
        vips.fit(MODEL, DATA, plan(records=100))
    with pytest.raises(ValueError, match="the plan has no noise_multiplier yet"):
        vips.fit(MODEL, DATA, plan(noise_multiplier=None))
    with pytest.raises(ValueError, match="a block's bound must be a number above 0, got -1"):
        vips.Block(-1.0)


def test_ledger_round_trip():
    ledger = vips.fit(MODEL, DATA, plan(), seed=0).ledger
    again = vips.Ledger.from_json(ledger.to_json())
    assert again == ledger
    assert again.epsilon(1e-4, "moments") == ledger.epsilon(1e-4, "moments")
    content = json.loads(ledger.to_json())
    assert content["entries"][0]["count"] == 8
    assert content["neighbours"].startswith("one record, or one person with all records where a column names")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.update(format="other"), "must be a JSON object whose format is 'vips-ledger/1'"),
        (lambda c: c.pop("entries"), "missing or malformed field: 'entries'"),
        (lambda c: c.update(records=0), "records must be a whole number of at least 1 .*, got 0"),
        (lambda c: c.update(seeded="no"), "seeded must be true or false, got 'no'"),
        (lambda c: c["entries"][0].update(sampling_rate=3), "sampling_rate must be .* at most 1, got 3"),
        (
            lambda c: c["entries"][0].update(sampling="magic"),
            "sampling must be one of poisson, fixed, got 'magic'",
        ),
        (lambda c: c["entries"][0].update(count=0), "count must be a whole number .*, got 0"),
        (lambda c: c["entries"][0].update(count="9"), "count must be a whole number .*, got '9'"),
        (lambda c: c["entries"][0].update(extra=1), "malformed"),
        (lambda c: c["entries"][0].update(blocks={}), "at least one block"),
        (
            lambda c: c["entries"][0].update(blocks={"a": {"bound": 5e-324, "noise_std": 5.0, "cells": 1}}),
            "noise_multiplier must be a number .*, got inf",
        ),
        (lambda c: c["entries"][0]["blocks"]["on"].update(noise_std=-1), "noise_std must be .*, got -1"),
        (
            lambda c: c["entries"][0]["blocks"]["on"].update(bound="x"),
            "bound must be a number above 0, got 'x'",
        ),
        (lambda c: c["entries"][0]["blocks"]["on"].update(cells=1.5), "cells must be a whole number"),
        (lambda c: c["entries"][0].update(count=1.5), "count must be a whole number"),
        (lambda c: c["entries"][0].update(count=float("inf")), "count must be a whole number"),
        (lambda c: c["entries"][0]["blocks"]["on"].update(noise_std=1e400), "noise_std must be a number"),
        (
            lambda c: c.update(neighbours="replace one record"),
            "neighbours must be .*, got 'replace",
        ),
        (lambda c: c.pop("neighbours"), "neighbours must be"),
        (lambda c: c.update(entries=[[]]), "malformed"),
    ],
)
def test_bad_ledgers_get_one_sentence(change, sentence):
    content = json.loads(vips.fit(MODEL, DATA, plan(), seed=0).ledger.to_json())
    change(content)
    with pytest.raises(ValueError, match=sentence):
        vips.Ledger.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["{", "", "[" * 100_000, "NaN", "3", '{"format": 1}'])
def test_text_that_is_no_ledger(text):
    with pytest.raises(ValueError, match="the ledger (is not JSON|is nested too|must be a JSON object)"):
        vips.Ledger.from_json(text)


def test_a_ledger_without_grids_is_read_with_a_caution():
    content = json.loads(vips.fit(MODEL, DATA, plan()).ledger.to_json())
    for block in content["entries"][0]["blocks"].values():
        del block["grid"]
    (caution,) = vips.Ledger.from_json(json.dumps(content)).cautions()
    assert "was not on a public grid" in caution


def test_the_noise_s_distance_from_ideal_noise_is_taken_from_delta():
    block = LedgerBlock(bound=1.0, noise_std=1.0, cells=2**53, grid=2.0**-30)
    ledger = vips.Ledger(10, entries=[LedgerEntry(1.0, {"sums": block}, count=10**6)])
    assert 0 < ledger.noise_distance < 1e-13
    assert ledger.epsilon(2 * ledger.noise_distance) > ledger.epsilon(1e-12)
    with pytest.raises(
        ValueError, match="delta must be above .*e-15, the distance of the noise from ideal noise"
    ):
        ledger.epsilon(ledger.noise_distance / 2)


def test_hardly_any_noise_is_no_noise():
    entry = LedgerEntry(1.0, {"sums": LedgerBlock(bound=1e300, noise_std=1e-300, cells=1)})
    assert entry.noise_multiplier == 0

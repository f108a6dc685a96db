"""The contract of every model, checked on one list of configurations."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

import sample_data
import vips_core as vips
from sample_data import generate
from tests.toy import BetaBernoulli, coin_flips
from vips_core import Block, Raw
from vips_core.kernels.exact import cut
from vips_core.kernels.pool import thread_count
from vips_core.models.check import check_model
from vips_core.models.logistic.rivals import PrivateGradientDescent
from vips_core.models.logistic.task import GRADIENT_DESCENT
from vips_core.models.task import PAPER, REFINED, TASKS
from vips_core.privacy.noise import Randomness
from vips_core.privacy.wall import blocks_with_noise, release


@dataclass(frozen=True)
class Configuration:
    """A model on data."""

    name: str
    model: Callable[[], Any]
    data: Callable[[], Any]


@functools.cache
def documents():
    return generate.corpus(120, 30, topics=3, vocabulary_size=400, seed=0)[0]


@functools.cache
def mostly_empty():
    """Return documents of which every other one is empty, including the first in each kernel's group."""
    counts = sparse.csr_array((documents().counts, documents().indices, documents().indptr)).toarray()
    return vips.Documents.from_counts(
        np.repeat(counts, 2, axis=0) * ([[0], [1]] * 120), documents().vocabulary
    )


@functools.cache
def patients():
    """Return sparse rows with more features than records."""
    return generate.stroke_cohort(150, 220, seed=0)[0]


@functools.cache
def answers():
    """Return dense rows with few features, up to the norm bound."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(400), rng.random(400)])
    return vips.Table(x, rng.random(400) < 0.3, ("intercept", "a"), 2**0.5)


@functools.cache
def gaps():
    """Return dense rows with missing values and their indicator."""
    known = np.random.default_rng(1).random(400) < 0.6
    x = np.column_stack([answers().x * np.column_stack([np.ones(400), known]), ~known])
    return vips.Table(x, answers().y, ("intercept", "a", "gap"), 2**0.5, missing_pairs=[(1, 2)])


@functools.cache
def drawings():
    return generate.digits(80, seed=0)[0]


def owners(rows, persons):
    """Return a person for each row; each person has at least one row, some have many."""
    return np.concatenate([np.arange(persons), np.random.default_rng(0).zipf(1.5, rows - persons) % persons])


@functools.cache
def authors():
    return vips.Documents.concatenated([documents()], owners(120, 70))


@functools.cache
def visits():
    """Return `answers` with several rows per person."""
    return replace(answers(), persons=owners(400, 150))


@functools.cache
def stays():
    """Return `patients` with several rows per person."""
    return replace(patients(), persons=owners(150, 60))


@functools.cache
def drawers():
    return replace(drawings(), persons=owners(80, 40))


def lda(variant):
    return vips.LDA(3, documents().vocabulary, 25, variant=variant)


def regression(rows, variant):
    pairs = rows.missing_pairs
    return vips.BayesianLogistic(rows.feature_names, rows.norm_bound, variant, missing_pairs=pairs)


CONFIGURATIONS = [
    Configuration("beta-bernoulli", lambda: BetaBernoulli(12, 2.0), coin_flips),
    Configuration("beta-bernoulli, tight clip", lambda: BetaBernoulli(12, 0.5), coin_flips),
    Configuration("lda refined", lambda: lda("refined"), documents),
    Configuration("lda paper", lambda: lda("paper"), documents),
    Configuration("lda refined, empty documents", lambda: lda("refined"), mostly_empty),
    Configuration("lda paper, empty documents", lambda: lda("paper"), mostly_empty),
    Configuration("logistic refined, dense", lambda: regression(answers(), "refined"), answers),
    Configuration("logistic refined, wide and sparse", lambda: regression(patients(), "refined"), patients),
    Configuration("logistic refined, missing values", lambda: regression(gaps(), "refined"), gaps),
    Configuration("logistic paper", lambda: regression(answers(), "paper"), answers),
    Configuration("logistic paper, sparse", lambda: regression(patients(), "paper"), patients),
    Configuration("DP-SGD", lambda: PrivateGradientDescent(patients().feature_names, 10.0), patients),
    Configuration("sbn refined", lambda: vips.SBN(784, 4, (28, 28)), drawings),
    Configuration("sbn paper", lambda: vips.SBN(784, 3, (28, 28), variant="paper"), drawings),
    Configuration("lda refined, persons", lambda: lda("refined"), authors),
    Configuration("logistic refined, persons", lambda: regression(visits(), "refined"), visits),
    Configuration("logistic refined, sparse, persons", lambda: regression(stays(), "refined"), stays),
    Configuration("logistic paper, persons", lambda: regression(visits(), "paper"), visits),
    Configuration("DP-SGD, persons", lambda: PrivateGradientDescent(stays().feature_names, 10.0), stays),
    Configuration("sbn refined, persons", lambda: vips.SBN(784, 4, (28, 28)), drawers),
    Configuration("sbn paper, persons", lambda: vips.SBN(784, 3, (28, 28), variant="paper"), drawers),
]
ALL = pytest.mark.parametrize("case", CONFIGURATIONS, ids=lambda case: case.name)


@functools.cache
def survey():
    rows = sample_data.load("nhanes-stroke")
    return rows[np.arange(len(rows)) < 200]


@functools.cache
def thumbnails():
    """Return digits of 10 × 10 pixels, a size at which some BLAS kernels sum rows in several orders."""
    images = drawings().unpack(np.uint8).reshape(-1, 28, 28)[:, 4:24:2, 4:24:2]
    return vips.Images.from_images(images, threshold=0.5)


@functools.cache
def table(columns):
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(150, columns))
    return vips.Table(x, x[:, 0] > 0, [f"x{j}" for j in range(columns)], columns**0.5)


def by_default(task, method, data):
    values = {name: option.default for name, option in task.options.items()}
    return task.model(method, values, data())


def of_table(columns, variant):
    return regression(table(columns), variant)


SIZES = [
    *(
        Configuration(f"{task.name} {method}, by default", partial(by_default, task, method, data), data)
        for task, data in ((TASKS["lda"], documents), (TASKS["logistic"], survey), (TASKS["sbn"], drawings))
        for method in (REFINED, PAPER, *([GRADIENT_DESCENT] if task.name == "logistic" else []))
    ),
    *(
        Configuration(f"sbn paper, K = {k}", partial(vips.SBN, 100, k, (10, 10), "paper"), thumbnails)
        for k in (7, 10, 20)
    ),
    *(
        Configuration(f"logistic {variant}, d = {d}", partial(of_table, d, variant), partial(table, d))
        for d in (5, 40, 100, 333)
        for variant in ("refined", "paper")
    ),
]


def plan_for(data, steps=4, noise=1.0):
    return vips.PrivacyPlan(
        records=len(data),
        expected_batch=max(1, len(data) // 4),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-5,
    )


@ALL
def test_the_contract_is_kept(case):
    check_model(case.model(), case.data(), plan_for(case.data()))


@pytest.mark.parametrize("case", SIZES, ids=lambda case: case.name)
def test_the_contract_is_kept_at_the_sizes_that_people_use(case):
    check_model(case.model(), case.data(), plan_for(case.data(), steps=3), trials=4)


def leave_nan_in_memory():
    """Fill memory of many sizes with NaN and free it, so that the next arrays use it.

    The arrays in between are returned: while they are held, freed parts are not merged and released.
    """
    sizes = [2**size + extra for size in range(5, 16) for extra in (0, 16, 64) for _ in range(2)]
    return [np.full(size, np.nan, np.float32) for size in sizes][::2]


@ALL
def test_sums_do_not_depend_on_what_memory_held_before(case):
    model, data = case.model(), case.data()
    plan = plan_for(data)
    params = model.init(plan, np.random.default_rng(0))
    for step in range(plan.steps):
        _, blocks = blocks_with_noise(model.blocks(plan, step), plan)
        expected = model.e_step(params, data, blocks).sums
        for _ in range(3):
            held = leave_nan_in_memory()
            found = model.e_step(params, data, blocks).sums
            assert all(np.array_equal(found[name], expected[name]) for name in blocks)
            del held
        assert all(np.isfinite(expected[name]).all() for name in blocks)


class Unclipped(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        return Raw({**raw.sums, "on": batch.unpack(np.float64).sum(axis=0)})


class Stateful(BetaBernoulli):
    seen: ClassVar = []

    def e_step(self, params, batch, blocks):
        self.seen.append(len(batch))
        raw = super().e_step(params, batch, blocks)
        return Raw({**raw.sums, "images": raw.sums["images"] * (1 + 1e-9 * len(self.seen))})


class Drawing(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        np.random.random()  # noqa: NPY002
        return super().e_step(params, batch, blocks)


class Overwriting(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        params.on[:] += 1
        return super().e_step(params, batch, blocks)


class FilledWhenEmpty(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        return Raw({**raw.sums, "images": raw.sums["images"] + 1e-12})


class WeighedByTheBatch(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        weight = 2.0 ** -(len(batch) % 2)  # still on a grid, but on a different one for other batches
        coarse = {name: cut(value, 2 * blocks[name].grid) for name, value in raw.sums.items()}
        return Raw({name: value * weight for name, value in coarse.items()})


class OverThreads(BetaBernoulli):
    def m_step(self, params, released, step):
        counts = super().m_step(params, released, step)
        return replace(counts, images=counts.images + 1e-9 * thread_count())


class WrongShares(BetaBernoulli):
    def blocks(self, plan, step):
        return {name: Block(block.bound, 0.5) for name, block in super().blocks(plan, step).items()}


class ForgetfulBlocks(BetaBernoulli):
    def blocks(self, plan, step):
        if id(self) != self.first:
            return {"on": Block(1.0)}
        return super().blocks(plan, step)

    @functools.cached_property
    def first(self):
        return id(self)


class Nameless(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        return Raw({"on": super().e_step(params, batch, blocks).sums["on"]})


class NotFinite(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        return Raw({**raw.sums, "images": raw.sums["images"] / (len(batch) > 0)})


class OneRecordUnclipped(BetaBernoulli):
    """Fails for a single image of `coin_flips`, the only one with these pixels."""

    def e_step(self, params, batch, blocks):
        raw, images = super().e_step(params, batch, blocks), batch.unpack(np.float64)
        alone = (images == coin_flips().unpack(np.float64)[137]).all(axis=1)
        return Raw({**raw.sums, "on": raw.sums["on"] + images[alone].sum(axis=0)})


class AdversarialUnclipped(BetaBernoulli):
    """Fails for a record that is possible, but in no data set."""

    def e_step(self, params, batch, blocks):
        raw, images = super().e_step(params, batch, blocks), batch.unpack(np.float64)
        return Raw({**raw.sums, "on": raw.sums["on"] + images[images.all(axis=1)].sum(axis=0)})


class PublishesSums(BetaBernoulli):
    kept: ClassVar = {}

    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        self.kept["on"] = raw.sums["on"]
        return raw

    def m_step(self, params, released, step):
        return replace(params, on=self.kept["on"])


class StartsFromRecords(BetaBernoulli):
    def for_records(self, data):
        made = StartsFromRecords(self.pixels, self.clip)
        object.__setattr__(made, "start", data.unpack(np.float64).mean())
        return made

    def init(self, plan, rng):
        return replace(super().init(plan, rng), images=self.start)


class BoundFromRecords(BetaBernoulli):
    def for_records(self, data):
        return replace(self, clip=float(data.unpack(np.float64).sum(axis=1).max()))


class HoldsRecords(BetaBernoulli):
    def for_records(self, data):
        made = HoldsRecords(self.pixels, self.clip)
        object.__setattr__(made, "examples", [data])
        return made


@pytest.mark.parametrize(
    ("faulty", "sentence"),
    [
        (OneRecordUnclipped, "one record may move block 'on' by at most 0.5, but record 137 moves it by"),
        (AdversarialUnclipped, "one record may move block 'on' by at most 0.5, but record 39 moves it by"),
        (PublishesSums, "m_step must depend on parameters and release alone"),
        (StartsFromRecords, "init must not depend on the records"),
        (BoundFromRecords, "blocks and their bounds must depend on plan and step alone"),
        (HoldsRecords, "a model must not hold the records"),
        (Unclipped, "one record may move block 'on' by at most 0.5, but record 0 moves it by"),
        (Stateful, "e_step must keep no state, but block 'images' differs"),
        (Drawing, "e_step must draw no random numbers"),
        (Overwriting, "e_step must leave the parameters as they are"),
        (FilledWhenEmpty, r"an empty batch must sum to zeros of shape \(1,\), but not block 'images'"),
        (WeighedByTheBatch, "one record's contribution must depend on that record alone, but in block 'on'"),
        (OverThreads, "the same bits for any number of threads"),
        (WrongShares, "the squares of a step's shares must sum to 1, got 0.5"),
        (ForgetfulBlocks, "blocks must depend on plan and step alone"),
        (Nameless, "exactly the blocks"),
        (NotFinite, "e_step must return finite sums, but block 'images' has others"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_broken_model_gets_a_sentence(faulty, sentence):
    data = coin_flips()
    with pytest.raises(ValueError, match=sentence):
        check_model(faulty(12, 0.5), data, plan_for(data))


def test_a_model_made_from_the_records_is_found_by_the_function_that_makes_it():
    data = coin_flips()

    def made(records):
        return BetaBernoulli(12, float(np.linalg.norm(records.unpack(np.float64), axis=1).max()))

    check_model(made(data), data, plan_for(data))  # a number does not reveal its source
    with pytest.raises(ValueError, match="blocks and their bounds must depend on plan and step alone"):
        check_model(made, data, plan_for(data))


def test_the_check_leaves_the_number_of_threads_as_it_was(monkeypatch):
    data = coin_flips()
    for threads in (None, "3"):
        monkeypatch.delenv("VIPS_THREADS", raising=False)
        if threads:
            monkeypatch.setenv("VIPS_THREADS", threads)
        check_model(BetaBernoulli(12, 0.5), data, plan_for(data), trials=1)
        assert os.environ.get("VIPS_THREADS") == threads


@ALL
def test_noise_free_and_noisy_runs_differ_only_in_noise(case):
    """The released mean over many draws is the noise-free sum."""
    model, data = case.model(), case.data()
    full = vips.PrivacyPlan(
        records=len(data), expected_batch=len(data), steps=1, noise_multiplier=1.0, delta=1e-5
    )
    params = model.init(full, np.random.default_rng(0))
    _, blocks = blocks_with_noise(model.blocks(full, 0), full)
    exact = model.e_step(params, data, blocks).sums
    ledger = vips.Ledger(len(data))
    draws = [release(model, params, data, full, 0, Randomness.of(draw), ledger) for draw in range(30)]
    for name, block in blocks.items():
        assert all((np.remainder(draw.sums[name], block.grid) == 0).all() for draw in draws)
        residuals = np.array([draw.sums[name] - exact[name] for draw in draws])
        std = full.noise_multiplier * block.bound / block.share
        assert draws[0].noise_std[name] == pytest.approx(std)
        assert np.std(residuals) == pytest.approx(std, rel=5 / np.sqrt(2 * residuals.size))
        assert abs(residuals.mean()) < 5 * std / np.sqrt(residuals.size)

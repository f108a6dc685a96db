"""What every model must keep, checked on one list of configurations."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vips_core as vips
from sample_data import generate
from tests.toy import BetaBernoulli, coin_flips
from vips_core.baselines.dpsgd import PrivateGradientDescent


@dataclass(frozen=True)
class Configuration:
    """A model on data, with parameters reached by a few noisy steps."""

    name: str
    model: Callable[[], Any]
    data: Callable[[], Any]
    steps: tuple[int, ...] = (0, 1, 3)


@functools.cache
def documents():
    return generate.corpus(120, 30, topics=3, vocabulary_size=400, seed=0)[0]


@functools.cache
def patients():
    """Sparse and wide: more features than records."""
    return generate.stroke_cohort(150, 220, seed=0)[0]


@functools.cache
def answers():
    """Dense and narrow, with rows up to the norm bound."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(400), rng.random(400)])
    return vips.LabelledRows(x, rng.random(400) < 0.3, ("intercept", "a"), 2**0.5)


@functools.cache
def drawings():
    return generate.digits(80, seed=0)[0]


def lda(method):
    return vips.LDA(3, documents().vocabulary, 25, method=method)


def regression(rows, method):
    return vips.BayesianLogistic(rows.feature_names, rows.norm_bound, method)


CONFIGURATIONS = [
    Configuration("beta-bernoulli", lambda: BetaBernoulli(12, 2.0), coin_flips),
    Configuration("beta-bernoulli, tight clip", lambda: BetaBernoulli(12, 0.5), coin_flips),
    Configuration("lda refined", lambda: lda("refined"), documents),
    Configuration("lda paper", lambda: lda("paper"), documents),
    Configuration("logistic refined, narrow", lambda: regression(answers(), "refined"), answers),
    Configuration("logistic refined, wide and sparse", lambda: regression(patients(), "refined"), patients),
    Configuration("logistic paper", lambda: regression(answers(), "paper"), answers),
    Configuration("logistic paper, sparse", lambda: regression(patients(), "paper"), patients),
    Configuration("DP-SGD", lambda: PrivateGradientDescent(patients().feature_names, 10.0), patients),
    Configuration("sbn refined", lambda: vips.SBN(784, 4, (28, 28)), drawings),
    Configuration("sbn paper", lambda: vips.SBN(784, 3, (28, 28), method="paper"), drawings),
]
ALL = pytest.mark.parametrize("case", CONFIGURATIONS, ids=lambda case: case.name)


def test_both_regimes_of_the_regression_are_covered():
    for rows, expected in ((answers(), "narrow"), (patients(), "wide")):
        assert regression(rows, "refined").regime(plan_for(rows)) == expected


def plan_for(data, steps=4, noise=1.0):
    return vips.PrivacyPlan(
        records=len(data),
        expected_batch=max(1, len(data) // 4),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-5,
    )


def params_at(case, step):
    """Parameters as they are before `step`, from a private run."""
    model, data = case.model(), case.data()
    plan = plan_for(data)
    if step == 0:
        return model.init(plan, np.random.default_rng(0))
    return vips.fit(model, data, plan, seed=0, on_step=lambda progress: progress.step == step).params


def arrays(value):
    """Every array in params, in a fixed order."""
    fields = (
        vars(value)
        if hasattr(value, "__dict__")
        else {name: getattr(value, name) for name in value.__slots__}
    )
    return [
        np.asarray(item) for _, item in sorted(fields.items()) if isinstance(item, np.ndarray | float | int)
    ]


@ALL
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_one_record_moves_each_block_by_at_most_its_bound(case, seed):
    model, data = case.model(), case.data()
    rng = np.random.default_rng(seed)
    with_record = rng.random(len(data)) < 0.2
    record = rng.integers(len(data))
    with_record[record] = True
    without = with_record.copy()
    without[record] = False
    for step in case.steps:
        params, blocks = _params_cache(case, step), model.blocks(plan_for(data), step)
        more, less = (model.e_step(params, data[mask], blocks).sums for mask in (with_record, without))
        for name, block in blocks.items():
            moved = np.linalg.norm(np.asarray(more[name], np.float64) - less[name])
            rounding = 1e-5 * np.linalg.norm(less[name]) * np.finfo(more[name].dtype).eps / 1e-7
            assert moved <= block.bound * (1 + 1e-6) + rounding, (name, step)


_SEEN: dict[Any, Any] = {}


def _params_cache(case, step):
    if (case.name, step) not in _SEEN:
        _SEEN[case.name, step] = params_at(case, step)
    return _SEEN[case.name, step]


@ALL
def test_shares_and_cells_are_public(case):
    """Blocks depend on the plan and the step alone, and their squares sum to 1."""
    model, data = case.model(), case.data()
    for step in case.steps:
        blocks = model.blocks(plan_for(data), step)
        assert blocks == case.model().blocks(plan_for(data), step)
        assert sum(block.share**2 for block in blocks.values()) == pytest.approx(1)


@ALL
def test_e_step_is_repeatable_and_stateless(case):
    model, data = case.model(), case.data()
    half = np.arange(len(data)) % 2 == 0
    for step in case.steps:
        params, blocks = _params_cache(case, step), model.blocks(plan_for(data), step)
        first = model.e_step(params, data[half], blocks).sums
        model.e_step(params, data[~half], blocks)
        again = model.e_step(params, data[half], blocks).sums
        for name in blocks:
            assert np.array_equal(first[name], again[name]), name


@ALL
def test_an_empty_batch_sums_to_zero(case):
    model, data = case.model(), case.data()
    nobody = np.zeros(len(data), bool)
    for step in case.steps:
        blocks = model.blocks(plan_for(data), step)
        sums = model.e_step(_params_cache(case, step), data[nobody], blocks).sums
        assert all(not np.any(value) for value in sums.values())


@ALL
def test_the_same_seed_gives_the_same_bits_for_any_thread_count(case, monkeypatch):
    runs = []
    for threads in ("1", "2"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        data = case.data()
        runs.append(vips.fit(case.model(), data, plan_for(data), seed=11).params)
    for one, two in zip(arrays(runs[0]), arrays(runs[1]), strict=True):
        assert np.array_equal(one, two)


@ALL
def test_noise_free_and_noisy_runs_differ_only_in_noise(case):
    """The released mean over many draws is the noise-free sum."""
    from vips_core.privacy.wall import release

    model, data = case.model(), case.data()
    full = vips.PrivacyPlan(
        records=len(data), expected_batch=len(data), steps=1, noise_multiplier=1.0, delta=1e-5
    )
    params = model.init(full, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    blocks = model.blocks(full, 0)
    exact = model.e_step(params, data, blocks).sums
    ledger = vips.Ledger(len(data))
    draws = [release(model, params, data, full, 0, rng, ledger) for _ in range(30)]
    for name, block in blocks.items():
        residuals = np.array([draw.sums[name] - exact[name] for draw in draws])
        std = full.noise_multiplier * block.bound / block.share
        assert draws[0].noise_std[name] == pytest.approx(std)
        assert np.std(residuals) == pytest.approx(std, rel=5 / np.sqrt(2 * residuals.size))
        assert abs(residuals.mean()) < 5 * std / np.sqrt(residuals.size)

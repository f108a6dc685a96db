"""A record's contribution to a sum depends on that record alone, and is exactly within its bound."""

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_info

import vips_core as vips
from tests.models.test_contract import ALL, plan_for
from vips_core.models.logistic.coordinates import Coordinates
from vips_core.models.logistic.rivals import PrivateGradientDescent
from vips_core.privacy.wall import blocks_with_noise

AVX2 = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"}


def names(columns):
    return tuple(f"x{j}" for j in range(columns))


def blocks_of(model, plan, step=0):
    return blocks_with_noise(model.blocks(plan, step), plan)[1]


def is_within(values, block):
    """Compare a norm with the bound in whole numbers of steps, without rounding."""
    steps = [int(step) for step in np.asarray(values / block.grid).ravel()]
    assert np.array_equal(np.array(steps, float) * block.grid, values.ravel())
    return sum(step * step for step in steps) <= (Fraction(block.bound) / Fraction(block.grid)) ** 2


def only(data, record):
    return data[np.arange(len(data)) == record]


@ALL
def test_every_record_is_within_its_bound(case):
    model, data, seen = case.model(), case.data(), []
    plan = plan_for(data)
    vips.fit(model, data, plan, seed=5, on_step=lambda progress: seen.append(progress.params))
    for step, params in enumerate([model.init(plan, np.random.default_rng(0)), *seen[:-1]]):
        blocks = blocks_of(model, plan, step)
        for record in range(0, len(data), 17):
            sums = model.e_step(params, only(data, record), blocks).sums
            assert all(is_within(sums[name], block) for name, block in blocks.items()), (step, record)


# --- Copies of a record add up to a multiple of it, wherever they stand and whatever BLAS does -------------


def copies_differ(model, data, params, plan, step=0):
    """Return the blocks in which copies of a record do not add up to a multiple of it."""
    blocks = blocks_of(model, plan, step)
    whole, one = (model.e_step(params, rows, blocks).sums for rows in (data, only(data, 0)))
    return [name for name in blocks if not np.array_equal(whole[name], len(data) * one[name])]


def differing_copies():
    """Return the models whose contributions depend on a record's place, with this process's BLAS."""
    rng, found = np.random.default_rng(0), []
    plan = vips.PrivacyPlan(records=1100, expected_batch=1100, steps=1, noise_multiplier=1.0, delta=1e-5)
    for pixels in (63, 100, 784):
        image = rng.random(pixels) < 0.3
        data = vips.Images.from_images(np.tile(image, (300, 1)), 0.5)
        for hidden in (3, 7, 10, 20):
            model = vips.SBN(pixels, hidden, variant="paper")
            params = model.init(plan, rng)
            params = replace(params, weights=10 * params.weights, weight_pairs=100 * params.weight_pairs)
            found += [("sbn", pixels, hidden, name) for name in copies_differ(model, data, params, plan)]
    for columns in (5, 31, 40, 100, 333):
        x = np.tile(rng.random(columns), (1100, 1))
        data = vips.Table(x, np.ones(1100), names(columns), columns**0.5)
        root = rng.normal(size=(columns, columns))
        for variant in ("paper", "refined"):
            model = vips.BayesianLogistic(data.feature_names, data.norm_bound, variant)
            params = model.init(plan, rng)
            if variant == "paper":
                params = replace(params, covariance=root @ root.T / columns, mean=rng.normal(size=columns))
            found += [(variant, columns, name) for name in copies_differ(model, data, params, plan)]
    return found


def test_a_share_does_not_depend_on_where_a_record_stands():
    assert differing_copies() == []


@pytest.mark.parametrize("core", ["Haswell", "SkylakeX"])
def test_nor_does_it_on_other_kernels_of_blas(core):
    """OpenBLAS has kernels for each kind of processor; Haswell's sum some rows in another order."""
    here = {library.get("architecture") for library in threadpool_info() if library["user_api"] == "blas"}
    if not here <= (AVX2 if core == "Haswell" else AVX2 - {"Haswell", "Zen"}):
        pytest.skip(f"this processor ({here}) cannot run the kernels of {core}")
    code = "from tests.models.test_contributions import differing_copies; print(differing_copies())"
    environment = os.environ | {"OPENBLAS_CORETYPE": core, "VIPS_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr


# --- Bounds that are tight ---------------------------------------------------------------------------------


@pytest.mark.parametrize("logit", [-1000.0, 1000.0])
def test_images_at_their_worst_case_are_within_their_bounds(logit):
    """Without weights, all ⟨ξ⟩ are ¼ and all hidden units 0 or 1; few bounds are exact numbers."""
    plan = vips.PrivacyPlan(records=1, expected_batch=1, steps=2, noise_multiplier=1.0, delta=0.1)
    for pixels in range(1, 12):
        data = vips.Images.from_images(np.ones((1, pixels)), 0.5)
        for hidden in range(1, 12):
            model = vips.SBN(pixels, hidden, variant="paper")
            params = model.init(plan, np.random.default_rng(0))
            zeros = {"weights": 0 * params.weights, "weight_pairs": 0 * params.weight_pairs}
            zeros |= {"pixel_bias": 0 * params.pixel_bias, "bias_square": 0 * params.bias_square}
            params = replace(params, **zeros, hidden_logit=np.full(hidden, logit))
            blocks = blocks_of(model, plan)
            sums = model.e_step(params, data, blocks).sums
            assert [name for name, block in blocks.items() if not is_within(sums[name], block)] == []
            for name, block in blocks.items():
                moved, tight = np.linalg.norm(sums[name]), 0 if (name, logit) == ("cross", -1000) else 1
                assert name == "gram" or moved >= tight * 0.999999 * block.bound
        model = vips.SBN(pixels, 2)
        blocks = blocks_of(model, plan)
        sums = model.e_step(model.init(plan, np.random.default_rng(0)), data, blocks).sums
        assert is_within(sums["pixels"], blocks["pixels"])


SIZES = st.integers(-8, 8).map(lambda power: 10.0**power)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**20), weights=SIZES, bias=SIZES, logit=SIZES, hidden=st.integers(1, 9))
def test_images_at_extreme_parameters(seed, weights, bias, logit, hidden):
    rng = np.random.default_rng(seed)
    plan = vips.PrivacyPlan(records=6, expected_batch=6, steps=2, noise_multiplier=1.0, delta=0.1)
    data = vips.Images.from_images(rng.random((6, 10)) < rng.random(), 0.5)
    model = vips.SBN(10, hidden, variant="paper")
    params = model.init(plan, rng)
    params = replace(
        params,
        weights=weights * params.weights,
        weight_pairs=weights**2 * params.weight_pairs,
        pixel_bias=bias * params.pixel_bias,
        bias_square=bias**2 * params.bias_square,
        hidden_logit=logit * params.hidden_logit,
    )
    assert_alone_and_within(model, params, data, blocks_of(model, plan))


def assert_alone_and_within(model, params, data, blocks):
    """Check that all sum to one record, which is within its bound, plus the others."""
    others, everyone = np.arange(len(data)) > 0, np.ones(len(data), bool)
    whole, one, rest = (model.e_step(params, data[mask], blocks).sums for mask in (everyone, ~others, others))
    for name, block in blocks.items():
        assert is_within(one[name], block)
        assert np.array_equal(whole[name], one[name] + rest[name])


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**20),
    columns=st.integers(1, 40),
    size=SIZES,
    long=SIZES,
    method=st.sampled_from(["paper", "refined", "curvature", "DP-SGD"]),
    thin=st.booleans(),
)
def test_rows_at_extreme_parameters(seed, columns, size, long, method, thin):
    rng = np.random.default_rng(seed)
    x = long * rng.normal(size=(7, columns)) * (rng.random((7, columns)) < 0.8)
    x = sparse.csr_array(x) if thin else np.asfortranarray(x)
    data = vips.Table(x, rng.random(7) < 0.5, names(columns), columns**0.5)
    noise = 1e-3 if method == "curvature" else 1.0
    plan = vips.PrivacyPlan(records=7, expected_batch=7, steps=16, noise_multiplier=noise, delta=0.1)
    if method == "DP-SGD":
        model, steps = PrivateGradientDescent(data.feature_names, data.norm_bound), [0]
    else:
        variant = "paper" if method == "paper" else "refined"
        model = vips.BayesianLogistic(data.feature_names, data.norm_bound / 2, variant)
        steps = [0] if method == "paper" else [0, 1, 2, 15]
    params, point = model.init(plan, rng), size * rng.normal(size=columns)
    root = rng.normal(size=(columns, columns))
    if method == "DP-SGD":
        params = replace(params, weights=point)
    elif method == "paper":
        params = replace(params, mean=point, covariance=size * root @ root.T)
    else:
        scale = np.exp(3 * rng.normal(size=columns)) / columns**0.5
        moved = replace(params.coordinates, centre=rng.normal(size=columns), scale=scale, reach=scale)
        state = replace(params.state, point=np.append(size * rng.normal(), point))
        place = np.array([size * rng.normal(), size * rng.random()])
        found = replace(params.calibration, slopes=point, place=place, reach=long)
        params = replace(params, state=state, coordinates=moved, calibration=found)
    for step in steps:
        assert_alone_and_within(model, params, data, blocks_of(model, plan, step))


COLUMNS = 1_000_000


@pytest.mark.parametrize(
    ("make", "ahead"),
    [(np.array, 1), (np.array, 64), (sparse.csr_array, 1)],
    ids=["dense", "dense, for sums in lanes", "sparse"],
)
def test_a_row_of_a_million_columns_is_within_its_bound(make, ahead):
    """Most squares are below half of the sum's last bit, so adding them changes nothing."""
    x = np.full((1, COLUMNS), 2.0**-14)
    x[0, :ahead] = 8192.0
    data = vips.Table(make(x), [1], names(COLUMNS), 1.01 * np.linalg.norm(x))
    plan = vips.PrivacyPlan(records=1, expected_batch=1, steps=16, noise_multiplier=1e-3, delta=0.1)
    gradient = PrivateGradientDescent(data.feature_names, data.norm_bound, clip=data.norm_bound / 3)
    refined = vips.BayesianLogistic(data.feature_names, data.norm_bound, radius=data.norm_bound / 3)
    rng = np.random.default_rng(0)
    weights = replace(gradient.init(plan, rng), weights=np.append(-50.0, np.zeros(COLUMNS - 1)))
    start = refined.init(plan, rng)
    point = np.append(-50 / start.coordinates.constant, np.zeros(COLUMNS))
    wrong = replace(start, state=replace(start.state, point=point))
    for model, params, step in ((gradient, weights, 0), (refined, start, 0), (refined, wrong, 14)):
        ((name, block),) = blocks_of(model, plan, step).items()
        contribution = model.e_step(params, data, {name: block}).sums[name]
        assert is_within(contribution, block)
        assert np.linalg.norm(contribution) >= 0.9 * block.bound


def test_rows_that_were_scaled_down_once_stay_as_they_are():
    rng = np.random.default_rng(0)
    for columns in (1, 3, 1000, COLUMNS):
        x = rng.random((3, columns))
        x[:, 0] = 1000.0
        x[:, 1:] *= 1e-5
        once = vips.Table(x, [0, 1, 0], names(columns), 7.0)
        for rows in (once.x, sparse.csr_array(once.x)):
            again = vips.Table(rows, [0, 1, 0], names(columns), 7.0)
            assert np.array_equal(once.x, again.x.toarray() if sparse.issparse(again.x) else again.x)


# --- Other records must not decide in which order a row is added up ----------------------------------------


def models_of(data):
    """Return models whose bound is below the norms of most rows, and a step of each."""
    bound = data.norm_bound / 8
    yield PrivateGradientDescent(data.feature_names, clip=bound / 8), 0
    yield vips.BayesianLogistic(data.feature_names, bound, "paper"), 0
    for step in (0, 2, 15):  # moments, curvature, gradient
        yield vips.BayesianLogistic(data.feature_names, bound), step


def assert_parts_add_up(whole, *parts):
    """Compare sums on the finest possible grid, which hides little dependence on other records."""
    plan = vips.PrivacyPlan(
        records=len(whole), expected_batch=len(whole), steps=16, noise_multiplier=1e-3, delta=0.1
    )
    for model, step in models_of(whole):
        seen = [model.init(plan, np.random.default_rng(0))]
        if step:
            vips.fit(
                model, whole, plan, seed=0, on_step=lambda progress, seen=seen: seen.append(progress.params)
            )
        blocks = blocks_of(model, plan, step)
        sums = [model.e_step(seen[step], rows, blocks).sums for rows in (whole, *parts)]
        for name in blocks:
            assert np.array_equal(sums[0][name], sum(part[name] for part in sums[1:])), (model, step)


def halves(data):
    first = np.arange(len(data)) % 2 == 0
    return data[first], data[~first]


def test_a_table_that_is_stored_column_by_column_has_the_shares_of_its_rows():
    """Pandas gives such tables. A batch of all records is the table itself; other batches are rows of it."""
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(2000, 30)))
    data = vips.Table(x, x[:, 0] > 0, names(30), 30**0.5)
    assert_parts_add_up(data, *halves(data))


def test_what_others_miss_leaves_the_cells_of_a_row_in_their_order():
    known, missing = np.random.default_rng(0).random((6, 4)), np.zeros((6, 4))
    known[1, :3], missing[1, :3] = 0, 1
    x, ones = sparse.csr_array(np.column_stack([known, missing])), np.ones(8)
    pairs = np.array([(j, j + 4) for j in range(4)])
    found = Coordinates(ones, ones, ones, 0.3, -1, 1.0, missing=pairs)
    for row in range(6):
        alone, among_others = found.filled(x[[row]]), found.filled(x)[[row]]
        assert np.array_equal(alone.indices, among_others.indices)
        assert np.array_equal(alone.data, among_others.data)


def test_a_row_that_is_too_long_leaves_the_cells_of_others_in_their_order():
    rng = np.random.default_rng(0)
    x = rng.random((1000, 30)) * (rng.random((1000, 30)) < 0.7)
    x[0] *= 100
    everyone, without, alone = (
        vips.Table(sparse.csr_array(x[rows]), x[rows, 0] > 0.5, names(30), 30**0.5)
        for rows in (slice(None), slice(1, None), slice(1))
    )
    assert_parts_add_up(everyone, without, alone)

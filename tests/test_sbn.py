"""Sigmoid belief networks: the statistics, their bounds, the lower bound, the outputs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from sklearn.datasets import load_digits

import vips_core as vips
from tests import reference
from vips_core.kernels.sbn import (
    second_moments,
    settle_each,
    settle_shared,
    symmetric,
    triangle_scale,
    triangles,
)
from vips_core.metrics.images import pixel_accuracy, reconstruct, reconstruction_log_likelihood
from vips_core.models import sbn_paper, sbn_refined
from vips_core.models.sbn import SBN
from vips_core.models.symmetric import unpack
from vips_core.models.tpbn import TPBN
from vips_core.privacy.wall import release

METHODS = pytest.mark.parametrize("method", ["refined", "paper"])
SHAPE = (3, 4)
PIXELS, HIDDEN = 12, 3


def patterns(count=40, seed=0):
    """Images of two random patterns that are present or not, with some pixels flipped."""
    rng = np.random.default_rng(seed)
    parts = rng.random((2, PIXELS)) < 0.4
    present = rng.random((count, 2, 1)) < 0.5
    images = (present & parts).any(axis=1) ^ (rng.random((count, PIXELS)) < 0.05)
    return vips.BinaryRows.from_images(images.reshape(count, *SHAPE), 0.5)


def small(method, prior="tpbn"):
    return SBN(PIXELS, HIDDEN, SHAPE, method, prior)


def plan_for(data, steps=4, noise=0.0, batch=None):
    return vips.PrivacyPlan(
        records=len(data),
        expected_batch=batch or len(data),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-4,
    )


def trained(method, noise=0.0, steps=4, prior="tpbn"):
    data = patterns()
    return vips.fit(small(method, prior), data, plan_for(data, steps, noise), seed=1).params


@pytest.fixture(scope="module")
def digits():
    images = load_digits().images
    return vips.BinaryRows.from_images(images, 7).split(0.2, 0)


# ------------------------------------------------------------------------------------------------ kernels


def random_case(seed, images=4):
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((PIXELS, HIDDEN))
    roots = 0.4 * rng.standard_normal((PIXELS, HIDDEN, HIDDEN))
    seconds = means[:, :, None] * means[:, None, :] + roots @ roots.swapaxes(1, 2)
    c, b = rng.standard_normal(PIXELS), rng.standard_normal(HIDDEN)
    y = (rng.random((images, PIXELS)) < 0.5).astype(float)
    return y, means, seconds, c, b


def test_sweeps_follow_the_equations():
    y, means, seconds, c, b = random_case(0)
    rng = np.random.default_rng(1)
    mu, xi = rng.random((4, HIDDEN)), 0.25 * rng.random((4, PIXELS))
    expected = mu
    for _ in range(3):
        expected = np.array(
            [reference.sbn_sweep(y[n], expected[n], xi[n], means, seconds, c, b) for n in range(4)]
        )
    field = (y - 0.5 - xi * c) @ means + b
    settle_each(field, xi @ triangles(seconds), mu, 3, 0.0)
    np.testing.assert_allclose(mu, expected, rtol=1e-10)


def test_a_shared_gram_matrix_is_the_special_case_of_equal_ones():
    y, means, seconds, c, b = random_case(2)
    field = (y - 0.5 - 0.25 * c) @ means + b
    gram = 0.25 * seconds.sum(axis=0)
    shared, each = np.full((2, 4, HIDDEN), 0.5)
    settle_shared(field, gram, shared, 5, 0.0)
    settle_each(field, np.tile(triangles(gram), (4, 1)), each, 5, 0.0)
    np.testing.assert_allclose(shared, each, rtol=1e-12)


def test_triangles_keep_norm_and_matrix():
    mu = np.random.default_rng(0).random((2, HIDDEN))
    pairs = np.empty((2, HIDDEN * (HIDDEN + 1) // 2))
    second_moments(mu, pairs)
    full = mu[:, :, None] * mu[:, None, :] + np.array([np.diag(row * (1 - row)) for row in mu])
    np.testing.assert_allclose(symmetric(pairs, HIDDEN), full)
    np.testing.assert_allclose(np.linalg.norm(pairs[0] * triangle_scale(HIDDEN)), np.linalg.norm(full[0]))


# ------------------------------------------------------------------------------------------- lower bound


def bound_of(params, images, mus):
    seconds = symmetric(params.weight_pairs, HIDDEN)
    arguments = (params.pixel_bias, params.bias_square, params.hidden_logit, params.logit_square)
    return reference.sbn_bound(images, mus, params.weights, seconds, *arguments)


def test_the_lower_bound_never_falls_within_an_e_step():
    """From round to round: a round puts ⟨ξ⟩ at its optimum and then sweeps over z."""
    params, images = trained("paper", steps=2, prior="isotropic"), patterns().unpack(np.float64)
    mu = np.full((len(images), HIDDEN), 0.5)
    pairs = np.empty((len(images), params.weight_pairs.shape[1]))
    bounds = [bound_of(params, images, mu)]
    for _ in range(5):
        second_moments(mu, pairs)
        both = params.weight_pairs * triangle_scale(HIDDEN) ** 2
        square = pairs @ both.T + 2 * params.pixel_bias * (mu @ params.weights.T) + params.bias_square
        xi = np.vectorize(reference.sbn_pg_mean)(square)
        field = (images - 0.5 - xi * params.pixel_bias) @ params.weights + params.hidden_logit
        settle_each(field, xi @ params.weight_pairs, mu, 2, 0.0)
        bounds.append(bound_of(params, images, mu))
    assert bounds[1] > bounds[0]
    assert np.all(np.diff(bounds) >= -1e-9 * abs(bounds[0]))


def test_the_lower_bound_never_falls_in_a_non_private_batch_run():
    """In every M-step with q(z) held, and from the end of one sweep over all posteriors to the next."""
    data = patterns(80)
    images, model, seen = data.unpack(np.float64), small("paper", "isotropic"), []
    vips.fit(model, data, plan_for(data, 10), seed=0, on_step=lambda progress: seen.append(progress.params))
    ends = []
    for before, after in zip(seen[:-1], seen[1:], strict=True):
        mus = sbn_paper._posterior(before, images)[0]
        assert bound_of(after, images, mus) >= bound_of(before, images, mus) - 1e-9
        ends.append(bound_of(before, images, mus))
    assert ends[-1] > ends[0] + 10
    assert np.all(np.diff(ends) >= -1e-9)


def test_the_e_step_of_the_paper_agrees_with_the_equations():
    params, images = trained("paper"), patterns(5, seed=3).unpack(np.float64)
    mu, _, xi = sbn_paper._posterior(params, images)
    seconds = symmetric(params.weight_pairs, HIDDEN)
    for n, image in enumerate(images):
        expected = np.full(HIDDEN, 0.5)

        def xi_at(units):
            squares = [
                reference.sbn_psi_square(
                    units, params.weights[j], seconds[j], params.pixel_bias[j], params.bias_square[j]
                )
                for j in range(PIXELS)
            ]
            return [reference.sbn_pg_mean(square) for square in squares]

        for _ in range(sbn_paper.ROUNDS):
            now = xi_at(expected)
            for _ in range(sbn_paper.SWEEPS):
                expected = reference.sbn_sweep(
                    image, expected, now, params.weights, seconds, params.pixel_bias, params.hidden_logit
                )
        np.testing.assert_allclose(mu[n], expected, atol=2 * sbn_paper.TOLERANCE)
        np.testing.assert_allclose(xi[n], xi_at(mu[n]), rtol=1e-9)


def test_shrinkage_posteriors_have_the_means_of_their_densities():
    rng = np.random.default_rng(0)
    square = rng.random((2, 3)) + 0.05
    old = TPBN(np.ones((2, 3)), rng.random((2, 3)) + 0.2, rng.random(3) + 0.5, 0.7)
    new = old.updated(square)
    scale = np.empty((2, 3))
    for j in range(2):
        for k in range(3):

            def density(log_scale, j=j, k=k):
                """w ~ N(0, ζ), ζ ~ Gamma(½, ξ), over log ζ."""
                zeta = math.exp(log_scale)
                return math.exp(-square[j, k] / (2 * zeta) - old.scale_rate[j, k] * zeta)

            mass, up, down = (
                quad(lambda x, power=power: density(x) * math.exp(power * x), -30, 12)[0]
                for power in (0, 1, -1)
            )
            scale[j, k] = up / mass
            assert new.inverse_scale[j, k] == pytest.approx(down / mass, rel=1e-5)
    np.testing.assert_allclose(new.scale_rate, 1 / (scale + old.unit_rate), rtol=1e-5)
    np.testing.assert_allclose(new.unit_rate, 1.5 / (0.7 + new.scale_rate.sum(axis=0)))
    assert new.global_rate == pytest.approx(2 / (1 + new.unit_rate.sum()))


# ---------------------------------------------------------------------------------------------- contract


@METHODS
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 30.0]), step=st.integers(0, 2))
def test_one_image_moves_each_block_by_at_most_its_bound(method, seed, scale, step):
    rng = np.random.default_rng(seed)
    model, data = small(method), patterns(2, seed)
    plan = plan_for(data, 3, 1.0)
    params = model.init(plan, rng)
    params = replace(params, weights=scale * rng.standard_normal((PIXELS, HIDDEN)))
    if method == "paper":
        spread = scale * rng.standard_normal((PIXELS, HIDDEN, 2 * HIDDEN))
        params = replace(params, weight_pairs=triangles(spread @ spread.swapaxes(1, 2)))
    else:
        centres = {"pixel_centre": rng.random(PIXELS), "hidden_centre": rng.random(HIDDEN)}
        params = replace(params, **centres)
    blocks = model.blocks(plan, step)
    sums = model.e_step(params, data[np.array([True, False])], blocks).sums
    assert set(sums) == set(blocks)
    for name, block in blocks.items():
        assert np.linalg.norm(sums[name]) <= block.bound * (1 + 1e-12), name


def test_the_bounds_of_the_paper_are_the_worst_cases():
    blocks = SBN(16, 4, method="paper").blocks(plan_for(patterns()), 0)
    bounds = {name: block.bound for name, block in blocks.items()}
    assert bounds == {"hidden": 1.0, "pixels": 2.0, "xi": 1.0, "cross": 4.0, "gram": 4.0}


@METHODS
def test_e_step_adds_images_up_and_keeps_no_state(method):
    model, data = small(method), patterns()
    plan, params = plan_for(data), trained(method)
    blocks = model.blocks(plan, 1)
    half = np.arange(len(data)) % 2 == 0
    first, second = (model.e_step(params, data[mask], blocks).sums for mask in (half, ~half))
    both = model.e_step(params, data, blocks).sums
    again = model.e_step(params, data[half], blocks).sums
    for name in blocks:
        np.testing.assert_allclose(first[name] + second[name], both[name], atol=1e-9)
        assert np.array_equal(first[name], again[name])


@METHODS
@pytest.mark.parametrize("step", [0, 1])
def test_an_empty_batch_gives_zeros_and_can_be_used(method, step):
    model, data = small(method), patterns()
    plan = plan_for(data, noise=1.0, batch=1)
    nobody = data[np.zeros(len(data), bool)]
    blocks = model.blocks(plan, step)
    sums = model.e_step(trained(method), nobody, blocks).sums
    assert set(sums) == set(blocks)
    assert not any(np.any(value) for value in sums.values())
    assert model.latents(trained(method), nobody).shape == (0, HIDDEN)


@METHODS
def test_bits_do_not_depend_on_threads(method, monkeypatch, digits):
    train, _ = digits
    weights = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        fitted = vips.fit(SBN(64, 6, (8, 8), method), train, plan_for(train, 3, 2.0), seed=3)
        weights.append(fitted.params.weights)
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])


# ----------------------------------------------------------------------------------------------- refined


def test_refined_blocks_are_clipped_sums_of_records():
    data, params = patterns(), trained("refined", noise=1.0)
    model = small("refined")
    blocks = model.blocks(plan_for(data), 1)
    tight = {name: replace(block, bound=0.6 * block.bound) for name, block in blocks.items()}
    mus = model.latents(params, data)
    images = data.unpack(np.float64)
    for asked in (blocks, tight):
        records = [
            reference.sbn_clipped_record(
                image,
                mu,
                params.pixel_centre,
                params.hidden_centre,
                asked["cross"].bound,
                asked["second"].bound,
            )
            for image, mu in zip(images, mus, strict=True)
        ]
        sums = model.e_step(params, data, asked).sums
        np.testing.assert_allclose(sums["cross"], sum(cross for cross, _ in records), atol=1e-10)
        np.testing.assert_allclose(
            unpack(sums["second"], HIDDEN + 1), sum(second for _, second in records), atol=1e-10
        )


def test_recentring_is_exact():
    """Statistics moved to new centres equal statistics computed there."""
    rng = np.random.default_rng(0)
    y, mu, weight = rng.random((50, PIXELS)), rng.random((50, HIDDEN)), rng.random(50) + 0.5
    params = small("refined").init(plan_for(patterns()), rng)

    def statistics(pixel_centre, hidden_centre):
        units = np.column_stack([np.ones(50), mu - hidden_centre])
        variance = np.diag(np.concatenate([[0.0], weight @ (mu * (1 - mu))]))
        return (weight[:, None] * (y - pixel_centre)).T @ units, (
            weight[:, None] * units
        ).T @ units + variance

    cross, second = statistics(params.pixel_centre, params.hidden_centre)
    total = float(weight.sum())
    moved = sbn_refined._recentred(replace(params, cross=cross, second=second, records=math.ceil(total)))
    np.testing.assert_allclose(moved.pixel_centre, weight @ y / total)
    np.testing.assert_allclose(moved.hidden_centre, weight @ mu / total)
    cross, second = statistics(moved.pixel_centre, moved.hidden_centre)
    np.testing.assert_allclose(moved.cross, cross, atol=1e-10)
    np.testing.assert_allclose(moved.second, second, atol=1e-10)


def test_neighbouring_pixels_agree_by_a_public_rule():
    root = sbn_refined._smoothing(12, (3, 4))
    agreement = root @ root.T
    length = 3 / 16
    for one in range(12):
        for other in range(12):
            square = (one // 4 - other // 4) ** 2 + (one % 4 - other % 4) ** 2
            assert agreement[one, other] == pytest.approx(math.exp(-square / (2 * length**2)), abs=1e-12)
    assert np.array_equal(sbn_refined._smoothing(5, None), np.eye(5))


def test_the_filter_brings_a_smooth_covariance_nearer_to_the_truth():
    rng = np.random.default_rng(0)
    variant = sbn_refined.Refined(256, 5, (16, 16))
    params = replace(variant.init(100, rng), pixel_centre=np.full(256, 0.5))
    truth = 0.1 * variant.smoothing @ rng.standard_normal((256, 5))
    noisy = truth + 0.1 * rng.standard_normal(truth.shape)
    filtered = variant._denoised(noisy, 0.1, params)
    assert np.linalg.norm(filtered - truth) < 0.8 * np.linalg.norm(noisy - truth)
    assert variant._denoised(truth, 0.0, params) is truth


def test_private_digits_are_described_better_than_by_their_mean(digits):
    train, test = digits
    model = SBN(64, 20, (8, 8))
    plan = model.recommend(records=len(train), epsilon=4.0, delta=1e-4, epochs=12)
    fitted = vips.fit(model, train, plan, seed=0)
    mean = ((train.unpack(np.float64).mean(axis=0) > 0.5) == test.unpack(bool)).mean()
    free = vips.fit(model, train, plan.replace(noise_multiplier=0.0), seed=0)
    assert fitted.epsilon() <= 4.0
    assert pixel_accuracy(model, fitted.params, test) > mean + 0.03
    assert pixel_accuracy(model, free.params, test) > mean + 0.08


def test_one_step_does_without_the_mean_image():
    model, data = small("refined"), patterns()
    assert set(model.blocks(plan_for(data, 1), 0)) == {"cross", "second"}
    assert set(model.blocks(plan_for(data, 2), 0)) == {"pixels"}
    assert set(model.blocks(plan_for(data, 2), 1)) == {"cross", "second"}


# ------------------------------------------------------------------------------------------------- paper


def test_noisy_runs_of_the_paper_stay_finite(digits):
    train, test = digits
    model = SBN(64, 10, (8, 8), "paper")
    params = vips.fit(model, train, plan_for(train, 20, 1.0, 200), seed=0).params
    assert all(np.isfinite(value).all() for value in vars(params).values())
    assert np.abs(params.weights).max() < 1e4
    assert 0 <= pixel_accuracy(model, params, test) <= 1


def test_eigenvalues_of_a_noisy_gram_are_floored():
    rng = np.random.default_rng(0)
    noisy = rng.standard_normal((3, HIDDEN, HIDDEN))
    noisy = noisy + noisy.swapaxes(1, 2)
    floored = symmetric(sbn_paper._floored(triangles(noisy), HIDDEN), HIDDEN)
    assert np.linalg.eigvalsh(floored).min() >= sbn_paper.EIGENVALUE_FLOOR * (1 - 1e-9)
    kept = noisy @ noisy + np.eye(HIDDEN)
    np.testing.assert_allclose(sbn_paper._floored(triangles(kept), HIDDEN), triangles(kept))


def test_statistics_of_the_paper_are_clamped_and_averaged():
    model, data = small("paper"), patterns()
    plan = plan_for(data, noise=50.0)
    params, ledger = model.init(plan, np.random.default_rng(0)), vips.Ledger(len(data))
    for step in range(2):
        released = release(model, params, data, plan, step, np.random.default_rng(step), ledger)
        before, params = params, model.m_step(params, released, step)
        clamped = np.clip(released.total("cross") / len(data), -0.5, 0.5)
        rate = 1 if step == 0 else (1024 + step) ** -0.7
        np.testing.assert_allclose(params.cross, (1 - rate) * before.cross + rate * clamped)


# ----------------------------------------------------------------------------------------------- outputs


@METHODS
def test_accuracy_and_likelihood_by_brute_force(method):
    model, params, test = small(method), trained(method), patterns(9, seed=5)
    images, mus = test.unpack(np.float64), model.latents(params, test)
    right, log_likelihood = 0, 0.0
    for n in range(9):
        for j in range(PIXELS):
            psi = params.pixel_bias[j] + sum(params.weights[j, k] * mus[n, k] for k in range(HIDDEN))
            p = reference.sigmoid(params.logit_gain * psi)
            right += (p >= 0.5) == images[n, j]
            log_likelihood += math.log(p if images[n, j] else 1 - p)
            assert reconstruct(model, params, test)[n, j] == pytest.approx(p)
    assert pixel_accuracy(model, params, test) == pytest.approx(right / (9 * PIXELS))
    assert reconstruction_log_likelihood(model, params, test) == pytest.approx(log_likelihood / 9)


@METHODS
def test_latents_of_an_image_do_not_depend_on_its_neighbours(method):
    model, params, test = small(method), trained(method), patterns(30, seed=5)
    all_together = model.latents(params, test)
    alone = model.latents(params, test[np.arange(30) == 7])
    np.testing.assert_allclose(all_together[7], alone[0], rtol=1e-9)


def test_samples_follow_the_model():
    model, params = small("refined"), trained("refined")
    rng = np.random.default_rng(0)
    samples = model.sample(params, 4000, rng)
    assert samples.shape == SHAPE
    b = 1 / (1 + np.exp(-params.hidden_logit))
    states = np.array(np.meshgrid(*[[0, 1]] * HIDDEN)).reshape(HIDDEN, -1).T
    chance = np.prod(np.where(states == 1, b, 1 - b), axis=1)
    expected = chance @ model.decode(params, states)
    np.testing.assert_allclose(
        samples.unpack(np.float64).mean(axis=0), expected, atol=4 * 0.5 / np.sqrt(4000)
    )
    repeat = model.sample(params, 4000, np.random.default_rng(0))
    assert np.array_equal(samples.bits, repeat.bits)


@METHODS
def test_dictionary_has_one_image_per_hidden_unit(method):
    params = trained(method)
    pictures = small(method).dictionary(params)
    assert pictures.shape == (HIDDEN, *SHAPE)
    assert pictures[1, 2, 3] == params.weights[2 * SHAPE[1] + 3, 1]
    assert SBN(PIXELS, HIDDEN, method=method).dictionary(params).shape == (HIDDEN, 1, PIXELS)


def test_recommended_plans():
    refined = SBN(64, 5).recommend(records=1000, epsilon=1.0, delta=1e-4, epochs=50)
    assert (refined.sampling_rate, refined.steps) == (1.0, 12)
    one_pass = SBN(64, 5).recommend(records=1200, epsilon=1.0, delta=1e-4, epochs=1)
    assert (one_pass.expected_batch, one_pass.steps) == (100, 12)
    paper = SBN(64, 5, method="paper").recommend(records=10_000, epsilon=1.0, delta=1e-4, epochs=2)
    assert (paper.expected_batch, paper.steps) == (1600, 12)
    assert max(refined.epsilon(), one_pass.epsilon(), paper.epsilon()) <= 1.0
    with pytest.raises(ValueError, match="^epochs must be a finite number above 0, got 0$"):
        SBN(64, 5).recommend(records=1000, epsilon=1.0, delta=1e-4, epochs=0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"pixels": 0, "hidden": 3}, "pixels must be a whole number of at least 1, got 0"),
        ({"pixels": 12, "hidden": 2.5}, "hidden must be a whole number of at least 1, got 2.5"),
        (
            {"pixels": 12, "hidden": 3, "image_shape": (4, 4)},
            r"image_shape must have 12 pixels, got \(4, 4\)",
        ),
        ({"pixels": 12, "hidden": 3, "method": "best"}, "method must be 'refined' or 'paper', got 'best'"),
        ({"pixels": 12, "hidden": 3, "prior": "flat"}, "prior must be 'tpbn' or 'isotropic', got 'flat'"),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        SBN(**arguments)


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"^the model has 64 pixels, but the images have shape \(3, 4\)$"):
        SBN(64, 3).latents(trained("refined"), patterns())
    with pytest.raises(ValueError, match="^count must be a whole number of at least 1, got 0$"):
        small("refined").sample(trained("refined"), 0, np.random.default_rng(0))

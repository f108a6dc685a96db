"""The refined sigmoid belief network: exact moments, their posterior under noise, and the fit to them."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import vips_core as vips
from tests.models.sbn.networks import HIDDEN, PIXELS, digits, patterns, plan_for, small
from vips_core.models.base import Released
from vips_core.models.sbn import refined
from vips_core.models.sbn.kernels import settle_shared
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.refined import CONSTANTS, CURVATURE, MAX_PIXELS, MAX_UNORDERED, Refined
from vips_core.models.sbn.smooth import by_displacement, denoised, posterior

__all__ = ["digits"]  # a fixture


@pytest.mark.parametrize(
    ("shape", "limit", "sentence"),
    [
        (None, MAX_UNORDERED, "10,000 in the refined variant without image_shape, got 10,001"),
        ((1, MAX_PIXELS), MAX_PIXELS, "65,536 in the refined variant, got 65,537"),
    ],
)
def test_images_that_need_too_much_memory_are_refused(shape, limit, sentence):
    assert SBN(limit, 2, shape).pixels == limit
    with pytest.raises(ValueError, match=f"^pixels must be at most {sentence}$"):
        SBN(limit + 1, 2, shape and (1, limit + 1))
    assert SBN(limit + 1, 2, variant="paper").pixels == limit + 1


@pytest.mark.parametrize("clip", [1.0, 0.3])
@pytest.mark.parametrize("rank", [PIXELS, 5])
def test_moments_are_clipped_sums_of_records(clip, rank):
    data, model = patterns(), small("refined")
    algorithm = Refined(model, replace(CONSTANTS, residual_clip=clip, rank=rank))
    plan, centre = plan_for(data), np.linspace(0.1, 0.9, PIXELS)
    basis = algorithm._basis(centre)
    params = replace(algorithm.init(plan, np.random.default_rng(0)), pixel_centre=centre, basis=basis)
    bound = clip**2 * (centre * (1 - centre)).sum() * 1.25
    assert algorithm._bound(params) == pytest.approx(bound)
    expected = np.zeros((rank + 1, rank + 1))
    for image in data.unpack(np.float64):
        residual = np.concatenate([[0.5 * np.sqrt(bound / 1.25)], basis.T @ (image - centre)])
        expected += np.outer(residual, residual) * min(1, bound / (residual @ residual))
    sums = algorithm.sums(params, data, algorithm.blocks(plan, 1))["second"]
    np.testing.assert_allclose(bound * sums, expected, atol=1e-4)  # cut to a grid


@pytest.mark.parametrize("steps", [1, 3])
def test_without_noise_the_moments_are_those_of_the_images(steps):
    data, model = patterns(), small("refined")
    unclipped = replace(CONSTANTS, residual_clip=3.0)
    vars(model)["algorithm"] = Refined(model, unclipped)
    params = vips.fit(model, data, plan_for(data, steps), seed=0).params
    mean, covariance, noise_std = model.algorithm._moments(params)
    images = data.unpack(np.float64)
    assert noise_std == 0
    np.testing.assert_allclose(mean, np.clip(images.mean(axis=0), *refined.MEAN_RANGE), atol=1e-5)
    truth = params.basis.T @ np.cov(images.T, bias=True) @ params.basis
    np.testing.assert_allclose(covariance, truth, atol=1e-5)


def test_noise_of_several_steps_is_averaged():
    data, model = patterns(), small("refined")
    params = vips.fit(model, data, plan_for(data, 5, 2.0), seed=0).params
    assert params.second_std == pytest.approx(2.0 * model.algorithm._bound(params) / np.sqrt(4))


def test_a_noisy_mean_image_is_smoothed():
    shape, rng = (16, 16), np.random.default_rng(0)
    algorithm = Refined(SBN(256, 5, shape))
    plan = vips.PrivacyPlan(records=100, expected_batch=100, steps=2, noise_multiplier=1.0, delta=1e-4)
    down, across = np.mgrid[:16, :16] / 15
    truth = (0.5 + 0.3 * np.sin(3 * down) * np.cos(3 * across)).ravel()
    params = algorithm.init(plan, rng)
    for noise_std in (0.0, 0.1, 0.3):
        noisy = truth + noise_std * rng.standard_normal(256)
        released = Released({"pixels": 100 * (noisy - 0.5)}, {"pixels": 100 * noise_std}, 1.0)
        after = algorithm.update(params, released, 0)
        error = np.sqrt(np.mean((after.pixel_centre - truth) ** 2))
        assert error <= 0.6 * noise_std + 1e-12
        assert 0.3 * error <= after.centre_std + 1e-12 <= 3 * error + 1e-11


def test_the_posterior_of_a_covariance_is_nearer_to_it():
    rng = np.random.default_rng(0)
    dictionary = np.geomspace(3, 0.1, 256)[:, None] * rng.standard_normal((256, 40))
    truth = dictionary @ dictionary.T / 40
    noise = rng.standard_normal(truth.shape)
    for noise_std in (0.1, 1.0):
        noisy = truth + noise_std * (noise + noise.T) / np.sqrt(2)
        posterior = denoised(noisy, noise_std)
        assert np.linalg.norm(posterior - truth) < 0.6 * np.linalg.norm(noisy - truth)
        assert np.linalg.eigvalsh(posterior).min() > -1e-9
    assert np.isfinite(denoised(noisy, 1e6)).all()


def test_a_covariance_by_displacement_is_an_average_over_pairs():
    shape, rng = (3, 4), np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    root, deviation = rng.standard_normal((5, 5)), rng.uniform(0.1, 0.5, 12)
    covariance, places = root @ root.T, [(i, j) for i in range(3) for j in range(4)]
    images = basis @ covariance @ basis.T
    sums = {}
    for one, (i, j) in enumerate(places):
        for other, (down, right) in enumerate(places):
            pair = sums.setdefault((down - i, right - j), np.zeros(2))
            pair += images[one, other], deviation[one] * deviation[other]
    expected = np.empty((12, 12))
    for one, (i, j) in enumerate(places):
        for other, (down, right) in enumerate(places):
            total, pairs = sums[down - i, right - j]
            expected[one, other] = deviation[one] * deviation[other] * total / pairs
    found = by_displacement(covariance, basis, deviation, shape)
    np.testing.assert_allclose(found, basis.T @ expected @ basis, atol=1e-10)


def test_the_posterior_learns_how_neighbours_agree():
    """Columns of an image agree, rows do not, which the prior for neighbours does not know."""
    shape, rng = (16, 16), np.random.default_rng(0)
    truth = np.kron(np.eye(16), np.exp(-np.abs(np.subtract.outer(np.arange(16), np.arange(16))) / 8)) / 4
    basis = Refined(SBN(256, 5, shape))._basis(np.full(256, 0.5))
    noise = rng.standard_normal(truth.shape)
    along = basis.T @ truth @ basis
    noisy = along + 0.1 * (noise + noise.T) / np.sqrt(2)
    without, learned = (posterior(noisy, 0.1, basis, np.full(256, 0.5), known) for known in (None, shape))
    assert np.linalg.norm(learned - along) < 0.7 * np.linalg.norm(without - along)


def test_simulated_statistics_are_those_of_drawn_gaussian_images():
    rng = np.random.default_rng(0)
    weights, units = rng.standard_normal((PIXELS, HIDDEN)), np.array([0.3, 0.5, 0.8])
    root = 0.3 * rng.standard_normal((PIXELS, PIXELS))
    images = rng.standard_normal((100_000, PIXELS)) @ root.T
    gram = CURVATURE * weights.T @ weights
    field = images @ weights + gram @ units + np.log(units / (1 - units))
    mu = np.full((len(images), HIDDEN), 0.5)
    settle_shared(field, gram, mu, refined.SWEEPS, refined.TOLERANCE)
    simulated, cross = refined._simulated(weights, root @ root.T, units, refined._draws(100_000, HIDDEN))
    np.testing.assert_allclose(simulated.mean(axis=0), mu.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(cross, (images - images.mean(axis=0)).T @ mu / len(mu), atol=0.01)
    np.testing.assert_allclose(np.cov(simulated.T), np.cov(mu.T), atol=0.01)


def test_average_units_give_the_average_image():
    data, model = patterns(), small("refined")
    params = vips.fit(model, data, plan_for(data, 4), seed=0).params
    units = 1 / (1 + np.exp(-params.hidden_logit))
    mean = 0.5 + CURVATURE * (params.weights @ units + params.pixel_bias)
    truth = np.clip(data.unpack(np.float64).mean(axis=0), *refined.MEAN_RANGE)
    np.testing.assert_allclose(mean, truth, atol=1e-3)
    expected = 1 / (1 + np.exp(-4 * params.logit_gain * (truth - 0.5)))
    np.testing.assert_allclose(model.expected(params, units[None])[0], expected, atol=0.01)


def test_memory_and_time_are_linear_in_pixels():
    plan = vips.PrivacyPlan(records=20, expected_batch=20, steps=4, noise_multiplier=1.0, delta=1e-4)
    cells = {}
    for side in (40, 80):
        images = np.random.default_rng(0).random((20, side, side)) < 0.3
        data, model = vips.Images.from_images(images, 0.5), SBN(side**2, 2, (side, side))
        tracemalloc.start()
        vips.fit(model, data, plan, seed=0)
        cells[side] = tracemalloc.get_traced_memory()[1] / 8
        tracemalloc.stop()
    assert cells[80] < 4.2 * cells[40]


def test_few_private_images_are_enough(digits):
    train, test = digits
    model = SBN(64, 50, (8, 8))
    plan = model.recommend(records=len(train), epsilon=1.0, delta=1e-4, epochs=12)
    mean = ((train.unpack(np.float64).mean(axis=0) > 0.5) == test.unpack(bool)).mean()
    assert vips.pixel_accuracy(vips.fit(model, train, plan, seed=0), test) > mean + 0.05

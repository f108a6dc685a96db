"""The refined sigmoid belief network: exact moments, their posterior under noise, and the fit to them."""

from dataclasses import replace

import numpy as np
import pytest

import vips_core as vips
from tests.models.sbn.networks import HIDDEN, PIXELS, digits, patterns, plan_for, small
from vips_core.models.sbn import refined
from vips_core.models.sbn.kernels import settle_shared
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.refined import CONSTANTS, MAX_PIXELS, Refined

__all__ = ["digits"]  # a fixture


def test_images_that_need_too_much_memory_are_refused():
    assert SBN(MAX_PIXELS, 2).pixels == SBN(MAX_PIXELS, 2, (100, 100)).pixels == 10_000
    with pytest.raises(
        ValueError, match="^pixels must be at most 10,000 in the refined variant, got 10,001$"
    ):
        SBN(MAX_PIXELS + 1, 2)
    assert SBN(MAX_PIXELS + 1, 2, variant="paper").pixels == 10_001


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_moments_are_clipped_sums_of_records(share):
    data, model = patterns(), small("refined")
    plan, centre = plan_for(data), np.linspace(0.1, 0.9, PIXELS)
    params = replace(model.init(plan, np.random.default_rng(0)), pixel_centre=centre)
    block = model.blocks(plan, 1)["second"]
    block = replace(block, bound=share * block.bound)
    expected = np.zeros((PIXELS + 1, PIXELS + 1))
    for image in data.unpack(np.float64):
        residual = np.concatenate([[model.algorithm._unit(plan.steps)], image - centre])
        expected += np.outer(residual, residual) * min(1, block.bound / (residual @ residual))
    sums = model.e_step(params, data, {"second": block}).sums["second"]
    np.testing.assert_allclose(sums, expected, atol=1e-4)  # cut to a grid


@pytest.mark.parametrize("steps", [1, 3])
def test_without_noise_the_moments_are_those_of_the_images(steps):
    data, model = patterns(), small("refined")
    unclipped = replace(CONSTANTS, residual_clip=1.0)
    vars(model)["algorithm"] = Refined(model, unclipped)
    params = vips.fit(model, data, plan_for(data, steps), seed=0).params
    mean, covariance, noise_std = model.algorithm._moments(params)
    images = data.unpack(np.float64)
    assert noise_std == 0
    np.testing.assert_allclose(mean, np.clip(images.mean(axis=0), *refined.MEAN_RANGE), atol=1e-5)
    np.testing.assert_allclose(covariance, np.cov(images.T, bias=True), atol=1e-5)


def test_noise_of_several_steps_is_averaged():
    data, model = patterns(), small("refined")
    params = vips.fit(model, data, plan_for(data, 5, 2.0), seed=0).params
    assert params.second_std == pytest.approx(2.0 * model.algorithm._bound(5) / np.sqrt(4))


def test_the_posterior_of_a_covariance_is_nearer_to_it():
    rng = np.random.default_rng(0)
    algorithm = Refined(SBN(256, 5, (16, 16)))
    dictionary = algorithm._agreement(root=True) @ rng.standard_normal((256, 300))
    truth = dictionary @ dictionary.T / 300
    noise = rng.standard_normal(truth.shape)
    noise_std = 0.1
    noisy = truth + noise_std * (noise + noise.T) / np.sqrt(2)
    axes = np.linalg.eigh(algorithm._agreement())[1]
    posterior = refined.denoised(noisy, axes, noise_std, CONSTANTS.groups)
    assert np.linalg.norm(posterior - truth) < 0.6 * np.linalg.norm(noisy - truth)
    assert np.linalg.eigvalsh(posterior).min() > -1e-9
    drowned = refined.denoised(noisy, axes, 1e3, CONSTANTS.groups)
    assert drowned[0, 1] > 5 * abs(drowned[0, -1])  # only the agreement of neighbours is left


def test_simulated_statistics_are_those_of_drawn_gaussian_images():
    rng, model = np.random.default_rng(0), small("refined")
    params = replace(
        model.init(plan_for(patterns()), rng),
        pixel_bias=rng.standard_normal(PIXELS),
        weights=rng.standard_normal((PIXELS, HIDDEN)),
    )
    root, mean = 0.3 * rng.standard_normal((PIXELS, PIXELS)), rng.random(PIXELS)
    images = mean + rng.standard_normal((100_000, PIXELS)) @ root.T
    mu = np.full((len(images), HIDDEN), 0.5)
    shifted = images - 0.5 - refined.CURVATURE * params.pixel_bias
    field = shifted @ params.weights + params.hidden_logit
    settle_shared(field, 0.25 * params.weights.T @ params.weights, mu, CONSTANTS.sweeps, CONSTANTS.tolerance)
    units, cross, second = refined._simulated_moments(
        params, mean, root @ root.T, refined._draws(100_000, HIDDEN), CONSTANTS
    )
    np.testing.assert_allclose(units, mu.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(cross, (images - images.mean(axis=0)).T @ mu / len(mu), atol=0.01)
    expected = mu.T @ mu / len(mu) + np.diag((mu * (1 - mu)).mean(axis=0))
    np.testing.assert_allclose(second, expected, atol=0.01)


def test_few_private_images_are_enough(digits):
    train, test = digits
    model = SBN(64, 50, (8, 8))
    plan = model.recommend(records=len(train), epsilon=1.0, delta=1e-4, epochs=12)
    mean = ((train.unpack(np.float64).mean(axis=0) > 0.5) == test.unpack(bool)).mean()
    assert vips.pixel_accuracy(vips.fit(model, train, plan, seed=0), test) > mean + 0.05

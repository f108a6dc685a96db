"""Sigmoid belief networks: results of private training, scores, samples and refusals."""

import math

import numpy as np
import pytest

import vips_core as vips
from tests import reference
from tests.models.sbn.networks import (
    HIDDEN,
    PIXELS,
    SHAPE,
    VARIANTS,
    digits,
    patterns,
    plan_for,
    small,
    trained,
)
from vips_core.kernels.symmetric import from_triangles, triangles
from vips_core.models.sbn import paper as sbn_paper
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.refined import Refined
from vips_core.models.sbn.scores import reconstruct, scores
from vips_core.privacy.noise import Randomness
from vips_core.privacy.wall import release

__all__ = ["digits"]  # a fixture


def test_private_digits_are_described_better_than_by_their_mean(digits):
    train, test = digits
    model = SBN(64, 20, (8, 8))
    plan = model.recommend(records=len(train), epsilon=4.0, delta=1e-4, epochs=12)
    fitted = vips.fit(model, train, plan, seed=0)
    mean = ((train.unpack(np.float64).mean(axis=0) > 0.5) == test.unpack(bool)).mean()
    free = vips.fit(model, train, plan.replace(noise_multiplier=0.0), seed=0)
    assert fitted.epsilon() <= 4.0
    assert vips.pixel_accuracy(fitted, test) > mean + 0.03
    assert vips.pixel_accuracy(free, test) > mean + 0.08


def test_one_step_does_without_the_mean_image():
    algorithm, data = Refined(small("refined")), patterns()
    assert set(algorithm.blocks(plan_for(data, 1), 0)) == {"second"}
    assert set(algorithm.blocks(plan_for(data, 2), 0)) == {"pixels"}
    assert set(algorithm.blocks(plan_for(data, 2), 1)) == {"second"}


def test_noisy_runs_of_the_paper_stay_finite(digits):
    train, test = digits
    model = SBN(64, 10, (8, 8), "paper")
    params = vips.fit(model, train, plan_for(train, 20, 1.0, 200), seed=0).params
    values = {**vars(params), **vars(params.shrinkage)}
    del values["shrinkage"]
    assert all(np.isfinite(value).all() for value in values.values())
    assert np.abs(params.weights).max() < 1e4
    assert 0 <= scores(model, params, test)[0] <= 1


def test_eigenvalues_of_a_noisy_gram_are_floored():
    rng = np.random.default_rng(0)
    noisy = rng.standard_normal((3, HIDDEN, HIDDEN))
    noisy = noisy + noisy.swapaxes(1, 2)
    floored = from_triangles(sbn_paper.floored(triangles(noisy), HIDDEN), HIDDEN)
    assert np.linalg.eigvalsh(floored).min() >= sbn_paper.EIGENVALUE_FLOOR * (1 - 1e-9)
    kept = noisy @ noisy + np.eye(HIDDEN)
    np.testing.assert_allclose(sbn_paper.floored(triangles(kept), HIDDEN), triangles(kept))


def test_statistics_of_the_paper_are_clamped_and_averaged():
    model, data = small("paper"), patterns()
    plan = plan_for(data, noise=50.0)
    params, ledger = model.init(plan, np.random.default_rng(0)), vips.Ledger(len(data))
    for step in range(2):
        released = release(model, params, data, plan, step, Randomness.of(step), ledger)
        before, params = params, model.m_step(params, released, step)
        clamped = np.clip(released.total("cross") / len(data), -0.5, 0.5)
        rate = 1 if step == 0 else (1024 + step) ** -0.7
        np.testing.assert_allclose(params.cross, (1 - rate) * before.cross + rate * clamped)


@VARIANTS
def test_accuracy_and_likelihood_by_brute_force(variant):
    model, params, test = small(variant), trained(variant), patterns(9, seed=5)
    images, mus = test.unpack(np.float64), model.latents(params, test)
    units = [reference.sigmoid(logit) for logit in params.hidden_logit]
    readout = params.readout if variant == "refined" else params.weights
    right, log_likelihood = 0, 0.0
    for n in range(9):
        for j in range(PIXELS):
            psi = params.pixel_bias[j] + sum(
                params.weights[j, k] * units[k] + readout[j, k] * (mus[n, k] - units[k])
                for k in range(HIDDEN)
            )
            p = reference.sigmoid(params.logit_gain * psi)
            right += (p >= 0.5) == images[n, j]
            log_likelihood += math.log(p if images[n, j] else 1 - p)
            assert reconstruct(model, params, test)[n, j] == pytest.approx(p)
    assert scores(model, params, test) == pytest.approx((right / (9 * PIXELS), log_likelihood / 9))


@VARIANTS
def test_latents_of_an_image_do_not_depend_on_its_neighbours(variant):
    model, params, test = small(variant), trained(variant), patterns(30, seed=5)
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


@VARIANTS
def test_dictionary_has_one_image_per_hidden_unit(variant):
    params = trained(variant)
    pictures = small(variant).dictionary(params)
    assert pictures.shape == (HIDDEN, *SHAPE)
    assert pictures[1, 2, 3] == params.weights[2 * SHAPE[1] + 3, 1]
    assert SBN(PIXELS, HIDDEN, variant=variant).dictionary(params).shape == (HIDDEN, 1, PIXELS)


def test_recommended_plans():
    refined = SBN(64, 5).recommend(records=1000, epsilon=1.0, delta=1e-4, epochs=50)
    assert (refined.sampling_rate, refined.steps) == (1.0, 4)
    one_pass = SBN(64, 5).recommend(records=1200, epsilon=1.0, delta=1e-4, epochs=1)
    assert (one_pass.expected_batch, one_pass.steps) == (300, 4)
    large = SBN(2048, 5).recommend(records=1200, epsilon=1.0, delta=1e-4, epochs=1)
    assert (large.expected_batch, large.steps) == (300, 4)
    paper = SBN(64, 5, variant="paper").recommend(records=10_000, epsilon=1.0, delta=1e-4, epochs=2)
    assert (paper.expected_batch, paper.steps) == (1600, 12)
    assert max(plan.epsilon() for plan in (refined, one_pass, large, paper)) <= 1.0
    with pytest.raises(ValueError, match="^epochs must be a number above 0, got 0$"):
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
        ({"pixels": 12, "hidden": 3, "variant": "best"}, "variant must be one of refined, paper, got 'best'"),
        ({"pixels": 12, "hidden": 3, "prior": "flat"}, "prior must be one of tpbn, isotropic, got 'flat'"),
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


@pytest.mark.parametrize("score", [vips.pixel_accuracy, vips.reconstruction_log_likelihood])
def test_no_images_give_a_sentence(score):
    rows = vips.Images.from_images(np.random.default_rng(0).random((20, 3, 3)), 0.5)
    plan = vips.PrivacyPlan(records=20, expected_batch=20, steps=2, noise_multiplier=1.0, delta=1e-3)
    fit = vips.fit(vips.SBN(9, 2), rows, plan, seed=0)
    with pytest.raises(ValueError, match="held-out images must be at least one, got none"):
        score(fit, rows[np.zeros(20, bool)])

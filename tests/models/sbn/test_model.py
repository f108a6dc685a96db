"""Sigmoid belief networks: the statistics, their bounds, the lower bound, the outputs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

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
from vips_core.kernels.symmetric import from_triangles, triangle_scale, triangles
from vips_core.models.sbn import paper as sbn_paper
from vips_core.models.sbn.kernels import second_moments, settle_each, settle_shared
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.paper import TPBN, Paper
from vips_core.models.sbn.refined import CONSTANTS, Refined
from vips_core.models.sbn.smooth import Smooth

__all__ = ["digits"]  # a fixture


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
    pairs = second_moments(mu)
    full = mu[:, :, None] * mu[:, None, :] + np.array([np.diag(row * (1 - row)) for row in mu])
    np.testing.assert_allclose(from_triangles(pairs, HIDDEN), full)
    np.testing.assert_allclose(np.linalg.norm(pairs[0] * triangle_scale(HIDDEN)), np.linalg.norm(full[0]))


def bound_of(params, images, mus):
    seconds = from_triangles(params.weight_pairs, HIDDEN)
    arguments = (params.pixel_bias, params.bias_square, params.hidden_logit, params.logit_square)
    return reference.sbn_bound(images, mus, params.weights, seconds, *arguments)


def test_the_lower_bound_never_falls_within_an_e_step():
    """Checked after each round, which sets ⟨ξ⟩ to its optimum and then sweeps over z."""
    params, images = trained("paper", steps=2, prior="isotropic"), patterns().unpack(np.float64)
    mu = np.full((len(images), HIDDEN), 0.5)
    bounds = [bound_of(params, images, mu)]
    for _ in range(5):
        pairs = second_moments(mu)
        both = params.weight_pairs * triangle_scale(HIDDEN) ** 2
        square = pairs @ both.T + 2 * params.pixel_bias * (mu @ params.weights.T) + params.bias_square
        xi = np.vectorize(reference.sbn_pg_mean)(square)
        field = (images - 0.5 - xi * params.pixel_bias) @ params.weights + params.hidden_logit
        settle_each(field, xi @ params.weight_pairs, mu, 2, 0.0)
        bounds.append(bound_of(params, images, mu))
    assert bounds[1] > bounds[0]
    assert np.all(np.diff(bounds) >= -1e-9 * abs(bounds[0]))


def test_the_lower_bound_never_falls_in_a_non_private_batch_run():
    """Checked in every M-step with q(z) fixed, and between sweeps over all posteriors."""
    data = patterns(80)
    images, model, seen = data.unpack(np.float64), small("paper", "isotropic"), []
    vips.fit(model, data, plan_for(data, 10), seed=0, on_step=lambda progress: seen.append(progress.params))
    ends = []
    for before, after in zip(seen[:-1], seen[1:], strict=True):
        mus = model.algorithm.latents(before, images)
        assert bound_of(after, images, mus) >= bound_of(before, images, mus) - 1e-9
        ends.append(bound_of(before, images, mus))
    assert ends[-1] > ends[0] + 10
    assert np.all(np.diff(ends) >= -1e-9)


def test_the_e_step_of_the_paper_agrees_with_the_equations():
    params, images = trained("paper"), patterns(5, seed=3).unpack(np.float64)
    mu = small("paper").algorithm.latents(params, images)
    xi = sbn_paper._xi(params, second_moments(mu))
    seconds = from_triangles(params.weight_pairs, HIDDEN)
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
        np.testing.assert_allclose(xi[n], xi_at(mu[n]), rtol=1e-8)  # of ⟨zzᵀ⟩ in 24 bits


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


@pytest.mark.parametrize("algorithm", [Refined, Paper])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 30.0]), step=st.integers(0, 2))
def test_one_image_moves_each_block_by_at_most_its_bound(algorithm, seed, scale, step):
    rng = np.random.default_rng(seed)
    algorithm, data = algorithm(small("refined")), patterns(2, seed)
    plan = plan_for(data, 3, 1.0)
    params = algorithm.init(plan, rng)
    params = replace(params, weights=scale * rng.standard_normal((PIXELS, HIDDEN)))
    if isinstance(algorithm, Paper):
        spread = scale * rng.standard_normal((PIXELS, HIDDEN, 2 * HIDDEN))
        params = replace(params, weight_pairs=triangles(spread @ spread.swapaxes(1, 2)))
    else:
        basis = scale * rng.standard_normal((PIXELS, PIXELS))  # the bound does not rest on an orthonormal one
        params = replace(params, pixel_centre=rng.random(PIXELS), basis=basis)
    blocks = algorithm.blocks(plan, step)
    sums = algorithm.sums(params, data[np.array([True, False])], blocks)
    assert set(sums) == set(blocks)
    for name, block in blocks.items():
        assert np.linalg.norm(sums[name]) <= block.bound * (1 + 1e-12), name


def test_the_bounds_of_the_paper_are_the_worst_cases():
    blocks = SBN(16, 4, variant="paper").blocks(plan_for(patterns()), 0)
    bounds = {name: block.bound for name, block in blocks.items()}
    assert bounds == {"hidden": 1.0, "pixels": 2.0, "xi": 1.0, "cross": 4.0, "gram": 4.0}


@VARIANTS
def test_e_step_adds_images_up_and_keeps_no_state(variant):
    model, data = small(variant), patterns()
    plan, params = plan_for(data), trained(variant)
    blocks = model.blocks(plan, 1)
    half = np.arange(len(data)) % 2 == 0
    first, second = (model.e_step(params, data[mask], blocks).sums for mask in (half, ~half))
    both = model.e_step(params, data, blocks).sums
    again = model.e_step(params, data[half], blocks).sums
    for name in blocks:
        np.testing.assert_allclose(first[name] + second[name], both[name], atol=1e-9)
        assert np.array_equal(first[name], again[name])


@VARIANTS
@pytest.mark.parametrize("step", [0, 1])
def test_an_empty_batch_gives_zeros_and_can_be_used(variant, step):
    model, data = small(variant), patterns()
    plan = plan_for(data, noise=1.0, batch=1)
    nobody = data[np.zeros(len(data), bool)]
    blocks = model.blocks(plan, step)
    sums = model.e_step(trained(variant), nobody, blocks).sums
    assert set(sums) == set(blocks)
    assert not any(np.any(value) for value in sums.values())
    assert model.latents(trained(variant), nobody).shape == (0, HIDDEN)


@VARIANTS
def test_bits_do_not_depend_on_threads(variant, monkeypatch, digits):
    train, _ = digits
    weights = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        fitted = vips.fit(SBN(64, 6, (8, 8), variant), train, plan_for(train, 3, 2.0), seed=3)
        weights.append(fitted.params.weights)
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])


def test_smooth_images_are_the_eigenvectors_of_neighbours_agreement():
    smooth, length = Smooth(SHAPE, 1 / 16), 3 / 16
    places = np.array([(i, j) for i in range(3) for j in range(4)])
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    roots = smooth.roots(PIXELS)
    np.testing.assert_allclose(roots @ roots.T, np.exp(-squares / (2 * length**2)), atol=1e-12)
    image = np.random.default_rng(0).random(PIXELS)
    along = smooth.coordinates(image)
    np.testing.assert_allclose(roots @ (along / np.linalg.norm(roots, axis=0)), image)
    np.testing.assert_allclose(smooth.image(along), image)
    larger = Smooth((16, 20), 1 / 16).roots(40)
    assert (np.diff(np.linalg.norm(larger, axis=0)) < 1e-12).all()  # the smoothest first


def test_pixels_without_a_shape_are_their_own_basis():
    algorithm = Refined(SBN(5, 2))
    centre = np.array([0.1, 0.5, 0.3, 0.9, 0.2])
    assert np.array_equal(algorithm._basis(centre), np.eye(5)[:, [1, 2, 4, 0, 3]])


@pytest.mark.parametrize("shape", [(3, 4), (30, 28)])
def test_the_basis_is_orthonormal_and_smooth(shape):
    algorithm = Refined(SBN(shape[0] * shape[1], 2, shape))
    centre = np.random.default_rng(0).uniform(0.002, 0.998, shape[0] * shape[1])
    basis = algorithm._basis(centre)
    assert basis.shape == (shape[0] * shape[1], min(shape[0] * shape[1], CONSTANTS.rank))
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-10)
    roots = np.sqrt(centre * (1 - centre))[:, None] * algorithm.smooth.roots(algorithm.rank)
    agreement = basis.T @ (roots @ roots.T) @ basis
    np.testing.assert_allclose(agreement, np.diag(np.diag(agreement)), atol=1e-10)
    assert (np.diff(np.diag(agreement)) < 1e-10).all()

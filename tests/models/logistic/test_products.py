"""Sums of products xxᵀ against their formulas, over chunks and for both BLAS routines."""

import numpy as np
import pytest
from scipy.special import expit

import vips_core as vips
from vips_core.models.logistic import kernels, paper, sums
from vips_core.models.logistic.coordinates import Coordinates
from vips_core.privacy.blocks import Block

ROWS = 2 * sums.CHUNK + 77
FINE = 2.0**-34


def people(d):
    rng = np.random.default_rng(d)
    x = rng.uniform(-1, 1, (ROWS, d)) * rng.choice([0.1, 1.0], (ROWS, 1))
    return vips.Table(x, rng.random(ROWS) < 0.3, tuple(f"x{j}" for j in range(d)), d**0.5), rng


@pytest.mark.parametrize("d", [3, sums.NARROW - 1, sums.NARROW, 60])
def test_the_curvature_is_its_formula(d):
    rows, rng = people(d)
    coordinates = Coordinates(rng.normal(size=d) * 0.1, np.full(d, 1.5 / d**0.5), np.ones(d), 0.3, -1, 1.0)
    point = rng.normal(size=d + 1)
    z = np.column_stack([np.full(ROWS, 0.3), coordinates.scale * (rows.x - coordinates.centre)])
    p, weight = expit(z @ point), 1 / np.maximum(np.linalg.norm(z, axis=1), 1)
    expected = (z * (4 * weight**2 * p * (1 - p))[:, None]).T @ z
    found = sums.curvature(rows, coordinates, point, Block(1.0, shape=(d + 1, d + 1), grid=FINE))
    np.testing.assert_allclose(found, expected, atol=ROWS * 2**-15)
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("d", [3, sums.NARROW, sums.NARROW + 1])
def test_polya_gamma_sums_are_their_formulas(d):
    rows, rng = people(d)
    mean, covariance = rng.normal(size=d), np.eye(d) / 3
    blocks = {
        name: Block(bound, 0.5**0.5, shape, grid=FINE)
        for name, bound, shape in (("linear", 0.3, (d,)), ("curvature", 0.1, (d, d)))
    }
    norm = np.linalg.norm(rows.x, axis=1)
    c = np.sqrt((rows.x @ mean) ** 2 + norm**2 / 3)
    linear = (rows.y - 0.5) * np.minimum(1, 0.3 / (0.5 * norm))
    curvature = np.tanh(c / 2) / (2 * c) * np.minimum(1, 0.1 / (0.25 * norm**2))
    found = paper.polya_gamma_sums(rows, mean, covariance, blocks)
    np.testing.assert_allclose(found["linear"], linear @ rows.x, atol=ROWS * 2 * FINE)
    np.testing.assert_allclose(
        found["curvature"], (rows.x * curvature[:, None]).T @ rows.x, atol=ROWS * 2**-15
    )


def test_a_row_whose_factors_are_0_adds_nothing_even_if_it_is_infinite():
    x, centre, scale = np.array([[np.inf, 1.0], [0.5, 2.0]]), np.zeros(2), np.full(2, 4.0)
    factors = np.array([[0.0, 1.0], [0.0, 1.0]])
    cells = np.zeros((2, 2))
    kernels.add_cells(x, centre, scale, np.ones(2), factors, cells)
    assert cells.tolist() == [[2.0, 8.0], [2.0, 8.0]]
    data, indices, indptr = x.ravel(), np.array([0, 1, 0, 1]), np.array([0, 2, 4])
    cells, nowhere = np.zeros((2, 2)), np.full(2, -1)
    kernels.add_sparse_cells(data, indices, indptr, nowhere, scale, np.ones(2), factors, cells)
    assert cells.tolist() == [[2.0, 8.0], [2.0, 8.0]]
    assert kernels.weighted_rows(x, centre, scale, 1.0, factors[0]).tolist() == [[0, 0, 0], [1, 2, 8]]

"""Curvature learned from changes of gradients, and regression on correlated columns."""

import numpy as np
import pytest
from scipy.special import expit

import vips_core as vips
from vips_core.models.logistic.constants import Constants
from vips_core.models.logistic.coordinates import from_moments
from vips_core.models.logistic.curvature import (
    Directions,
    add_direction,
    no_directions,
    rank_one_update,
)
from vips_core.models.logistic.sums import moment_block, moments

CONSTANTS = Constants()


def update(known, move, change, noise_std):
    return rank_one_update(known, move, change, noise_std, CONSTANTS.min_z_direction)


def spiked(rng, size=40, excess=500.0):
    """Return a diagonal, a direction, and a matrix with extra curvature along the direction."""
    diagonal, direction = rng.random(size) + 0.5, rng.normal(size=size)
    direction /= np.linalg.norm(direction)
    return diagonal, direction, np.diag(diagonal) + excess * np.outer(direction, direction)


def test_one_change_shows_a_shared_direction():
    rng = np.random.default_rng(0)
    diagonal, direction, curvature = spiked(rng)
    move = rng.normal(size=40)
    found, excess = update(diagonal * move, move, curvature @ move, noise_std=1e-9)
    assert abs(found @ direction) == pytest.approx(1)
    assert excess == pytest.approx(500)


def test_noise_alone_is_no_direction():
    rng = np.random.default_rng(0)
    diagonal, _, _ = spiked(rng)
    draws = 500
    false = 0
    for _ in range(draws):
        move = rng.normal(size=40)
        change = diagonal * move + 5 * np.sqrt(2) * rng.normal(size=40)
        false += update(diagonal * move, move, change, noise_std=5.0) is not None
    assert false <= draws * 0.01


def test_added_directions_are_orthogonal_and_add_up():
    rng = np.random.default_rng(0)
    shared, total = no_directions(12), np.zeros((12, 12))
    for excess in (3.0, 2.0, 5.0):
        direction = rng.normal(size=12)
        direction /= np.linalg.norm(direction)
        shared = add_direction(shared, direction, excess, most=8)
        total += excess * np.outer(direction, direction)
    np.testing.assert_allclose(shared.vectors.T @ shared.vectors, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((shared.vectors * shared.values) @ shared.vectors.T, total, atol=1e-12)


def test_directions_with_shared_ones_are_one_symmetric_matrix():
    rng = np.random.default_rng(0)
    shared, values = np.linalg.qr(rng.normal(size=(7, 2)))[0], rng.random(9) + 0.1
    directions = Directions(values, shared)
    matrix = np.column_stack([directions.apply(values, unit) for unit in np.eye(7)])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix @ shared, shared * values[7:], atol=1e-12)
    rows = rng.normal(size=(3, 7))
    np.testing.assert_allclose(directions.forms(values, rows), [row @ matrix @ row for row in rows])
    assert directions.forms(values, rows[0]) == pytest.approx(rows[0] @ matrix @ rows[0])


def test_eigenvectors_of_a_whole_matrix_leave_nothing_to_the_axes():
    rng = np.random.default_rng(0)
    vectors, of_axes, values = np.linalg.qr(rng.normal(size=(7, 7)))[0], rng.random(7), rng.random(7)
    directions, expected = Directions(np.append(of_axes, values), vectors), (vectors * values) @ vectors.T
    vector, scale = rng.normal(size=7), rng.random(7)
    np.testing.assert_allclose(directions.apply(directions.curvature, vector), expected @ vector, atol=1e-12)
    np.testing.assert_allclose(directions.diagonal(directions.curvature), np.diag(expected))
    scaled = directions.matrix(directions.curvature, scale)
    np.testing.assert_allclose(scaled, expected * np.outer(scale, scale), atol=1e-12)
    trace = np.trace(expected[1:, 1:] @ expected[1:, 1:])
    assert directions.trace_over_slopes(directions.curvature) == pytest.approx(trace)


def factor_rows(seed, people=5000, columns=150, share=0.4):
    """Return columns in [0, 1] that depend on one factor, and labels that depend on the columns."""
    rng = np.random.default_rng(seed)
    factor, own = rng.normal(size=(people, 1)), rng.normal(size=(people, columns))
    x = np.clip(0.5 + (share**0.5 * factor + (1 - share) ** 0.5 * own) / 8, 0, 1)
    psi = x @ rng.normal(size=columns)
    y = rng.random(people) < expit(1.5 * (psi - psi.mean()) / psi.std() - 1)
    x = np.column_stack([np.ones(people), x])
    names = tuple(f"column {number}" for number in range(columns + 1))
    return vips.Table(x, y, names, norm_bound=(columns + 1) ** 0.5).split(test_share=0.2, seed=0)


def test_columns_that_share_a_factor_do_not_make_steps_diverge():
    aucs = []
    for epsilon in (1.0, 8.0):
        scores = []
        for seed in range(3):
            train, test = factor_rows(seed)
            model = vips.BayesianLogistic(train.feature_names, train.norm_bound)
            plan = vips.recommend(model, records=len(train), epsilon=epsilon, delta=1e-6, epochs=16)
            fit = vips.fit(model, train, plan, seed=seed)
            scores.append(vips.auc(fit, test))
            assert model.predict_probability(fit, test).mean() == pytest.approx(test.y.mean(), rel=0.25)
        aucs.append(np.mean(scores))
    assert aucs[0] > 0.65
    assert aucs[1] > aucs[0]


@pytest.mark.parametrize("value", [1.0, 0.1])
def test_what_is_mostly_zero_does_not_depend_on_the_unit(value):
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.05, 0.02])
    x = value * (rng.random((2000, 4)) < shares)
    rows = vips.Table(x, rng.random(2000) < 0.5, ("a", "b", "c", "d"), norm_bound=2.0)
    block = moment_block(2.0, 1.0, 4)
    sums = moments(rows, 2.0, block)
    none = np.zeros((0, 2), np.int64)
    found = from_moments(sums, 1e-6, 2.0, block.bound, 2000, none, CONSTANTS)
    np.testing.assert_array_equal(found.centre != 0, [True, True, False, False])

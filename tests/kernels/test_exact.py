"""Sums that are exact in any order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vips_core.kernels.exact import (
    cut,
    factor_steps,
    left_bits,
    left_factor,
    lowered,
    right_factor,
    square_step,
)
from vips_core.models.logistic.kernels import write_left_factor

POWERS = st.integers(-60, 20).map(lambda power: 2.0**power)


@given(arrays(np.float64, 7, elements=st.floats(-1e6, 1e6)), POWERS)
def test_cutting_goes_to_the_next_multiple_towards_0(values, step):
    multiples = cut(values, step)
    assert not np.remainder(multiples, step).any()
    assert (np.abs(multiples) <= np.abs(values)).all()
    assert (np.abs(values - multiples) < step).all()
    assert (multiples * values >= 0).all()


def test_what_is_not_finite_counts_as_0():
    assert cut(np.array([np.nan, np.inf, -np.inf, 1.5]), 1.0).tolist() == [0, 0, 0, 1]


@given(POWERS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_steps_of_factors_multiply_to_the_grid(grid, left, right):
    first, second = factor_steps(grid, left, right)
    assert first * second == grid
    assert 0.2 < (first / left) / (second / right) < 5
    assert square_step(grid) ** 2 in (grid, 2 * grid)


@pytest.mark.parametrize("seed", range(5))
def test_products_of_cut_factors_are_exact_in_any_order(seed):
    rng = np.random.default_rng(seed)
    left, right = cut(rng.normal(size=(3000, 5)), 2.0**-16), cut(rng.normal(size=(3000, 4)), 2.0**-16)
    order = rng.permutation(3000)
    whole = left.T @ right
    assert np.array_equal(whole, left[order].T @ right[order])
    assert np.array_equal(whole, left[:7].T @ right[:7] + left[7:].T @ right[7:])


def exact_product(left, right):
    return [
        [sum(Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)) for column in right.T]
        for row in left
    ]


@given(st.integers(0, 2**20), st.integers(1, 60), st.integers(-200, 200), st.integers(-200, 200))
def test_products_of_rounded_factors_are_exact_whatever_their_size(seed, terms, left_size, right_size):
    """Compared with fractions, also with the terms in another order, as in another BLAS."""
    rng, bits = np.random.default_rng(seed), left_bits(terms)
    values = rng.normal(size=(4, terms)) * np.exp(5 * rng.normal(size=terms)) * 2.0**left_size
    matrix = rng.normal(size=(terms, 3)) * np.exp(5 * rng.normal(size=(terms, 3))) * 2.0**right_size
    left = np.empty_like(values)
    write_left_factor(values, bits, left)
    right, order = right_factor(matrix, bits), rng.permutation(terms)
    found = left @ right
    assert [[Fraction(cell) for cell in row] for row in found] == exact_product(left, right)
    assert np.array_equal(found, left[:, order] @ right[order])
    off = np.abs(left - values).max(axis=1) / np.abs(values).max(axis=1)
    assert (off <= 2.0**-bits).all()
    assert (np.abs(right - matrix).max(axis=0) <= 2.0 ** (bits - 52) * np.abs(matrix).sum(axis=0)).all()


def test_factors_at_their_largest_are_exact_too():
    """Every number of the left factor uses all its bits, and all terms of a product have the same sign."""
    for terms in (1, 7, 784, 5050, 100_000):
        bits = left_bits(terms)
        left = left_factor(np.full((1, terms), 1 - 2.0**-50), 1.0, bits)
        assert (left == 1).all()
        left -= 2.0**-bits  # an odd number of steps
        right = right_factor(np.random.default_rng(terms).random((terms, 2)), bits)
        odd = right.sum(axis=0) - 2.0**-bits * right.sum(axis=0)
        assert np.array_equal((left @ right)[0], odd)
        assert np.array_equal(left[:, ::-1] @ right[::-1], left @ right)


@pytest.mark.parametrize("cells", [0, 1, 1000, 10**6])
def test_a_lowered_bound_leaves_room_for_the_roundings_of_a_norm(cells):
    """In the worst case for a sum of squares, every addition loses half of a last bit."""
    unit = Fraction(1, 2**53)
    worst = (1 + unit) ** 32 / (1 - unit * cells)  # at least (1 + u)³²(1 − u)⁻ᵐ
    for bound in (1.0, 1 / 3, 1e-100, 12345.678):
        assert Fraction(lowered(bound, cells)) * worst < Fraction(bound)
        assert lowered(bound, cells) > bound * (1 - 2 * (cells + 100) * 2.0**-53)

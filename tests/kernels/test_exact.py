"""Sums that are exact in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vips_core.kernels.exact import cut, factor_steps, square_step

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

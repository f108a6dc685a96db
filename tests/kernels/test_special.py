"""Special functions of kernels against scipy."""

import math

import numba as nb
import numpy as np
import pytest
from scipy.special import digamma, expit

from vips_core.kernels.special import exp_digamma, logistic_tail


@nb.njit
def exp_digamma_of(x):
    found = np.empty_like(x)
    for at in range(x.size):
        found[at] = exp_digamma(x[at])
    return found


def test_exp_digamma_over_its_range():
    points = np.geomspace(0.012, 1e6, 400).astype(np.float32)
    for x, found in zip(points, exp_digamma_of(points), strict=True):
        expected = math.exp(digamma(float(x)))
        assert found == pytest.approx(expected, rel=3e-5 if x < 1 else 2e-6)


def test_logistic_tail_over_its_range():
    for x in np.concatenate([[0.0], np.geomspace(1e-300, 700, 2000)]):
        assert logistic_tail(x) == pytest.approx(expit(-x), rel=1e-15, abs=0)
    assert logistic_tail(math.inf) == logistic_tail(1e308) == logistic_tail(700.0) > 0

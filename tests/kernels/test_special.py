"""Special functions of kernels against scipy."""

import math

import numba as nb
import numpy as np
import pytest
from scipy.special import digamma, expit

from vips_core.kernels.special import exp_digamma, logistic_tail, pg_mean, pg_means


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


def test_polya_gamma_mean_is_smooth_even_and_bounded():
    c = np.concatenate([np.linspace(-0.02, 0.02, 401), np.geomspace(1e-8, 1e3, 300)])
    series = 0.25 - c**2 / 48 + c**4 / 480 - 17 * c**6 / 80640
    values = pg_means(c.reshape(1, -1))[0]
    small = np.abs(c) < 0.02
    np.testing.assert_allclose(values[small], series[small], rtol=1e-13)
    np.testing.assert_allclose(values[~small], np.tanh(c[~small] / 2) / (2 * c[~small]), rtol=1e-13)
    assert values.max() <= 0.25
    assert np.array_equal(pg_means(-c), values)
    assert np.array_equal(pg_means(np.array([0.0, np.inf])), [0.25, 0.0])
    assert np.array_equal(pg_means(c[::-1])[::-1], values)
    np.testing.assert_allclose([pg_mean(each) for each in c], values, rtol=1e-13)

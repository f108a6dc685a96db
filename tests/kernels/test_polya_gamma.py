"""The mean of the Pólya–Gamma distribution."""

import numpy as np

from vips_core.kernels.polya_gamma import pg_mean, pg_means


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
